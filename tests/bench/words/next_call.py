"""One pass: at every moment, every arm is asked for the next call."""

from __future__ import annotations

import json
import time
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import attrs

from words.arms import Request, arms_at, requests
from words.calls import judge, parse
from words.moments import Moment
from words.world import Tool

SAMPLES = 1


class Model(Protocol):
    """What a pass asks."""

    def ask(
        self, asked: Sequence[Sequence[Any]], tools: Sequence[Tool], seeds: Sequence[int]
    ) -> list[str]:
        """Return what is written after the beginning of a call, for each conversation."""


def run(
    model: Model,
    moments: Iterable[Moment],
    arms: Sequence[str] = (),
    samples: int = SAMPLES,
) -> Iterator[dict[str, Any]]:
    """Ask the model; yield one row for each call.

    Args:
        model: is asked for all arms of a moment at once.
        moments: those of one family should follow each other.
        arms: all that fit where empty.
        samples: of each arm; sample *n* has the same seed in all arms.
    """
    for moment in moments:
        began = time.perf_counter()
        made = [(one, n) for one in requests(moment, arms) for n in range(samples)]
        tools = moment.all_tools()
        first = zlib.crc32(moment.id.encode())
        seeds = [first + n for _, n in made]
        written = model.ask([one.messages for one, _ in made], tools, seeds)
        seconds = round(time.perf_counter() - began, 1)
        for (one, n), text in zip(made, written, strict=True):
            yield {**judged(moment, one, text), "sample": n, "seconds": seconds}


def judged(moment: Moment, request: Request, written: str) -> dict[str, Any]:
    """Return one result."""
    call = parse(written)
    found = judge(moment, call, text=request.text, listed=request.listed)
    return {
        "moment": moment.id,
        "family": moment.family,
        "due": moment.due,
        "kind": moment.kind,
        "arm": request.arm,
        "call": [call.tool, dict(call.arguments)],
        **attrs.asdict(found),
    }


def left(moments: Iterable[Moment], path: Path, arms: Sequence[str] = ()) -> list[Moment]:
    """Return the moments of which `path` does not hold all arms yet."""
    done = {(row["moment"], row["arm"]) for row in (read(path) if path.exists() else ())}
    return [m for m in moments if not {(m.id, arm) for arm in arms or arms_at(m)} <= done]


def write(rows: Iterable[Mapping[str, Any]], path: Path) -> int:
    """Add rows to a file as they come; return how many."""
    many = 0
    with path.open("a", encoding="utf-8") as file:
        for row in rows:
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
            file.flush()
            many += 1
    return many


def read(path: Path) -> list[dict[str, Any]]:
    """Read the rows of a pass."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
