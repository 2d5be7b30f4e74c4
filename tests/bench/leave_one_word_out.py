"""Leaves one word out at a time, and prints which words no case needs.

    python tests/bench/leave_one_word_out.py [MODULE ...]

A word is an element of a set, tuple or mapping of texts, or an alternative of an expression if it
is a plain word, in the modules of signals and the providers; MODULE is a part of their names. A
word that stands in no case is needed by none. Of the others the cases that it stands in are played
without it, at most 40. Words that stand in for each other can't all go: run the tests after a cut,
which hold words of languages that no case has.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Iterator
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType
from typing import Any, NamedTuple

from ablation import PACKAGES
from transformed_cases import ABOUT as CHECKED, FILES, wrong

from trimtab.text import LazyPattern

ABOUT = (*CHECKED, "ParallelToolReminder", "ToolCallForm")
_MOST_PLAYED = 40
_SHORTEST = 2
"""Cases that are played for a word, and letters of it."""
_NEVER = "(?!)"
_ALTERNATIVE = re.compile(r"(?<=[|(:])[^\W\d_][\w' -]*(?=[|)])|(?<=\|)[^\W\d_][\w' -]*$")
_WORDS = (frozenset, set, tuple, dict)
Case = dict[str, Any]


class Place(NamedTuple):
    """A word, and the value of a module that holds it."""

    module: ModuleType
    name: str
    word: str


def modules(parts: Iterable[str]) -> list[ModuleType]:
    """Return the modules whose names hold one of `parts`; all if there are none."""
    names = [
        f"{package}.{found.name}"
        for package in PACKAGES
        for found in iter_modules(import_module(package).__path__)
    ]
    parts = list(parts)
    return [
        import_module(name) for name in names if not parts or any(part in name for part in parts)
    ]


def places(module: ModuleType) -> Iterator[Place]:
    """Yield each word that a module holds itself."""
    for name, value in sorted(vars(module).items()):
        if name.startswith("__") or not _is_own(module, name):
            continue
        if isinstance(value, LazyPattern):
            words: Iterable[Any] = dict.fromkeys(_ALTERNATIVE.findall(value._text))
        elif isinstance(value, _WORDS):
            words = sorted(word for word in value if isinstance(word, str))
        else:
            continue
        yield from (Place(module, name, word) for word in words if len(word) >= _SHORTEST)


def _is_own(module: ModuleType, name: str) -> bool:
    """Tell whether a module binds a name at its top level, and doesn't import it."""
    source = module.__loader__.get_source(module.__name__)  # type: ignore[union-attr]
    return re.search(rf"^{name}(?::[^=\n]+)? = ", source, re.MULTILINE) is not None


def without(place: Place) -> Any:
    """Return the value at a place without the word."""
    value = getattr(place.module, place.name)
    if isinstance(value, LazyPattern):
        return LazyPattern(_without_alternative(value._text, place.word), value._flags)
    if isinstance(value, dict):
        return {key: item for key, item in value.items() if key != place.word}
    return type(value)(one for one in value if one != place.word)


def _without_alternative(text: str, word: str) -> str:
    return _ALTERNATIVE.sub(lambda found: _NEVER if found[0] == word else found[0], text)


def put(old: Any, new: Any) -> None:
    """Put `new` in the place of `old` in every module, and forget what was remembered."""
    for module in [one for name, one in sys.modules.items() if name.startswith("trimtab")]:
        for name, value in list(vars(module).items()):
            if value is old:
                setattr(module, name, new)
            elif hasattr(value, "cache_clear"):
                value.cache_clear()


def lost(place: Place, cases: list[Case], before: set[str]) -> set[str]:
    """Return the ids of the cases that come out otherwise without a word."""
    old = getattr(place.module, place.name)
    new = without(place)
    put(old, new)
    try:
        after = {run["id"] for run in wrong(cases)}
    finally:
        put(new, old)
    return after ^ (before & {case["id"] for case in cases})


def main(parts: list[str]) -> None:
    """Print a line for each word that no case needs, and the counts."""
    cases = [
        json.loads(line) for path in FILES for line in path.read_text(encoding="utf-8").splitlines()
    ]
    cases = [case for case in cases if case["concerns"] in ABOUT]
    texts = [json.dumps(case, ensure_ascii=False).lower() for case in cases]
    before = {run["id"] for run in wrong(cases)}
    played = needed = absent = 0
    for place in [place for module in modules(parts) for place in places(module)]:
        word = place.word.lower()
        holding = [case for case, text in zip(cases, texts, strict=True) if word in text]
        where = f"{place.module.__name__}.{place.name}"
        if not holding:
            absent += 1
            print(f"in no case: {place.word!r} of {where}", flush=True)
            continue
        played += 1
        changed = lost(place, holding[:_MOST_PLAYED], before)
        needed += bool(changed)
        if not changed:
            print(f"not needed: {place.word!r} of {where}, in {len(holding)} cases", flush=True)
    print(f"{absent} words are in no case, {played} were left out, {needed} are needed")


if __name__ == "__main__":
    main(sys.argv[1:])
