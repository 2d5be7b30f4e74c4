"""Attempts that failed, each different from the others."""

from __future__ import annotations

import re
from typing import Any

from trimtab import CallOrigin, LazyPattern, ToolInvoked
from trimtab.trajectory import (
    BaseProjection,
    CallRecord,
    MessageRecord,
    TurnRecord,
    digest,
    operation,
    reads_only,
)

MOST_ATTEMPTS = 64
_LEFT = LazyPattern(
    r"\b(\d+) (?:\w+ )?(?:errors?|failed|failing|failures?|issues?|problems?)\b", re.IGNORECASE
)


def is_tool(name: str, wanted: str) -> bool:
    """Return whether `name` is the tool `wanted`, also behind the prefix of a server."""
    return name == wanted or name.endswith(f"__{wanted}")


class Attempts(BaseProjection):
    """What failed in one run since the last progress.

    An attempt is a turn with a failure: what failed together with what was changed since the
    failure before. A failure that comes back with nothing changed, or after a change that was
    tried already, is the same attempt again; ten calls that fail in one turn are one. Success of
    what has failed ends the count for it; a failure that tells of fewer errors than the one
    before begins it anew; a consultation and a new request of the user end it for all.

    Args:
        tool: the tool of consultation.

    Attributes:
        consulted_at: number of the turn of the last consultation, None before the first.
        turn: number of the last closed turn.
    """

    def __init__(self, tool: str) -> None:
        self._tool = tool
        self.turn = -1
        self.consulted_at: int | None = None
        self._changes = ""
        self._kinds: dict[str, str] = {}
        self._times: dict[str, int] = {}
        self._left: dict[str, int] = {}

    @property
    def count(self) -> int:
        """How many different attempts have failed (at most 64 are told apart)."""
        return len(self._times)

    @property
    def failures(self) -> int:
        """How many turns have failed, the same attempts again included."""
        return sum(self._times.values())

    def call_ended(self, call: CallRecord, event: ToolInvoked) -> None:  # noqa: ARG002  the protocol's
        """Note a consultation, whatever came of it, whoever asked for it."""
        if is_tool(call.tool, self._tool):
            self.consulted_at = self.turn + 1
            self._forget()

    def turn_closed(self, turn: TurnRecord) -> None:
        """Take a whole batch."""
        self.turn = turn.number
        asked = [call for call in turn.calls if call.caller is CallOrigin.MODEL]
        failures = [call for call in asked if self._counts(call)]
        wrong = {_kind(call) for call in failures}
        for call in asked:
            if not call.failed:
                self._succeeded(call, wrong)
        if failures:
            self._note(failures)

    def user_spoke(self, message: MessageRecord) -> None:
        """Start anew: a new request is a new piece of work."""
        if not message.notification:
            self._forget()

    def _counts(self, call: CallRecord) -> bool:
        return call.failed and not call.waits and not is_tool(call.tool, self._tool)

    def _succeeded(self, call: CallRecord, wrong: set[str]) -> None:
        if self._kinds and (kind := _kind(call)) not in wrong:
            self._drop(kind)
        if not _reading(call):
            self._changes = digest(self._changes + call.call)

    def _drop(self, kind: str) -> None:
        self._left.pop(kind, None)
        for key in [key for key, failed in self._kinds.items() if failed == kind]:
            del self._kinds[key], self._times[key]

    def _note(self, failures: list[CallRecord]) -> None:
        key = digest("+".join(sorted({call.call for call in failures})) + self._changes)
        self._changes = ""
        self._compare(_kind(failures[0]), failures[0].said)
        if key in self._kinds or len(self._kinds) < MOST_ATTEMPTS:
            self._kinds[key] = _kind(failures[0])
            self._times[key] = self._times.get(key, 0) + 1

    def _compare(self, kind: str, said: str) -> None:
        """Begin anew where less is left to repair than the last time."""
        match = _LEFT.search(said)
        if match is None:
            return
        left = int(match[1])
        if left < self._left.get(kind, left):
            self._drop(kind)
        if kind in self._left or len(self._left) < MOST_ATTEMPTS:
            self._left[kind] = left

    def _forget(self) -> None:
        self._kinds = {}
        self._left = {}
        self._times = {}
        self._changes = ""

    def state(self) -> dict[str, Any]:
        """Return everything."""
        return {
            "turn": self.turn,
            "consulted_at": self.consulted_at,
            "changes": self._changes,
            "kinds": self._kinds,
            "times": self._times,
            "left": self._left,
        }

    def load_state(self, state: dict[str, Any]) -> None:
        """Take back what `state` returned."""
        self.turn = state["turn"]
        self.consulted_at = state["consulted_at"]
        self._changes = state["changes"]
        self._kinds = dict(state["kinds"])
        self._times = dict(state["times"])
        self._left = dict(state["left"])


def _kind(call: CallRecord) -> str:
    """Return what a success must be of to count as progress: the tool, or the program in it."""
    return call.tool if call.command is None else f"{call.tool} {operation(call.command)}"


def _reading(call: CallRecord) -> bool:
    if call.command is not None:
        return reads_only(call.command)
    return bool(call.profile.read_only)
