"""What a provider can reach from its context changes nothing in the record."""

from __future__ import annotations

from enum import Enum
from typing import Any

from trimtab import (
    ClassificationResult,
    GuidanceContext,
    ManualClock,
    Prompt,
    PromptTemplate,
    Session,
)
from trimtab.events import UserMessage
from trimtab_testing import Call, Player

WRITES = {
    "apply", "attach_slice", "close", "close_turn", "compacted", "dispatch", "end", "fork_run",
    "model_responded", "open_run", "put", "record", "release", "restore", "set_deadline",
    "tool_finished", "tool_started", "use_profiles", "user_message",
}  # fmt: skip
OTHER = object()


class Climber:
    """Lists the writing methods that it reaches by public names, and what it can assign."""

    name = category = "climber"

    def __init__(self) -> None:
        self.found: set[str] = set()
        self.assigned: set[str] = set()
        self.seen: list[object] = []

    def classify(self, *, context: GuidanceContext) -> Any:
        self._climb(context, "context", 5)
        self._climb(context.session[UserMessage], "slice", 4)
        for call in context.recent_tool_calls(2):
            self._climb(call, "call", 4)
        return ClassificationResult(relevant=False)

    def provide(self, *, context: GuidanceContext) -> Any:
        raise AssertionError("never relevant")

    def _climb(self, thing: Any, path: str, left: int) -> None:
        module = type(thing).__module__
        if not left or not module.startswith("trimtab") or any(thing is one for one in self.seen):
            return
        # The prompt and the clock are the client's own, and no part of a record.
        if isinstance(thing, Enum | ManualClock | Prompt | PromptTemplate):
            return
        self.seen.append(thing)
        for name in dir(thing):
            if name.startswith("_"):
                continue
            value = getattr(thing, name)
            self._assign(thing, name, value, path)
            if callable(value):
                if name in WRITES:
                    self.found.add(f"{path}.{name}")
            elif isinstance(value, list | tuple):
                for item in value:
                    self._climb(item, f"{path}.{name}[]", left - 1)
            else:
                self._climb(value, f"{path}.{name}", left - 1)

    def _assign(self, thing: Any, name: str, value: object, path: str) -> None:
        """Try to assign one attribute, in every way that Python has for it."""
        for write in (setattr, type(thing).__setattr__):
            try:
                write(thing, name, OTHER)  # pyright: ignore[reportCallIssue]
            except (AttributeError, TypeError):
                continue
            self.assigned.add(f"{path}.{name}")
            object.__setattr__(thing, name, value)


def test_no_writing_method_is_reachable_from_a_context() -> None:
    climber = Climber()
    Player(guidance=[climber]).play([Call("read", {"n": n}) for n in range(3)])

    assert len(climber.seen) > 8
    assert climber.found == set()
    assert climber.assigned == set()
    assert {"ToolInvoked", "GuidanceContext", "SessionView"} <= {
        type(one).__name__ for one in climber.seen
    }


def test_the_climber_finds_what_a_session_offers() -> None:
    climber = Climber()
    climber._climb(Session(), "session", 2)

    assert {"session.dispatch", "session.open_run"} <= climber.found
    assert {"session.clock", "session.lock"} <= climber.assigned
