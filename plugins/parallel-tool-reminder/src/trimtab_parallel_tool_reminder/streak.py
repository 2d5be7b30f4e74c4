"""Turns of one call each, in a row, none of which needed the answer of another."""

from __future__ import annotations

from typing import Any

import attrs

from trimtab import CallOrigin, ToolInvoked
from trimtab.trajectory import BaseProjection, CallRecord, MessageRecord, TurnRecord
from trimtab_parallel_tool_reminder.dependence import Link, depends, link_of

COMPARED = 8
"""How many earlier calls a new one is compared with."""


class Streak(BaseProjection):
    """The streak at the end of one run.

    Attributes:
        length: turns in it.
        batched: whether the agent has ever asked for several calls at once.
    """

    def __init__(self) -> None:
        self.length = 0
        self.batched = False
        self._last: Link | None = None
        self._links: list[Link] = []

    @property
    def tools(self) -> tuple[str, ...]:
        """Names of the tools called in it (of its last eight calls), each once."""
        return tuple(dict.fromkeys(link.tool for link in self._links))

    def call_ended(self, call: CallRecord, event: ToolInvoked) -> None:
        """Keep what is needed of a call until its turn is closed."""
        if not self.batched and call.caller is CallOrigin.MODEL:
            self._last = link_of(call, event)

    def turn_closed(self, turn: TurnRecord) -> None:
        """Lengthen the streak, or begin or end it."""
        calls = len(turn.asked)
        if self.batched or calls == 0:
            return
        if calls > 1:
            self.batched = True
            self._last = None
        self._take(self._last)
        self._last = None

    def user_spoke(self, message: MessageRecord) -> None:  # noqa: ARG002  the protocol's
        """End the streak: what comes now could not have been asked for before."""
        self._take(None)

    def _take(self, link: Link | None) -> None:
        if link is None or depends(link, self._links):
            self.length = 0
            self._links.clear()
        if link is not None:
            self.length += 1
            self._links = [*self._links[1 - COMPARED :], link]

    def state(self) -> dict[str, Any]:
        """Return everything."""
        return {
            "length": self.length,
            "batched": self.batched,
            "last": None if self._last is None else attrs.asdict(self._last),
            "links": [attrs.asdict(link) for link in self._links],
        }

    def load_state(self, state: dict[str, Any]) -> None:
        """Take back what `state` returned."""
        self.length = state["length"]
        self.batched = state["batched"]
        self._last = None if state["last"] is None else _restored(state["last"])
        self._links = [_restored(link) for link in state["links"]]


def _restored(link: dict[str, Any]) -> Link:
    return Link(**{**link, "values": tuple(link["values"])})
