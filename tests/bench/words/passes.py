"""A pass on moments of an author who does not know when the providers speak.

The text stands at the first word: where the providers first speak within the last stretch of equal
calls, the calls after that are taken off.
"""

from __future__ import annotations

import json
import time
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import attrs

from words import guided
from words.arms import Request, placed, text_at
from words.moments import Moment
from words.next_call import Model, judged

ORDER = ("other-wrong", "other-right", "quiet", "other-right")
"""Kinds in turns, so that a part of the moments is a fair sample."""
Text = tuple[int | None, str]
"""The steps after which a text stands, None where the moment ends, and the text; "" for none."""


def text_of(moment: Moment) -> Text:
    """Return what the providers say at a moment."""
    whole = len(moment.steps)
    first = guided.spoken_at(moment) if moment.due else whole
    if first is None or first < _stretch(moment):
        return None, ""
    return (None if first == whole else first), text_at(_cut(moment, first))


def _stretch(moment: Moment) -> int:
    """Return after how many steps an equal call stands for the second time, at the end."""
    last = moment.steps[-1].tool
    others = [number for number, step in enumerate(moment.steps, 1) if step.tool != last]
    return max(others, default=0) + 2


def _cut(moment: Moment, steps: int | None) -> Moment:
    return attrs.evolve(moment, steps=moment.steps[:steps])


def in_turns(moments: Iterator[Moment]) -> Iterator[Moment]:
    """Yield moments in turns of their kinds, those of a kind as they come."""
    left: dict[str, list[Moment]] = {}
    for moment in moments:
        left.setdefault(moment.kind, []).append(moment)
    while any(left.values()):
        for kind in ORDER:
            if left.get(kind):
                yield left[kind].pop(0)


def ask(model: Model, moment: Moment, text: Text, seconds: float) -> Iterator[dict[str, Any]]:
    """Yield a row for the arm without a text, and one for that with it.

    Args:
        model: is asked.
        moment: as its author wrote it.
        text: what the providers say there.
        seconds: the time at which no more is asked, by the monotonic clock.
    """
    steps, said = text
    seeds = [zlib.crc32(moment.id.encode())]
    for arm, at, shown in (("none", moment, ""), ("shipped", _cut(moment, steps), said)):
        began = time.perf_counter()
        if time.monotonic() > seconds:
            return
        request = Request(arm, placed(at.messages(), shown, arm), shown, ())
        (written,) = model.ask([request.messages], at.all_tools(), seeds)
        took = round(time.perf_counter() - began, 1)
        row = {**judged(at, request, written), "sample": 0, "seconds": took}
        yield row if steps is None or arm == "none" else {**row, "n": steps}


def read_texts(path: Path) -> Mapping[str, Text]:
    """Read the texts of a pass, by moment."""
    return {
        name: (steps, text)
        for name, (steps, text) in json.loads(path.read_text(encoding="utf-8")).items()
    }
