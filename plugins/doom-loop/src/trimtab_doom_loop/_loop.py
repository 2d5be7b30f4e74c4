"""A loop that was found, with the numbers that the messages name."""

from __future__ import annotations

from enum import StrEnum

import attrs

from trimtab_signals import CallRecord, describe_call, digest, excerpt, failure_episode


class LoopKind(StrEnum):
    """The forms of a loop."""

    REPEAT = "repeat"
    CYCLE = "cycle"
    LIKE_CYCLE = "like_cycle"
    INTERLEAVED = "interleaved"
    REJECTED = "rejected"
    WAITING = "waiting"
    BATCH = "batch"
    SAME_ANSWER = "same_answer"
    SAME_ERROR = "same_error"
    SAME_CONTENT = "same_content"
    SAME_PAGE = "same_page"
    ELSEWHERE = "elsewhere"
    REWORDED = "reworded"
    STALLED = "stalled"
    TEXT = "text"
    CHANT = "chant"


@attrs.frozen
class Loop:
    """A loop as it stands at one action.

    Args:
        kind: its shape.
        episode: name of this loop for as long as it lasts; of a failure that comes back, the name
            that it has for every provider.
        confidence: 0.0–1.0.
        times: how often the repeated thing occurred.
        length: actions in one round.
        tool: the tool of the last call; empty if texts repeat.
        call: the last call, described as a text names it.
        output: what a text quotes of the answer, or the repeated text; bounded.
        turn: how many turns with calls there had been.
        members: fingerprints of what repeats; a loop that shares one is the same loop.
        tools: the tools in it.
        command: whether the last call ran a command line.
        apart: whether something else was read in between.
    """

    kind: LoopKind
    episode: str
    confidence: float
    times: int
    length: int = 1
    tool: str = ""
    call: str = ""
    output: str = ""
    turn: int = 0
    members: frozenset[str] = frozenset()
    tools: tuple[str, ...] = ()
    command: bool = False
    apart: bool = False


def loop_of(
    kind: LoopKind,
    call: CallRecord,
    *,
    times: int,
    members: frozenset[str],
    confidence: float = 0.8,
    length: int = 1,
    tools: tuple[str, ...] = (),
) -> Loop:
    """Return the loop that `call` ends."""
    if call.failed and length == 1:
        episode = failure_episode(call)
    else:
        episode = f"loop-{digest('+'.join(sorted(members)))}"
    return Loop(
        kind=kind,
        episode=episode,
        confidence=confidence,
        times=times,
        length=length,
        tool=call.tool,
        call=describe_call(call),
        output=call.output if call.failed else excerpt(call.output),
        members=members,
        tools=tools or (call.tool,),
        command=call.command is not None,
    )
