"""Regular expressions that cost nothing until they are used."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any


class LazyPattern:
    """A regular expression with the methods of `re.Pattern`, compiled when the first is called.

    A short process, such as a command hook, uses few of those that its modules hold. A method
    is looked up once and is the compiled pattern's own from then on.

    Args:
        text: the expression.
        flags: those of `re`.
    """

    def __init__(self, text: str, flags: int = 0) -> None:
        self._text = text
        self._flags = flags

    @cached_property
    def _compiled(self) -> re.Pattern[str]:
        return re.compile(self._text, self._flags)

    @cached_property
    def search(self) -> Callable[[str], re.Match[str] | None]:
        return self._compiled.search

    @cached_property
    def match(self) -> Callable[[str], re.Match[str] | None]:
        return self._compiled.match

    @cached_property
    def fullmatch(self) -> Callable[[str], re.Match[str] | None]:
        return self._compiled.fullmatch

    @cached_property
    def finditer(self) -> Callable[[str], Iterator[re.Match[str]]]:
        return self._compiled.finditer

    @cached_property
    def findall(self) -> Callable[[str], list[Any]]:
        return self._compiled.findall

    @cached_property
    def split(self) -> Callable[[str], list[str | Any]]:
        return self._compiled.split

    @cached_property
    def sub(self) -> Callable[[str | Callable[[re.Match[str]], str], str], str]:
        return self._compiled.sub
