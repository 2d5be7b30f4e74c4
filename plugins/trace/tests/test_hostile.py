"""Traces of strangers: valid lines with any payload raise trimtab's errors alone."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import attrs
import pytest

from trimtab import TrimtabError
from trimtab_trace import (
    JsonlTrace,
    TraceEvent,
    atif,
    cloudevents,
    open_trace,
    replay,
    session_of,
)
from trimtab_trace._commands import summary

from .running import drive, prompt

pytestmark = pytest.mark.slow

ODD = (
    None,
    True,
    -1,
    10**30,
    1.5,
    "",
    "x\x1b[2J",
    "\ud800",
    [],
    {},
    [None],
    {"$digest": 1},
    {"a": []},
)


@pytest.fixture(scope="module")
def events(tmp_path_factory: pytest.TempPathFactory) -> list[TraceEvent]:
    folder = tmp_path_factory.mktemp("trace")
    drive(prompt(JsonlTrace(str(folder))))
    return list(open_trace(folder / "run-1.jsonl"))


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path of every value inside a payload."""
    if path:
        yield path
    if isinstance(value, dict):
        for key, item in value.items():
            yield from places(item, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from places(item, (*path, index))


def changed(event: TraceEvent, chance: random.Random) -> TraceEvent:
    payload = copy.deepcopy(dict(event.payload))
    found = list(places(payload))
    if not found:
        return event
    *way, last = chance.choice(found)
    inner: Any = payload
    for key in way:
        inner = inner[key]
    if chance.random() < 0.3 and isinstance(inner, dict):
        del inner[last]
    else:
        inner[last] = chance.choice(ODD)
    return attrs.evolve(event, payload=payload)


def spans(trace: list[TraceEvent]) -> None:
    pytest.importorskip("opentelemetry.exporter.otlp.proto.http")
    from trimtab_trace._export._otlp import otlp_lines

    list(otlp_lines(trace, content=True))


USES: dict[str, Callable[[list[TraceEvent]], object]] = {
    "session": session_of,
    "replay": lambda trace: replay(trace, prompts={"agent/main": prompt()}),
    "replay by name": replay,
    "atif": atif,
    "cloudevents": lambda trace: list(cloudevents(trace)),
    "show": lambda trace: [summary(event) for event in trace],
    "otel": spans,
}


@pytest.mark.parametrize("use", USES)
def test_a_changed_payload_raises_an_error_of_trimtab_or_none(
    use: str, events: list[TraceEvent]
) -> None:
    chance, used = random.Random(use), 0
    for _ in range(250):
        trace = list(events)
        place = chance.choice([0, 1, chance.randrange(len(trace))])
        trace[place] = changed(trace[place], chance)
        try:
            USES[use](trace)
        except TrimtabError:
            continue
        used += 1
    assert used or use == "replay by name"  # its providers were given as objects


@pytest.mark.parametrize("use", USES)
def test_missing_and_shuffled_events_raise_an_error_of_trimtab_or_none(
    use: str, events: list[TraceEvent]
) -> None:
    chance = random.Random(use)
    raised = []
    for _ in range(20):
        trace = [event for event in events if chance.random() < 0.9]
        chance.shuffle(trace)
        try:
            USES[use](trace)
        except Exception as error:  # noqa: BLE001 - judged below
            raised.append(error)
    assert [error for error in raised if not isinstance(error, TrimtabError)] == []


def test_a_transcript_reader_survives_changed_payloads(
    events: list[TraceEvent], tmp_path: Path
) -> None:
    pytest.importorskip("trimtab_replay")
    from trimtab_trace._transcripts import _Items

    chance = random.Random(5)
    for _ in range(250):
        trace = [changed(event, chance) if chance.random() < 0.1 else event for event in events]
        assert list(_Items("run-1").read(iter(trace)))
