"""Asking the guidance providers of a run at one decision point, and what is delivered there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import attrs

from trimtab._boundary import NOTHING as NO_ANSWER
from trimtab._contract import GuidanceContext
from trimtab._events import DecisionPoint, Delivery
from trimtab._events.guidance import (
    ClassificationResult,
    GuidanceDelivered,
    GuidanceSuppressed,
    Proposal,
    format_guidance,
)
from trimtab._policy.guidance import Candidate, in_shadow, select

if TYPE_CHECKING:
    from trimtab._boundary import ProviderResult, Reply
    from trimtab._events import Provenance, ToolCall
    from trimtab._events.guidance import GuidanceInjection
    from trimtab._run import OpenRun
    from trimtab._table import GuidanceEntry


@attrs.frozen
class GuidanceBatch:
    """What is delivered at one decision; falsy if nothing is.

    Args:
        injections: in the order in which the agent reads them.
    """

    injections: tuple[GuidanceInjection, ...] = ()

    @property
    def text(self) -> str:
        """The blocks that the agent reads; empty where there are none."""
        return format_guidance(self.injections)

    def __bool__(self) -> bool:
        return bool(self.injections)


NOTHING = GuidanceBatch()


LEAST_SHARE = 4
"""`provide` has at least this part of a provider's timeout, however long `classify` took."""


def guide(
    run: OpenRun,
    entries: Sequence[GuidanceEntry],
    point: DecisionPoint,
    pending: tuple[ToolCall, ...],
    *,
    timeout: float | None,
    delivery: Delivery,
    replayed: bool,
) -> GuidanceBatch:
    """Ask providers, choose, and record what is delivered."""
    context = run.contexts[point]
    if pending:
        context = attrs.evolve(context, pending_tool_calls=pending)
    replies = run.invoker.ask(entries, context, timeout)
    if replies.count(NO_ANSWER) == len(replies):
        return NOTHING
    answers = [(e, r) for e, r in zip(entries, replies, strict=False) if r.value is not None]
    found = [_candidate(run, entry, reply, context, timeout) for entry, reply in answers]
    candidates = [candidate for candidate in found if candidate is not None]
    if not candidates:
        return NOTHING
    return _settle(run, candidates, point, delivery, replayed=replayed)


def _candidate(
    run: OpenRun,
    entry: GuidanceEntry,
    reply: Reply[ProviderResult],
    context: GuidanceContext,
    timeout: float | None,
) -> Candidate | None:
    """Return a proposal; of a classification, if it names no episode or that need not wait."""
    answer, point = reply.value, context.decision_point
    if not isinstance(answer, ClassificationResult):
        return None if answer is None else _proposed(run, entry, answer, point)
    episode = "" if entry.paces_itself else answer.episode
    if not answer.relevant:
        with run.session.lock:
            run.state.episodes.open.pop(episode or "", None)  # the provider saw progress
        return None
    held_back = None if episode is None else _held_back(run, entry, episode, point)
    if held_back:
        facts = _facts(run, entry.source, _recorded(answer), episode or "", point)
        _suppress(run, facts, held_back)
        return None
    assert entry.provide is not None
    known = attrs.evolve(context, classification=answer)
    left = None if timeout is None else max(timeout - reply.seconds, timeout / LEAST_SHARE)
    replies = run.invoker.ask((entry.provide,), known, left, reply.seconds)
    injection = replies[0].value if replies else None
    if injection is None:
        return None
    return _proposed(run, entry, Proposal(injection, answer), point, held_back)


def _recorded(verdict: ClassificationResult) -> ClassificationResult:
    """Return a classification without what was found, which may be any object."""
    return verdict if verdict.found is None else attrs.evolve(verdict, found=None)


def _proposed(
    run: OpenRun,
    entry: GuidanceEntry,
    proposal: Proposal,
    point: DecisionPoint,
    held_back: str | None = None,
) -> Candidate:
    injection = attrs.evolve(
        proposal.injection,
        source=entry.source.name,
        category=proposal.injection.category or entry.category,
    )
    named = Proposal(injection, _recorded(proposal.classification))
    made = Candidate(
        entry.source, entry.config, entry.order, named, paces_itself=entry.paces_itself
    )
    if held_back is None:
        held_back = _held_back(run, entry, made.episode, point)
    return made._replace(held_back=held_back)


def _held_back(run: OpenRun, entry: GuidanceEntry, episode: str, point: DecisionPoint) -> str:
    state = run.state
    with run.session.lock:
        state.episodes.seen(episode, state.turn)
        if state.guidance.must_stop(episode, entry.config, state.turn):
            from trimtab._run.completion import request_stop

            request_stop(run, entry, episode, point)
        if state.guidance.stop is not None:
            return "the host was asked to end the turn"
        return state.guidance.held_back(entry.source.name, episode, entry.config, state.turn)


def _settle(
    run: OpenRun,
    candidates: list[Candidate],
    point: DecisionPoint,
    delivery: Delivery,
    *,
    replayed: bool,
) -> GuidanceBatch:
    with run.session.lock:
        admitted = []
        for candidate in candidates:
            reason = _obstacle(run, candidate, delivery)
            if reason:
                _suppress(run, _facts_of(run, candidate, point), reason)
            else:
                admitted.append(candidate)
        chosen, dropped = select(admitted, limit=run.prompt.table.guidance_limit)
        for candidate, reason in dropped:
            _suppress(run, _facts_of(run, candidate, point), reason)
        live = [
            candidate.injection
            for candidate in chosen
            if _deliver(run, candidate, point, delivery, replayed=replayed)
        ]
    return GuidanceBatch(tuple(live))


def _obstacle(run: OpenRun, candidate: Candidate, delivery: Delivery) -> str:
    if run.state.closed:
        return "the run was closed before it spoke"
    if delivery is Delivery.REFUSAL and not candidate.config.refuse:
        return "the host could only speak by refusing the call"
    if candidate.held_back or candidate.paces_itself:
        return candidate.held_back
    return "same text as before" if run.state.guidance.repeats_itself(candidate, delivery) else ""


def _suppress(run: OpenRun, facts: dict[str, Any], reason: str) -> None:
    problem = facts["episode"] or facts["provider_name"]
    with run.session.lock:
        if run.state.guidance.newly_withheld(problem, reason):
            run.dispatch(GuidanceSuppressed, reason=reason, **facts)


def _deliver(
    run: OpenRun, candidate: Candidate, point: DecisionPoint, delivery: Delivery, *, replayed: bool
) -> bool:
    """Record what was chosen; return whether the agent reads it."""
    facts = _facts_of(run, candidate, point)
    shadow = in_shadow(candidate.config, candidate.source, run.run_id)
    if shadow or replayed:
        run.dispatch(
            GuidanceSuppressed,
            reason="in shadow" if shadow else "replayed",
            counted=candidate.injection,
            in_history=delivery is Delivery.PERSISTED and not shadow,
            **facts,
        )
        return False
    run.dispatch(
        GuidanceDelivered,
        injection=candidate.injection,
        delivery=delivery,
        level=run.state.episodes.next_level(candidate.episode),
        **facts,
    )
    return True


def _facts_of(run: OpenRun, candidate: Candidate, point: DecisionPoint) -> dict[str, Any]:
    verdict = candidate.proposal.classification
    return _facts(run, candidate.source, verdict, candidate.episode, point)


def _facts(
    run: OpenRun,
    source: Provenance,
    verdict: ClassificationResult,
    episode: str,
    point: DecisionPoint,
) -> dict[str, Any]:
    return {
        "provider_name": source.name,
        "decision_point": point,
        "classification": verdict,
        "source": source,
        "turn": run.state.turn,
        "call_index": run.state.calls - 1,
        "episode": episode,
    }
