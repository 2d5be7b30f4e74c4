"""Calls with values of any kind have records that can be compared."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from fractions import Fraction
from types import MappingProxyType
from typing import Any

import pytest

from trimtab import NOT_RELEVANT, Prompt, Session, ToolCall
from trimtab.hosting import Driver
from trimtab_signals import Calls
from trimtab_testing import Speaker

HUGE = 10**5000
NAN, INFINITE = float("nan"), float("inf")


class Unshown:
    def __repr__(self) -> str:
        raise RuntimeError("no text")


class Unread(dict[str, Any]):
    def items(self) -> Any:
        raise RuntimeError("no items")


class Count(int):
    pass


def _cyclic() -> list[Any]:
    values: list[Any] = [1]
    values.append({"again": values})
    return values


def _deep() -> Any:
    value: Any = "bottom"
    for _ in range(500):
        value = [value]
    return value


ODD: dict[str, Callable[[], Any]] = {
    "huge": lambda: HUGE,
    "negative": lambda: -HUGE,
    "of a subclass": lambda: Count(HUGE),
    "nan": lambda: NAN,
    "infinite": lambda: -INFINITE,
    "surrogate": lambda: "a\ud800b",
    "cyclic": _cyclic,
    "deep": _deep,
    "unshown": Unshown,
    "unread": lambda: Unread(a=1),
    "keys": lambda: {HUGE: 1, NAN: 2, None: 3, (1, 2): 4},
    "mapping": lambda: MappingProxyType({"v": HUGE}),
    "ordered": lambda: OrderedDict(v=NAN),
    "set": lambda: {1, 2, HUGE},
    "fraction": lambda: Fraction(HUGE),
    "bytes": lambda: b"\xff\x00",
}


@pytest.mark.parametrize("name", sorted(ODD))
def test_a_provider_reads_a_call_with_an_odd_value(name: str) -> None:
    read_at = set()

    def read(context: Any) -> Any:
        for call in context.trajectory.follow(Calls).recent(1):
            _ = call.pieces, call.fingerprint, call.shape, call.output_fingerprint
            read_at.add("end")
        for pending in context.pending_tool_calls:
            assert [*pending.params] == ["v"]
            read_at.add("start")
        return NOT_RELEVANT

    run = Session().open_run(
        Prompt("a", "b", guidance_providers=[Speaker(verdict=read)], config=None)
    )
    driver = Driver(run)
    odd = ODD[name]()
    call = ToolCall("t", {"v": odd}, "c")
    driver.responded("", [call])
    with driver.running(call):
        pass
    driver.answered(call, {"v": odd})
    driver.next_request()

    assert read_at == {"start", "end"}
    assert run.trajectory.follow(Calls).recent(1)[0].pieces is not None
    assert run.trajectory.follow(Calls).recent(1)[0].fingerprint
    restored = Session.restore(run.session.snapshot())
    assert restored.open_run(run.prompt, run_id=run.run_id).trajectory.follow(Calls).recent(1)


def test_two_huge_numbers_are_two_arguments() -> None:
    run = Session().open_run(Prompt("a", "b", config=None))
    for number in (HUGE, HUGE + 1):
        run.tool_started("read", {"n": number}, "c")
        run.tool_finished("c", "done")

    first, second = run.trajectory.follow(Calls).recent(2)
    assert first.fingerprint != second.fingerprint
