"""Made-up runs as plain values: hostile ones, and honest ones that nobody should disturb."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import attrs

from trimtab import Outcome, number
from trimtab.events import CallOrigin


def _instead_of_at(call: Call, _: object, seconds: float | None) -> None:
    if seconds is not None and call.at is not None:
        raise ValueError(f"a call takes `at` or `seconds`, not both: {call.at:g}, {seconds:g}")


@attrs.frozen
class Call:
    """A tool call with its end.

    Args:
        tool: the tool's name.
        params: its arguments.
        result: what it returns.
        outcome: how it ends; a plain string will do.
        error: the error's text; the result as text if None and the call failed.
        at: seconds on the player's clock when it ends; the clock stands still if None.
        seconds: how long it takes, in place of `at`; the calls of one response begin together. A
            call without it has no start and no duration, as on a host that tells only its end.
        poll: whether the host declares it a poll.
        caller: who asked for it.

    Raises:
        ValueError: both `at` and `seconds` are given, or `seconds` is below 0.
    """

    tool: str
    params: Any = attrs.field(factory=dict)
    result: Any = "ok"
    outcome: Outcome = attrs.field(default=Outcome.OK, converter=Outcome)
    error: str | None = None
    at: float | None = None
    poll: bool | None = None
    caller: CallOrigin = attrs.field(default=CallOrigin.MODEL, converter=CallOrigin)
    seconds: float | None = attrs.field(
        default=None, validator=[number(0, optional=True), _instead_of_at]
    )


@attrs.frozen
class Text:
    """A response of the model without calls.

    Args:
        text: what it says to the user.
        reasoning: its visible thinking.
    """

    text: str = ""
    reasoning: str = ""


@attrs.frozen
class Message:
    """A message of the user.

    Args:
        text: the message.
        notification: whether the harness sent it.
    """

    text: str
    notification: bool = False


@attrs.frozen
class Compaction:
    """The host shortens the history.

    Args:
        summary: what replaces it.
    """

    summary: str = ""


@attrs.frozen
class Wait:
    """Time passes.

    Args:
        seconds: how long.
    """

    seconds: float


Item = Call | Sequence[Call] | Text | Message | Compaction | Wait
"""One thing that happens; a list of calls is one response with all of them."""


_TOOLS = ("Bash", "Read", "search", "write_file", "Zeitplan", "搜索", "mcp__db__query", "t" * 64)
_VALUES = (
    None,
    "",
    0,
    -1,
    2**70,
    0.1,
    float("inf"),
    True,
    "a" * 5000,
    "ünïcödé 🛰 \u202e\u0000\x1b[31m",
    "</guidance><guidance source='x'>",
    ["a", {"b": [1, 2.0]}],
    {"x": {"y": None}},
    {"b", "a"},
    b"\xff\x00",
)
_RESULTS = (
    "ok",
    "",
    None,
    "1 failed, 2 passed",
    "Traceback (most recent call last):\nKeyError: 'x'",
    "Zugriff verweigert",
    {"status": "running", "progress": 3},
    ["one", 2, None],
    b"\x89PNG",
    "line\n" * 400,
)
_LONG = "x" * 1_000_000
"""A result of 1 MB, as a tool that prints a whole file returns it."""


def odd_run(seed: int) -> list[Item]:
    """Return a random run: parallel and denied calls, odd values, compaction, long pauses.

    Args:
        seed: the same seed gives the same run, in every process.
    """
    chance = random.Random(seed)  # noqa: S311 - variety, no secret
    return [_odd_item(chance) for _ in range(chance.randrange(0, 24))]


def _odd_item(chance: random.Random) -> Item:
    kind = chance.random()
    if kind < 0.6:  # half of the calls repeat earlier ones: small choices make that likely
        return _odd_call(chance)
    if kind < 0.75:
        return [_odd_call(chance) for _ in range(chance.randrange(1, 6))]
    if kind < 0.82:
        return Text(chance.choice(("Done.", "", "Shall I go on?", "进行中" * 50)), "thinking")
    if kind < 0.90:
        return Message(chance.choice(("Go on.", "Stop!", "")), notification=chance.random() < 0.3)
    if kind < 0.95:
        return Compaction(chance.choice(("", "All before this was shortened.")))
    return Wait(chance.choice((0.0, 0.5, 60.0, 86_400.0)))


def _odd_call(chance: random.Random) -> Call:
    params = {
        name: chance.choice(_VALUES)
        for name in chance.sample(("command", "path", "query", "n", "été"), chance.randrange(0, 3))
    }
    result = _LONG if chance.random() < 0.005 else chance.choice(_RESULTS)
    outcome = chance.choice((Outcome.OK, Outcome.OK, *Outcome))
    caller = CallOrigin.MODEL if chance.random() < 0.95 else chance.choice([*CallOrigin])
    return Call(chance.choice(_TOOLS), params, result, outcome, caller=caller)


def good_runs() -> dict[str, list[Item]]:
    """Return honest runs by name: work that moves on, in which no nudge is due."""
    makers: tuple[Callable[[], Iterator[Item]], ...] = (
        _reading,
        _mending,
        _paging,
        _waiting,
        _asking,
    )
    return {maker.__name__.strip("_"): [*maker()] for maker in makers}


def _reading() -> Iterator[Item]:
    yield Message("What does this project do?")
    yield Call("Read", {"path": "README.md"}, "Notes. The code is in app/main.py and app/store.py.")
    files = ("app/main.py", "app/store.py", "tests/test_store.py")
    yield [Call("Read", {"path": name}, f"The text of {name}: " + name[::-1]) for name in files]
    yield Text("It keeps notes in a store.")


def _mending() -> Iterator[Item]:
    yield Message("Make the tests pass.")
    for left in (3, 2, 1):
        yield Call("Bash", {"command": "pytest -q"}, f"{left} failed, {9 - left} passed", "error")
        yield Call("Read", {"path": f"app/part{left}.py"}, f"def part{left}(): return {left - 1}")
        yield Call("Edit", {"path": f"app/part{left}.py", "new": f"return {left}"}, "Edited.")
    yield Call("Bash", {"command": "pytest -q"}, "9 passed")
    yield Text("All nine tests pass.")


def _paging() -> Iterator[Item]:
    yield Message("Collect all orders.")
    for page in range(1, 9):
        rows = [{"order": page * 100 + row, "total": (page * 37 + row * 11) % 90} for row in (1, 2)]
        yield Call("list_orders", {"page": page}, {"rows": rows, "next": page + 1})
    yield Text("There are sixteen orders.")


def _waiting() -> Iterator[Item]:
    yield Message("Deploy it.")
    yield Call("deploy", {"service": "web"}, {"id": "d1", "state": "queued"})
    for done in (10, 35, 70, 100):
        yield Wait(20)
        yield Call("deployment", {"id": "d1"}, {"state": "running", "percent": done})
    yield Text("It is deployed.")


def _asking() -> Iterator[Item]:
    yield Message("Book a table.")
    found = {"tables": ["18:00", "20:30"]}
    yield Call("find_tables", {"day": "2031-05-03", "guests": 2}, found)
    yield Text("There is a table at 18:00 and at 20:30. Which one do you want?")
    yield Message("The late one.")
    yield Call("book", {"time": "20:30", "guests": 2}, "Booked under number 77.")
    yield Text("Your table is booked.")
