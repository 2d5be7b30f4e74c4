"""The record of the plans of one run: the newest, their versions, what changed them."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Protocol, TypeVar, cast

import attrs

from trimtab import Event, Plan, PlanStep, Slice
from trimtab_planning._events import PlanAuthored, PlanChange, PlanUpdated, ReflectionAdded
from trimtab_planning._plan_calls import is_plan_tool
from trimtab_planning._plans import PlanDiff, diff

E = TypeVar("E", bound=Event)
T = TypeVar("T")
COMPLETED, ABANDONED = "completed", "abandoned"


class Readable(Protocol):
    """A session as far as it is read: a `Session`, or what a provider sees of one."""

    def __getitem__(self, kind: type[T], /) -> Slice[T]:
        """Return the records of `kind`."""
        ...


class Writable(Readable, Protocol):
    """A session to which records can be added."""

    @property
    def lock(self) -> AbstractContextManager[None]:
        """Keeps what is read and what is written together."""
        ...

    def dispatch(self, event: object, /) -> None:
        """Add one record."""
        ...


def current_plan(session: Readable, run_id: str) -> Plan | None:
    """Return the newest plan of a run, or of the whole session; None if there is none.

    Args:
        session: where plans are kept.
        run_id: the run.
    """
    plans = session[Plan]
    latest = plans.latest()
    if latest is None or latest.run_id in ("", run_id):
        return latest
    own = plans.where(lambda plan: plan.run_id in ("", run_id))
    return own[-1] if own else None


@attrs.frozen
class PlanHistory:
    """Reads the plans of one run.

    Args:
        session: where the plans are kept.
        run_id: the run that they belong to.
    """

    session: Readable
    run_id: str

    @property
    def current(self) -> Plan | None:
        """The newest plan, whatever its status; None before the first."""
        return current_plan(self.session, self.run_id)

    @property
    def active(self) -> Plan | None:
        """The newest plan where it is neither completed nor abandoned."""
        plan = self.current
        return None if plan is None or plan.status in (COMPLETED, ABANDONED) else plan

    @property
    def history(self) -> tuple[Plan, ...]:
        """The last state of each version of the current plan, oldest first."""
        plan = self.current
        versions: dict[str, Plan] = {}
        for item in self.session[Plan].where(lambda item: item.run_id == self.run_id):
            if plan is not None and item.plan_id == plan.plan_id:
                versions[item.version] = item
        return tuple(versions.values())

    @property
    def reflections(self) -> tuple[ReflectionAdded, ...]:
        """The reflections of the run, oldest first."""
        return self._own(ReflectionAdded)

    def version(self, version: str) -> Plan:
        """Return the last state of a version of the current plan.

        Raises:
            ValueError: there is no such version.
        """
        known = {plan.version: plan for plan in self.history}
        if version not in known:
            names = ", ".join(known) or "none"
            raise ValueError(f"there is no version {version!r:.40}; versions are {names}")
        return known[version]

    def diff(self, before: str, after: str) -> PlanDiff:
        """Return how two versions of the current plan differ.

        Args:
            before, after: the versions.
        """
        return diff(self.version(before), self.version(after))

    @property
    def mirrors(self) -> bool:
        """Whether the current plan was read from a tool of the host."""
        event = self.last_change
        return event is not None and is_plan_tool(event.origin)

    @property
    def last_change(self) -> PlanAuthored | PlanUpdated | None:
        """The event that made the current plan what it is."""
        authored = self._own(PlanAuthored)
        updated = self._own(PlanUpdated)
        if updated and (not authored or updated[-1].plan_id == authored[-1].plan_id):
            return updated[-1]
        return authored[-1] if authored else None

    def mirrored_steps(self) -> tuple[PlanStep, ...]:
        """Return the steps that the host's tool wrote last, an abandoned plan's included."""
        told = [event for event in self._own(PlanAuthored) if is_plan_tool(event.origin)]
        if not told:
            return ()
        plan_id = told[-1].plan_id
        later = [
            event.plan
            for event in self._own(PlanUpdated)
            if event.plan_id == plan_id and event.change is not PlanChange.ABANDONED
        ]
        return (later[-1] if later else told[-1].plan).steps

    def _own(self, kind: type[E]) -> tuple[E, ...]:
        return self.session[kind].where(lambda event: event.run_id == self.run_id)


@attrs.frozen
class PlanRecord(PlanHistory):
    """Adds to what is recorded of the plans of one run.

    Args:
        session, run_id: as for `PlanHistory`; the session may be read-only if `sink` is given.
        prompt_name, agent_id: of the run.
        sink: takes the new records instead of the session.
    """

    prompt_name: str = ""
    agent_id: str | None = None
    sink: Callable[[object], None] | None = attrs.field(default=None, kw_only=True)

    def note(self, kind: type[E], **fields: Any) -> E:
        """Record one event of the run.

        Args:
            kind: its class.
            fields: all but those of `Event`.
        """
        event = kind(**fields, **self._stamp())
        self._dispatch(event)
        return event

    def _dispatch(self, record: object) -> None:
        if self.sink is not None:
            self.sink(record)
        else:
            cast("Writable", self.session).dispatch(record)

    def _locked(self) -> AbstractContextManager[None]:
        """Return the lock that keeps what is read and what is written together."""
        return nullcontext() if self.sink is not None else cast("Writable", self.session).lock

    def _stamp(self) -> dict[str, Any]:
        return {
            "run_id": self.run_id,
            "prompt_name": self.prompt_name,
            "agent_id": self.agent_id,
        }
