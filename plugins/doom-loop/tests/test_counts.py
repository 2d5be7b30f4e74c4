"""The numbers in a text are those of the moment at which it is given."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from trimtab import GuidanceProviderConfig
from trimtab_doom_loop import DoomLoopDetector
from trimtab_doom_loop._loop import LoopKind
from trimtab_testing import Call, Item, Player, Text

PAGE = "\n".join(f"entry {letter} of the page that holds the list" for letter in "abcdefgh")
NAMES = ("amber", "birch", "cedar", "dune", "ember", "fjord", "grove", "heath", "inlet", "jade")


def each(make: Callable[[int], Any]) -> Iterator[Item]:
    return map(make, count())


def read(name: str) -> Call:
    return Call("read", {"path": f"{name}.py"}, f"text of {name}")


def edit(number: int) -> Call:
    return Call("edit", {"path": "a.py", "old": f"v{number}", "new": f"w{number}"}, "applied")


def in_turns(*makers: Callable[[int], Call]) -> Iterator[Item]:
    return (make(number) for number in count() for make in makers)


def rejected(number: int) -> Call:
    params = {"file_path": "a.py", "old_string": "the old text of the line " + "x" * number}
    return Call("Edit", params, "String to replace not found in file.", "error")


def failing(_: int) -> Call:
    answer = "FAILED test_a.py::test_a - AssertionError: 1 != 2"
    return Call("bash", {"command": "pytest -q"}, answer, "error")


def like(name: str) -> Callable[[int], Call]:
    def make(number: int) -> Call:
        params = {"query": f"the long question about {name} number {number}"}
        return Call("ask", params, f"an answer about {name} which is always the same one")

    return make


def reworded(number: int) -> Call:
    first, last = (
        ("please", "kindly", "now", "and")[number % 4],
        ("", " at once", " again")[number % 3],
    )
    text = f"{first} remove the dark background picture{last}"
    head = "Generated the picture with the requested change, see the link below"
    return Call("picture", {"prompt": text}, f"{head}\nhttps://host.example/{number**2}.png")


RUNS: dict[LoopKind, tuple[Callable[[], Iterator[Item]], Callable[[int], int]]] = {
    LoopKind.REPEAT: (lambda: each(lambda _: read("a")), lambda items: items),
    LoopKind.CYCLE: (
        lambda: in_turns(lambda _: read("a"), lambda _: read("b")),
        lambda items: items // 2,
    ),
    LoopKind.LIKE_CYCLE: (lambda: in_turns(like("a"), like("b")), lambda items: items // 2),
    LoopKind.INTERLEAVED: (
        lambda: in_turns(lambda _: read("a"), lambda n: read(f"other{n}")),
        lambda items: (items + 1) // 2,
    ),
    LoopKind.REJECTED: (
        lambda: in_turns(rejected, lambda n: read(f"other{n}")),
        lambda items: (items + 1) // 2,
    ),
    LoopKind.SAME_ANSWER: (
        lambda: each(
            lambda n: Call("search", {"query": f"{NAMES[n % 10]} {n}"}, "the one and only answer")
        ),
        lambda items: items,
    ),
    LoopKind.SAME_ERROR: (
        lambda: each(
            lambda n: Call("query", {"text": f"{NAMES[n % 10]} {n}"}, "connection refused", "error")
        ),
        lambda items: items,
    ),
    LoopKind.ELSEWHERE: (
        lambda: each(
            lambda n: Call("edit", {"path": "a.py", "text": f"{n}"}, f"b.py was written: {n * 7}")
        ),
        lambda items: items,
    ),
    LoopKind.REWORDED: (lambda: each(reworded), lambda items: items),
    LoopKind.SAME_CONTENT: (
        lambda: in_turns(
            lambda n: Call("fetch", {"url": f"https://host.example/{NAMES[n % 10]}/{n}"}, PAGE),
            lambda n: read(f"other{n}"),
        ),
        lambda items: (items + 1) // 2,
    ),
    LoopKind.TEXT: (lambda: each(lambda _: Text("I will do it at once, wait.")), lambda i: i),
}


def told(kind: LoopKind, items: int) -> Iterator[tuple[int, int, int, str]]:
    """Yield, for each text: the items so far, its number and turn, and its built-in words."""
    texts = dict.fromkeys((1, 2, 3), "{times}/{turn}: {seen}")
    detector = DoomLoopDetector(texts=texts, in_doubt=kind is LoopKind.STALLED)
    config = GuidanceProviderConfig(provider=detector, max_per_run=12, cooldown_turns=2)
    player = Player(guidance=[config])
    run = RUNS[kind][0]()
    for number in range(1, items + 1):
        before = len(player.delivered)
        player.play([next(run)])
        for event in player.delivered[before:]:
            assert event.injection.key == f"doom-loop.{kind.replace('_', '-')}"
            times, turn, words = re.fullmatch(
                r"(\d+)/(\d+): (.*)", event.injection.content
            ).groups()
            yield number, int(times), int(turn), words


@pytest.mark.parametrize("kind", RUNS)
@settings(max_examples=4, deadline=None)
@given(items=st.integers(24, 50))
def test_each_text_names_how_often_it_happened_up_to_then(kind, items):
    texts = list(told(kind, items))
    assert len(texts) >= 3
    for number, times, turn, words in texts:
        assert times == RUNS[kind][1](number), (number, words)
        assert turn == number
        assert re.search(rf"\b{times}\b", words)
