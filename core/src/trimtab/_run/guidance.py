"""Asking the guidance providers of a run at one decision point, and what is delivered there."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import attrs

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
from trimtab._table import GuidanceEntry, ProviderResult

if TYPE_CHECKING:
    from trimtab._boundary import Reply
    from trimtab._events import Provenance, ToolCall
    from trimtab._events.guidance import GuidanceInjection
    from trimtab._run import OpenRun


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


@attrs.frozen
class Decision:
    """Where and how guidance would be placed."""

    point: DecisionPoint
    delivery: Delivery
    replayed: bool = False


def guide(
    run: OpenRun,
    entries: Sequence[GuidanceEntry],
    point: DecisionPoint,
    pending: tuple[ToolCall, ...] = (),
    *,
    timeout: float | None = None,
    delivery: Delivery | None = None,
    replayed: bool = False,
) -> GuidanceBatch:
    """Ask providers, choose, and record what is delivered."""
    context = GuidanceContext(run=run, decision_point=point, pending_tool_calls=pending)
    replies = run.invoker.ask([entry.ask for entry in entries], context, timeout)
    results = [
        (entry, reply)
        for entry, reply in zip(entries, replies, strict=False)
        if reply.value is not None
    ]
    if not results:
        return NOTHING
    candidates = _candidates(run, results, context, timeout)
    if not candidates:
        return NOTHING
    return _settle(run, candidates, Decision(point, delivery or run.host.delivers(point), replayed))


def _candidates(
    run: OpenRun,
    results: Iterable[tuple[GuidanceEntry, Reply[ProviderResult]]],
    context: GuidanceContext,
    timeout: float | None,
) -> list[Candidate]:
    found = []
    for entry, reply in results:
        result = reply.value
        if isinstance(result, Proposal):
            candidate = _candidate(entry, result)
            reason = _held_back(run, entry, candidate.episode, context.decision_point)
            found.append(attrs.evolve(candidate, held_back=reason))
        elif isinstance(result, ClassificationResult):
            known = attrs.evolve(context, classification=result)
            proposal = _provided(run, entry, known, timeout, reply.seconds)
            if proposal is not None:
                found.append(proposal)
    return found


def _provided(
    run: OpenRun,
    entry: GuidanceEntry,
    context: GuidanceContext,
    timeout: float | None,
    spent: float,
) -> Candidate | None:
    """Return the text of a classification that names its episode and need not wait."""
    verdict = context.classification
    assert verdict is not None
    episode = "" if entry.paces_itself else verdict.episode
    if not verdict.relevant:
        with run.session.lock:
            run.state.episodes.close(episode or "")
        return None
    point = context.decision_point
    reason = "" if episode is None else _held_back(run, entry, episode, point)
    if reason:
        _withhold(run, entry, _recorded(verdict), reason, context.decision_point)
        return None
    assert entry.provide is not None
    left = None if timeout is None else max(timeout - spent, timeout / LEAST_SHARE)
    replies = run.invoker.ask((entry.provide,), context, left, spent)
    injection = replies[0].value if replies else None
    if injection is None:
        return None
    candidate = _candidate(entry, Proposal(injection, verdict))
    if episode is None:
        reason = _held_back(run, entry, candidate.episode, point)
    return attrs.evolve(candidate, held_back=reason)


def _recorded(verdict: ClassificationResult) -> ClassificationResult:
    """Return a classification without what was found, which may be any object."""
    return verdict if verdict.found is None else attrs.evolve(verdict, found=None)


def _candidate(entry: GuidanceEntry, proposal: Proposal) -> Candidate:
    injection = attrs.evolve(
        proposal.injection,
        source=entry.source.name,
        category=proposal.injection.category or entry.category,
    )
    named = Proposal(injection, _recorded(proposal.classification))
    return Candidate(
        entry.source, entry.config, entry.order, named, paces_itself=entry.paces_itself
    )


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


def _withhold(
    run: OpenRun,
    entry: GuidanceEntry,
    verdict: ClassificationResult,
    reason: str,
    point: DecisionPoint,
) -> None:
    episode = "" if entry.paces_itself else verdict.episode or ""
    with run.session.lock:
        if not run.state.guidance.newly_withheld(episode or entry.source.name, reason):
            return
    facts = _facts(run, entry.source, verdict, episode, point)
    run.dispatch(GuidanceSuppressed, reason=reason, **facts)


def _settle(run: OpenRun, candidates: list[Candidate], decision: Decision) -> GuidanceBatch:
    with run.session.lock:
        admitted = []
        for candidate in candidates:
            reason = _obstacle(run, candidate, decision.delivery)
            if reason:
                _suppress(run, candidate, decision.point, reason)
            else:
                admitted.append(candidate)
        chosen, dropped = select(admitted, limit=run.prompt.table.guidance_limit)
        for candidate, reason in dropped:
            _suppress(run, candidate, decision.point, reason)
        live = [candidate for candidate in chosen if _deliver(run, candidate, decision)]
    return GuidanceBatch(tuple(candidate.injection for candidate in live))


def _obstacle(run: OpenRun, candidate: Candidate, delivery: Delivery) -> str:
    if run.state.closed:
        return "the run was closed before it spoke"
    if delivery is Delivery.REFUSAL and not candidate.config.refuse:
        return "the host could only speak by refusing the call"
    if candidate.held_back or candidate.paces_itself:
        return candidate.held_back
    return "same text as before" if run.state.guidance.repeats_itself(candidate, delivery) else ""


def _suppress(run: OpenRun, candidate: Candidate, point: DecisionPoint, reason: str) -> None:
    problem = candidate.episode or candidate.source.name
    if run.state.guidance.newly_withheld(problem, reason):
        run.dispatch(GuidanceSuppressed, reason=reason, **_facts_of(run, candidate, point))


def _deliver(run: OpenRun, candidate: Candidate, decision: Decision) -> bool:
    """Record what was chosen; return whether the agent reads it."""
    facts = _facts_of(run, candidate, decision.point)
    shadow = in_shadow(candidate.config, candidate.source, run.run_id)
    if shadow or decision.replayed:
        kept = decision.delivery is Delivery.PERSISTED and not shadow
        run.dispatch(
            GuidanceSuppressed,
            reason="in shadow" if shadow else "replayed",
            counted=candidate.injection,
            in_history=kept,
            **facts,
        )
        return False
    run.dispatch(
        GuidanceDelivered,
        injection=candidate.injection,
        delivery=decision.delivery,
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
