"""``--sweep NAME.OPTION=2..5``: one option, several values."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import attrs

from trimtab_replay._arguments import assignment
from trimtab_replay._recording import ReplayError
from trimtab_replay._selection import Selection

_RANGE = re.compile(r"\s*(-?\d+)\.\.(-?\d+)\s*")
_MOST = 100


class SweepError(ReplayError):
    """A sweep has no values, or too many."""


@attrs.frozen
class Sweep:
    """One option of one provider, and the values to try."""

    provider: str
    option: str
    values: tuple[Any, ...]

    @classmethod
    def parse(cls, text: str) -> Sweep:
        """Read ``NAME.OPTION=2..5`` (both ends included) or ``NAME.OPTION=0.5,0.7,0.9``.

        Raises:
            SweepError: there are no values, or more than 100.
            SelectionError: it has another form.
        """
        target, _, values = text.partition("=")
        span = _RANGE.fullmatch(values)
        if span:
            low, high = map(int, span.groups())
            tried: tuple[Any, ...] = tuple(range(low, min(high, low + _MOST) + 1))
        else:
            tried = tuple(assignment(f"{target}=[{values}]")[2])
        if not 1 <= len(tried) <= _MOST:
            raise SweepError(f"{text!r} has {len(tried)} values; 1 to {_MOST} are tried")
        provider, option, _ = assignment(f"{target}=0")
        return cls(provider, option, tried)

    def selections(self, base: Selection) -> Iterator[tuple[Any, Selection]]:
        """Yield each value with `base` changed to it.

        Raises:
            SelectionError: the provider is not selected.
        """
        for value in self.values:
            yield value, base.with_option(self.provider, self.option, value)
