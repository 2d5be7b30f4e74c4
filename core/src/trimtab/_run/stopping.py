"""Asking the host to end a turn in which nudges have no effect."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Literal

from trimtab._events.guidance import StopRequested
from trimtab._policy.guidance import in_shadow
from trimtab._types.errors import TrimtabError
from trimtab._types.text import plural, quote

if TYPE_CHECKING:
    from trimtab._events.provenance import DecisionPoint
    from trimtab._events.run import ToolInvoked
    from trimtab._run.open_run import OpenRun
    from trimtab._table.entries import GuidanceEntry


class AgentStopped(TrimtabError):
    """Nudges had no effect, and the prompt's ``stop_after`` ends the agent then.

    For runtimes in which a host has no other way to end an agent.

    Args:
        request: what asked for it; its summary is the message.
    """

    def __init__(self, request: StopRequested) -> None:
        super().__init__(request.summary)
        self.request = request


CALLS_LOOKED_AT = 20
CALLS_NAMED = 3
LONGEST_CALL = 120
LONGEST_WORDS = 240
"""A summary that fits on a screen: the calls made most often lately, and what was said last."""


def request_stop(run: OpenRun, entry: GuidanceEntry, episode: str, point: DecisionPoint) -> None:
    """Record that the host is to end the turn, or would be; call it while holding the lock.

    Args:
        run: the run.
        entry: the provider whose nudges had no effect.
        episode: the problem.
        point: where it was seen again.
    """
    outcome: Literal["asked", "shadow", "unsupported"] = "asked"
    if in_shadow(entry.config, entry.source, run.run_id):
        outcome = "shadow"
    elif not run.host.stops:
        outcome = "unsupported"
    known = run.state.episodes.get(episode)
    nudges = known.nudges if known is not None else 0
    run.dispatch(
        StopRequested,
        provider_name=entry.source.name,
        decision_point=point,
        source=entry.source,
        turn=run.state.turn,
        call_index=run.state.calls - 1,
        episode=episode,
        nudges=nudges,
        summary=_summary(run, entry.source.name, nudges),
        outcome=outcome,
    )


def _summary(run: OpenRun, provider: str, nudges: int) -> str:
    """Return what was tried: what the agent was told last, and what it called most since."""
    words = run.state.guidance.spoken[provider].last_text
    recent = Counter(map(_shown, run.recent_tool_calls(CALLS_LOOKED_AT)))
    tried = [
        call if times == 1 else f"{call} ({times} times)"
        for call, times in recent.most_common(CALLS_NAMED)
    ]
    parts = [
        f"Stopped: {plural(nudges, 'nudge')} of {provider} had no effect.",
        f"The agent was told: {quote(words, LONGEST_WORDS)}",
        f"Its last calls: {'; '.join(tried)}" if tried else "",
    ]
    return "\n".join(filter(None, parts))


def _shown(call: ToolInvoked) -> str:
    params = json.dumps(call.params, ensure_ascii=False, default=lambda _: "…")
    return f"{call.tool[:40]} {quote(params, LONGEST_CALL)[1:-1]} → {call.outcome.value}"
