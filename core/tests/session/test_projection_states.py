"""A session saves the state of a projection by the type that its `state` declares."""

from __future__ import annotations

import json
import logging
from typing import TYPE_CHECKING, Any

import attrs
import pytest

from trimtab import Session
from trimtab.trajectory import BaseProjection

if TYPE_CHECKING:
    from fractions import Fraction


@attrs.frozen
class Seen:
    """What a `Tools` projection has seen."""

    count: int = 0
    tools: frozenset[str] = frozenset()
    last: bytes = b""
    pairs: tuple[tuple[str, int], ...] = ()


class Tools(BaseProjection):
    """Counts calls and keeps the names of tools."""

    def __init__(self) -> None:
        self.seen = Seen()

    def call_ended(self, call: Any) -> None:
        seen = self.seen
        pairs = (*seen.pairs, (call.tool, seen.count))
        self.seen = Seen(seen.count + 1, seen.tools | {call.tool}, b"\xff", pairs)

    def state(self) -> Seen:
        return self.seen

    def load_state(self, state: Seen) -> None:
        self.seen = state


def saved(kit: Any, projection: Any) -> tuple[Any, dict[str, Any]]:
    """Return a run that `projection` follows, and the parsed snapshot after two calls."""
    run = kit.run()
    run.trajectory.attach("tools", projection)
    for tool in ("read", "write"):
        kit.call(run, tool)
    return run, json.loads(kit.session.snapshot())


def taken_back(kit: Any, run: Any, body: Any, projection: Any) -> Any:
    """Return the projection of the run that goes on from a snapshot."""
    session = Session.restore(json.dumps(body), clock=kit.clock)
    resumed = session.open_run(run.prompt, run_id=run.run_id)
    resumed.trajectory.attach("tools", projection)
    return resumed.trajectory.projection("tools")


def test_a_record_comes_back_as_a_record(kit: Any) -> None:
    run, body = saved(kit, Tools())
    again = taken_back(kit, run, body, Tools())

    assert again.seen == Seen(2, frozenset({"read", "write"}), b"\xff", (("read", 0), ("write", 1)))


@pytest.mark.parametrize(
    "state", [None, [], {"count": "2"}, {"tools": "read"}, {"pairs": [["read"]]}]
)
def test_a_state_that_does_not_fit_is_made_anew_from_the_record(
    kit: Any, caplog: Any, state: Any
) -> None:
    run, body = saved(kit, Tools())
    body["runs"][0]["feeds"]["projections"]["tools"] = state
    with caplog.at_level(logging.WARNING, "trimtab"):
        again = taken_back(kit, run, body, Tools())

    assert again.seen.count == 2
    assert "Tools does not fit" in caplog.text


def test_what_a_projection_changes_later_does_not_reach_its_saved_state(kit: Any) -> None:
    class Kept(BaseProjection):
        def __init__(self) -> None:
            self.tools: list[str] = []

        def call_ended(self, call: Any) -> None:
            self.tools.append(call.tool)

        def state(self) -> dict[str, Any]:
            return {"tools": self.tools}

        def load_state(self, state: dict[str, Any]) -> None:
            self.tools = state["tools"]

    projection = Kept()
    run, body = saved(kit, projection)
    projection.tools.append("never called")
    later = json.loads(kit.session.snapshot())

    assert body["runs"][0]["feeds"]["projections"]["tools"] == {"tools": ["read", "write"]}
    assert later["runs"][0]["feeds"]["projections"]["tools"]["tools"][-1] == "never called"
    fork = kit.session.fork_run(run)
    fork.trajectory.attach("tools", Kept())
    fork.trajectory.projection("tools").tools.clear()
    assert run.trajectory.projection("tools").tools == ["read", "write", "never called"]


def test_an_annotation_that_is_there_for_type_checkers_only_is_named(kit: Any) -> None:
    class Unread(Tools):
        def state(self) -> Fraction:  # type: ignore[override]
            raise NotImplementedError

    @attrs.define
    class Field(BaseProjection):
        part: Fraction | None = None

        def compacted(self) -> None: ...

    run = kit.run()
    for name, projection in {"Unread": Unread(), "Field": Field()}.items():
        run.trajectory.attach(name, projection)
        with pytest.raises(TypeError, match=rf"{name} can't be read: name 'Fraction'.*import"):
            run.state.feeds.feeds[name].save()


@attrs.define
class Listed(BaseProjection):
    """Keeps the names of tools, in fields of its own."""

    quiet: bool = True
    _tools: set[str] = attrs.field(factory=set)
    _last: bytes | None = None

    def call_ended(self, call: Any) -> None:
        self._tools.add(call.tool)
        self._last = call.tool.encode()
        self.quiet = False


@attrs.define
class Counted(Listed):
    """Counts calls as well."""

    count: int = 0
    unsaved = "as it was"

    def call_ended(self, call: Any) -> None:
        super().call_ended(call)
        self.count += 1


def test_the_fields_of_an_attrs_class_are_its_state(kit: Any) -> None:
    run, body = saved(kit, projection := Counted())
    projection.unsaved = "changed"
    assert body["runs"][0]["feeds"]["projections"]["tools"] == {
        "quiet": False,
        "tools": ["read", "write"],
        "last": {"$$bytes": "d3JpdGU="},  # it is marked in the state, and that in the snapshot
        "count": 2,
    }
    assert taken_back(kit, run, body, Counted()) == projection
    assert taken_back(kit, run, body, Counted()).unsaved == "as it was"


def test_a_field_that_a_saved_state_lacks_has_its_default(kit: Any) -> None:
    run, body = saved(kit, Counted())
    del body["runs"][0]["feeds"]["projections"]["tools"]["count"]
    assert taken_back(kit, run, body, Counted()).count == 0
