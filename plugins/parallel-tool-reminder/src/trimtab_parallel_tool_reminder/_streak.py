"""Turns of one call each, in a row, none of which needed the answer of another."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from functools import partial
from itertools import takewhile
from math import inf

import attrs

from trimtab import ToolInvoked
from trimtab.events import CallOrigin
from trimtab.trajectory import MessageRecord
from trimtab_parallel_tool_reminder._dependence import (
    Link,
    SavedLink,
    could_be_one_of_several,
    depends,
)
from trimtab_signals import CallProjection, CallRecord, ToolProfiles, TurnRecord, orders_in

_MODEL = CallOrigin.MODEL
COMPARED = 8
"""How many earlier calls a new one is compared with."""
LONGEST_REQUEST = 2_000
"""Characters of the user's message in which the things are named that it asks about."""
LONGEST_LIST = 8_000
"""Characters of the answer before a streak, which may list what its calls are about: some hundred
names."""


@attrs.frozen(kw_only=True)
class SavedStreak:
    """A projection of this module as a snapshot keeps it."""

    length: int
    batched: bool
    alone: bool
    last: SavedLink | None
    links: tuple[SavedLink, ...]
    request: str = ""
    before: str = ""


class Streak(CallProjection):
    """The streak at the end of one run.

    Arguments and answers are compared when `independent` is called, not while calls come in.

    Attributes:
        length: turns of one call in a row that may turn out to be a streak.
        batched: whether the agent has ever asked for several calls at once.
        alone: whether the user asked for one call at a time.
        needed: turns from which a streak matters; infinite if none ever does.

    Args:
        profiles: what is known about the tools.
        needed: turns of the shortest streak that matters.
    """

    def __init__(self, profiles: ToolProfiles | None = None, needed: float = 1) -> None:
        self.quiet = True
        self.needed = needed
        self.length = 0
        self.batched = False
        self.alone = False
        self._profiles = profiles or ToolProfiles()
        self._last: Link | None = None
        self._links: deque[Link] = deque(maxlen=COMPARED)
        self._request = self._before = ""

    @property
    def tools(self) -> tuple[str, ...]:
        """Names of the tools of its last eight calls, each once."""
        return tuple(dict.fromkeys(link.call.tool for link in self._links))

    def independent(self) -> int:
        """Return how many turns at the end made one call each that needed no other's answer."""
        links = list(self._links)
        for index, link in reversed(list(enumerate(links))):
            named = partial(self._named, links, index)  # few tools need it
            if not could_be_one_of_several(link, links, self._request, named):
                return self._independent_after(links, index)
        for index, link in enumerate(links):
            if depends(link, links[:index], self._request):
                return self._independent_after(links, index - 1)
        return self.length

    def _independent_after(self, links: Sequence[Link], index: int) -> int:
        """Let the streak begin after one of these calls, and compare the others again."""
        self._begin_anew(links[index].answer[:LONGEST_LIST])
        self._links.extend(links[index + 1 :])
        self.length = len(self._links)
        return self.independent()

    def _named(self, links: Sequence[Link], index: int) -> str:
        """Return where the things are named that calls of one tool are about: what the user said,
        and what was answered before the first of them.
        """
        tool = links[index].call.tool
        before = takewhile(lambda link: link.call.tool != tool, links)
        answers = (link.answer[:LONGEST_LIST] for link in before)
        return "\n".join([self._request, self._before, *answers])

    def _begin_anew(self, before: str = "") -> None:
        """Let the next call begin a streak, after an answer that may name what it is about."""
        self._links.clear()
        self._before = before
        self.length = 0

    def call_ended(self, call: CallRecord, event: ToolInvoked) -> None:
        """Keep a call until its turn is closed."""
        if not self.batched and call.caller is _MODEL:
            self._last = Link(call, event.params, event.result)

    def turn_closed(self, turn: TurnRecord) -> None:
        """Lengthen, begin or end the streak."""
        calls = len(turn.asked)
        if self.batched or calls == 0:
            return
        last, self._last = self._last, None
        self.batched = calls > 1
        if last is None or last.call.failed:
            self._begin_anew()
        else:
            self.length += 1
            self._links.append(last)
        self.rests = self.needed == inf or self.batched or self.alone
        self.quiet = self.rests or self.length < self.needed

    def user_spoke(self, message: MessageRecord) -> None:
        """End the streak: the calls that follow could not have been asked for before."""
        if not message.notification:
            self.alone = orders_in(message.text).alone or self.alone
            self._request = message.text[:LONGEST_REQUEST]
        self._begin_anew()
        self.quiet = True

    def state(self) -> SavedStreak:
        """Return everything."""
        return SavedStreak(
            length=self.length,
            batched=self.batched,
            alone=self.alone,
            last=None if self._last is None else self._last.state(),
            links=tuple([link.state() for link in self._links]),
            request=self._request,
            before=self._before,
        )

    def load_state(self, state: SavedStreak) -> None:
        """Take back what `state` returned."""
        self.length = state.length
        self.batched = state.batched
        self.alone = state.alone
        self._request, self._before = state.request, state.before
        self._last = None if state.last is None else self._restored(state.last)
        self._links.extend([self._restored(link) for link in state.links])
        self.quiet = self.length < self.needed or self.batched or self.alone

    def _restored(self, link: SavedLink) -> Link:
        return Link(link.call.restored(self._profiles), list(link.params), link.result)
