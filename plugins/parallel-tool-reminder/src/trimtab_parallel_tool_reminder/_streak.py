"""Turns of one call each, in a row, none of which needed the answer of another."""

from __future__ import annotations

from typing import Any

from trimtab import CallOrigin, ToolInvoked
from trimtab.trajectory import (
    BaseProjection,
    CallRecord,
    MessageRecord,
    ToolProfiles,
    TurnRecord,
    call_from,
    orders_in,
)
from trimtab_parallel_tool_reminder._dependence import Link, could_be_one_of_several, depends

_MODEL = CallOrigin.MODEL
COMPARED = 8
"""How many earlier calls a new one is compared with."""


class Streak(BaseProjection):
    """The streak at the end of one run.

    Arguments and answers are compared when `independent` is called, not while calls come in.

    Attributes:
        length: turns of one call in a row that may turn out to be a streak.
        batched: whether the agent has ever asked for several calls at once.
        alone: whether the user asked for one call at a time.
        needed: turns from which a streak matters; None if none ever does.

    Args:
        profiles: what is known about the tools.
        needed: turns of the shortest streak that matters.
    """

    def __init__(self, profiles: ToolProfiles | None = None, needed: int | None = 1) -> None:
        self.quiet = True
        self.needed = needed
        self.length = 0
        self.batched = False
        self.alone = False
        self._profiles = profiles or ToolProfiles()
        self._last: Link | None = None
        self._links: list[Link] = []
        self._checked = 0

    @property
    def tools(self) -> tuple[str, ...]:
        """Names of the tools of its last eight calls, each once."""
        return tuple(dict.fromkeys(link.call.tool for link in self._links))

    def independent(self) -> int:
        """Return how many turns at the end made one call each that needed no other's answer."""
        links = self._links
        unchecked = range(max(0, len(links) - self._checked), len(links))
        for index in reversed(unchecked):
            if not could_be_one_of_several(links[index].call):
                return self._begin_at(index + 1)
        for index in unchecked:
            if depends(links[index], links[max(0, index - COMPARED) : index]):
                return self._begin_at(index) if index else self.length
        self._checked = 0
        return self.length

    def _begin_at(self, index: int) -> int:
        """Let the streak begin with the link at `index`, and check those after it."""
        self._links = self._links[index:]
        self.length = self._checked = len(self._links)
        return self.independent() if self._links else 0

    def call_ended(self, call: CallRecord, event: ToolInvoked) -> None:
        """Keep a call until its turn is closed."""
        if not self.batched and call.caller is _MODEL:
            self._last = Link(call, event.params, event.result)

    def turn_closed(self, turn: TurnRecord) -> None:
        """Lengthen, begin or end the streak."""
        calls = len(turn.asked)
        if self.batched or calls == 0:
            return
        if calls > 1:
            self.batched = True
            self._last = None
        self._take(self._last)
        self._last = None
        self._note_quiet()

    def user_spoke(self, message: MessageRecord) -> None:
        """End the streak: the calls that follow could not have been asked for before."""
        if not message.notification:
            self.alone = orders_in(message.text).alone or self.alone
        self._take(None)
        self._note_quiet()

    def _note_quiet(self) -> None:
        needed = self.needed
        self.quiet = needed is None or self.length < needed or self.batched or self.alone

    def _take(self, link: Link | None) -> None:
        if link is None or link.call.failed or link.call.profile.writes:
            self.length = self._checked = 0
            self._links = []
            if link is None or link.call.failed:
                return
        self.length += 1
        if self._checked < COMPARED:
            self._checked += 1
        links = self._links
        links.append(link)
        if len(links) > COMPARED:
            del links[0]

    def state(self) -> dict[str, Any]:
        """Return everything."""
        return {
            "length": self.length,
            "batched": self.batched,
            "alone": self.alone,
            "checked": self._checked,
            "last": None if self._last is None else self._last.state(),
            "links": [link.state() for link in self._links],
        }

    def load_state(self, state: dict[str, Any]) -> None:
        """Take back what `state` returned."""
        self.length = state["length"]
        self.batched = state["batched"]
        self.alone = state["alone"]
        self._checked = state["checked"]
        self._last = None if state["last"] is None else self._restored(state["last"])
        self._links = [self._restored(link) for link in state["links"]]
        self._note_quiet()

    def _restored(self, link: dict[str, Any]) -> Link:
        call = call_from(link["call"], self._profiles)
        assert call is not None
        return Link(call, link["params"], link["result"])
