"""What was found: a loop, with the numbers that the texts name."""

from __future__ import annotations

from enum import StrEnum

import attrs


class LoopKind(StrEnum):
    """Ways of going in circles."""

    REPEAT = "repeat"
    CYCLE = "cycle"
    INTERLEAVED = "interleaved"
    REJECTED = "rejected"
    WAITING = "waiting"
    BATCH = "batch"
    SAME_ANSWER = "same_answer"
    SAME_ERROR = "same_error"
    TEXT = "text"
    CHANT = "chant"


@attrs.frozen
class Loop:
    """A loop as it stands at one step.

    Args:
        kind: its shape.
        episode: names this one loop for as long as it lasts.
        confidence: 0.0–1.0.
        times: how often the repeated thing occurred.
        length: actions in one round.
        tool: the tool of the last call; empty where texts repeat.
        said: the answer, or the repeated text, raw and bounded.
        turn: how many turns with calls there had been.
        members: fingerprints of what repeats; a loop that shares one is the same loop.
    """

    kind: LoopKind
    episode: str
    confidence: float
    times: int
    length: int = 1
    tool: str = ""
    said: str = ""
    turn: int = 0
    members: frozenset[str] = frozenset()
