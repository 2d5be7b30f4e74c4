"""Asking the guidance providers of a run at one decision point."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import attrs

from trimtab._contract.context import GuidanceContext
from trimtab._events.guidance import (
    GuidanceDelivered,
    GuidanceInjection,
    GuidanceSuppressed,
    Proposal,
    format_guidance,
)
from trimtab._events.provenance import DecisionPoint, Delivery
from trimtab._policy.guidance import Candidate, in_shadow, select
from trimtab._run.invoker import fault_key
from trimtab._table.entries import GuidanceEntry, ProviderResult, Withheld

if TYPE_CHECKING:
    from trimtab._run.run import Run


@attrs.frozen
class GuidanceBatch:
    """What is delivered at one decision; falsy where nothing is."""

    injections: tuple[GuidanceInjection, ...] = ()

    @property
    def text(self) -> str:
        """The blocks that the agent reads; empty where there are none."""
        return format_guidance(self.injections)

    def __bool__(self) -> bool:
        return bool(self.injections)


NOTHING = GuidanceBatch()


def guide(run: Run, context: GuidanceContext, limit: float | None) -> GuidanceBatch:
    """Ask everyone, choose, record; `limit` is seconds per provider, None for no limit."""
    point = context.decision_point
    entries = run.prompt.table.guides.get(point, ())
    if not entries or run.host.delivers(point) is Delivery.NONE:
        return NOTHING
    if run.state.episodes:
        with run.session.lock:
            run.state.episodes.sweep(run.state.turn)
    if run.state.quarantined:
        entries = tuple(e for e in entries if fault_key(e.source) not in run.state.quarantined)
    said = run.caller.guides(entries, context, limit)
    return _heard(run, said, point) if said else NOTHING


def _heard(
    run: Run, said: Iterable[tuple[GuidanceEntry, ProviderResult]], point: DecisionPoint
) -> GuidanceBatch:
    candidates = []
    for entry, value in said:
        if isinstance(value, Proposal):
            candidates.append(_candidate(entry, value))
        elif isinstance(value, Withheld):
            _withhold(run, entry, value, point)
        elif value is not None:
            with run.session.lock:
                run.state.episodes.close(value.episode or "")
    return _settle(run, candidates, point) if candidates else NOTHING


def _candidate(entry: GuidanceEntry, proposal: Proposal) -> Candidate:
    injection = attrs.evolve(proposal.injection, source=entry.source.name)
    named = attrs.evolve(proposal, injection=injection)
    return Candidate(entry.source, entry.config, entry.order, named)


def _withhold(run: Run, entry: GuidanceEntry, held: Withheld, point: DecisionPoint) -> None:
    episode = held.classification.episode or ""
    with run.session.lock:
        run.state.episodes.seen(episode, run.state.turn)
        if not run.state.guidance.newly_withheld(episode, held.reason):
            return
    run.dispatch(
        GuidanceSuppressed,
        provider_name=entry.source.name,
        decision_point=point,
        classification=held.classification,
        source=entry.source,
        turn=run.state.turn,
        call_index=run.state.calls - 1,
        episode=episode,
        reason=held.reason,
    )


def _settle(run: Run, candidates: list[Candidate], point: DecisionPoint) -> GuidanceBatch:
    with run.session.lock:
        admitted = []
        for candidate in candidates:
            reason = _bar(run, candidate, point)
            if reason:
                _suppress(run, candidate, point, reason)
            else:
                admitted.append(candidate)
        chosen, dropped = select(admitted, limit=run.prompt.table.guidance_limit)
        for candidate, reason in dropped:
            _suppress(run, candidate, point, reason)
        live = [c for c in chosen if not in_shadow(c.config, c.source, run.run_id)]
        for candidate in chosen:
            _deliver(run, candidate, point, live=candidate in live)
    return GuidanceBatch(tuple(c.injection for c in live))


def _bar(run: Run, candidate: Candidate, point: DecisionPoint) -> str:
    guidance, turn = run.state.guidance, run.state.turn
    guidance.episodes.seen(candidate.episode, turn)
    if run.state.closed:
        return "the run was closed before it spoke"
    delivery = run.host.delivers(point)
    if delivery is Delivery.REFUSAL and not candidate.config.refuse:
        return "the host could only speak by refusing the call"
    reason = guidance.held_back(candidate.source.name, candidate.episode, candidate.config, turn)
    if not reason and guidance.repeats_itself(candidate, delivery):
        return "same text as before"
    return reason


def _suppress(run: Run, candidate: Candidate, point: DecisionPoint, reason: str) -> None:
    if run.state.guidance.newly_withheld(candidate.episode, reason):
        run.dispatch(GuidanceSuppressed, reason=reason, **_facts(run, candidate, point))


def _deliver(run: Run, candidate: Candidate, point: DecisionPoint, *, live: bool) -> None:
    if not live:
        run.state.guidance.count(
            candidate.source.name, candidate.episode, candidate.injection, run.state.turn
        )
        run.dispatch(GuidanceSuppressed, reason="in shadow", **_facts(run, candidate, point))
        return
    run.dispatch(
        GuidanceDelivered,
        injection=candidate.injection,
        delivery=run.host.delivers(point),
        level=run.state.episodes.next_level(candidate.episode),
        **_facts(run, candidate, point),
    )


def _facts(run: Run, candidate: Candidate, point: DecisionPoint) -> dict[str, Any]:
    return {
        "provider_name": candidate.source.name,
        "decision_point": point,
        "classification": candidate.proposal.classification,
        "source": candidate.source,
        "turn": run.state.turn,
        "call_index": run.state.calls - 1,
        "episode": candidate.episode,
    }
