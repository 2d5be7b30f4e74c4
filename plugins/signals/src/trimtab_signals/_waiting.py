"""Which repeats are excused: only what can change by itself.

Time that the model or the harness spends between two calls is no excuse. An excuse is declared or
seen: a poll, a command that sleeps or waits, an output that says it goes on, pauses that grow. A
poll that has ended, or asks for input, is not waiting.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise

from trimtab.text import LazyPattern
from trimtab_signals._answers import (
    asks_for_input,
    blames_call,
    has_ended,
    in_progress,
    without_not_yet,
)
from trimtab_signals._failure_lines import sounds_like_failure
from trimtab_signals._records import CallRecord
from trimtab_signals._shell import awaits, starts_background, waits

CEILING_CALLS = 20
"""So many waits without change are too many."""
CEILING_SECONDS = 900.0
"""Waiting longer than this without change is too long."""

_LOOKS = 6
"""Where the agent itself looks less often than every 15 minutes, so many looks are too many."""

APART = 2.5
"""Seconds between two looks at a state; a model that does nothing else answers faster."""

_SHORTEST_BACK_OFF = 2.0
_GROWTH = 1.8
"""Back-off about doubles; below that, a model's own time to answer varies as much."""

_LAUNCHED = LazyPattern(
    r"(?i)\b(?:running|started|launched|working|continues?|moved) (?:it )?(?:in|to"
    r"|into) (?:the )?background\b"
    r"|\basync(?:hronous)?(?:ly)? (?:agent |task )?(?:launched|started)\b"
)
_RUNNING = LazyPattern(
    r"(?i)\bstill running\b|\brunning with session id\b|\brunning=true\b|\bstatus=\"running\""
)

Span = tuple[float | None, float | None]
"""When a call began and ended, monotonic seconds; None if unknown."""


def span_of(call: CallRecord) -> Span:
    """Return when `call` began and ended."""
    return call.started, call.ended


def is_wait(call: CallRecord) -> bool:
    """Tell whether repeating `call` is excused: it waits, and its result can change by itself."""
    if call.awaits is None:
        call.awaits = _waits(call)
    return call.awaits


def _waits(call: CallRecord) -> bool:
    command, said = call.command, call.output
    if command is not None and (waits(command) or (call.failed and awaits(command))):
        starts = call.failed and starts_background(command)
        return not (starts or blames_call(said))
    if call.waits or command == "":
        return not (has_ended(said) or asks_for_input(said))
    if call.failed or complains(call):
        return False  # a failure may hold a word of progress
    return not call.profile.writes and in_progress(said) and not _launches(call)


def complains(call: CallRecord) -> bool:
    """Tell whether `call` failed or its answer sounds like a failure, other than "not yet"."""
    return call.failed or sounds_like_failure(without_not_yet(call.output))


def _launches(call: CallRecord) -> bool:
    """Tell whether a call has started something, so that a repeat would start it again."""
    if _LAUNCHED.search(call.output) is not None:
        return True
    return call.command is not None and not call.reads and _RUNNING.search(call.output) is not None


def leaves_running(call: CallRecord) -> bool:
    """Tell whether `call` leaves something running that may change the results of later calls."""
    if call.command is not None and starts_background(call.command):
        return True
    return _tells_running(call.output)


@lru_cache(maxsize=256)
def _tells_running(output: str) -> bool:
    return _LAUNCHED.search(output) is not None or _RUNNING.search(output) is not None


def paused(spans: Sequence[Span]) -> bool:
    """Tell whether the pauses between `spans` of equal calls grow, as those of a back-off do."""
    gaps = _gaps(spans)
    grows = all(later >= _GROWTH * earlier for earlier, later in pairwise(gaps))
    return len(gaps) > 1 and grows and gaps[-1] >= _SHORTEST_BACK_OFF


def spaced(spans: Sequence[Span], seconds: float) -> bool:
    """Tell whether `seconds` or more lie between each two `spans` of equal calls."""
    gaps = _gaps(spans)
    return bool(gaps) and min(gaps) >= seconds


def _gaps(spans: Sequence[Span]) -> list[float]:
    gaps = []
    for (_, ended), later in pairwise(spans):
        begun = later[0] if later[0] is not None else later[1]
        if begun is None or ended is None:
            return []
        gaps.append(begun - ended)
    return gaps


def waited_too_long(spans: Sequence[Span]) -> bool:
    """Tell whether waits over `spans` without change have reached the limit in calls or time."""
    if len(spans) >= CEILING_CALLS:
        return True
    first, last = spans[0][1], spans[-1][1]
    if first is None or last is None or last - first <= CEILING_SECONDS:
        return False
    longest = max(_gaps(spans), default=0.0)
    return longest < CEILING_SECONDS or last - first > _LOOKS * longest
