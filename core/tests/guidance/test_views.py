"""What a provider can reach from its context changes nothing in the record."""

from __future__ import annotations

from typing import Any

from trimtab import (
    ClassificationResult,
    GuidanceContext,
    Prompt,
    PromptTemplate,
    Session,
    UserMessage,
)
from trimtab.testing import Call, Player

WRITES = {
    "apply", "attach_slice", "close", "close_turn", "compacted", "dispatch", "end", "fork_run",
    "model_responded", "open_run", "put", "record", "release", "restore", "set_deadline",
    "tool_finished", "tool_started", "use_profiles", "user_message",
}  # fmt: skip


class Climber:
    """Lists the writing methods that it reaches by public names."""

    name = category = "climber"

    def __init__(self) -> None:
        self.found: set[str] = set()
        self.seen: list[object] = []

    def classify(self, *, context: GuidanceContext) -> Any:
        self._climb(context, "context", 5)
        self._climb(context.session[UserMessage], "slice", 4)
        return ClassificationResult(relevant=False)

    def provide(self, *, context: GuidanceContext) -> Any:
        raise AssertionError("never relevant")

    def _climb(self, thing: Any, path: str, left: int) -> None:
        module = type(thing).__module__
        if not left or not module.startswith("trimtab") or any(thing is one for one in self.seen):
            return
        if isinstance(thing, Prompt | PromptTemplate):  # the client's own, and no part of a record
            return
        self.seen.append(thing)
        for name in dir(thing):
            if name.startswith("_"):
                continue
            value = getattr(thing, name)
            if callable(value):
                if name in WRITES:
                    self.found.add(f"{path}.{name}")
            elif isinstance(value, list | tuple):
                for item in value:
                    self._climb(item, f"{path}.{name}[]", left - 1)
            else:
                self._climb(value, f"{path}.{name}", left - 1)


def test_no_writing_method_is_reachable_from_a_context() -> None:
    climber = Climber()
    Player(guidance=[climber]).play([Call("read", {"n": n}) for n in range(3)])

    assert len(climber.seen) > 8
    assert climber.found == set()


def test_the_climber_finds_what_a_session_offers() -> None:
    climber = Climber()
    climber._climb(Session(), "session", 2)

    assert {"session.dispatch", "session.open_run"} <= climber.found
