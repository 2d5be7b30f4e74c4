"""Ids of messages, calls and requests."""

from __future__ import annotations

import itertools


class Ids:
    """Running ids, so that two runs of one test see the same."""

    def __init__(self) -> None:
        self._numbers = itertools.count(1)

    def new(self, kind: str) -> str:
        """The next id, e.g. ``call_000007``."""
        return f"{kind}_{next(self._numbers):06d}"
