"""A recorded run as the replay reads it: events in order, their numbers and times."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, runtime_checkable

import attrs

from trimtab import ManualClock, ToolInvoked, TrimtabError
from trimtab.events import CompactionHappened, ModelResponded, UserMessage

if TYPE_CHECKING:
    from trimtab_replay._transcript import Transcript


class ReplayError(TrimtabError):
    """A recording can't be read or replayed; the message names the file and the remedy."""


@attrs.frozen(kw_only=True)
class StopRequest:
    """The agent wants to stop.

    Args:
        plan: the plan as recorded, steps in their own shape; None if none is recorded.
        background_tasks: work in flight, as the host told it.
        awaiting_user: the agent asked the user and waits for the answer.
        checker_error: what the host's own checker died of.
        deadline_remaining: seconds left; None if unknown.
        stop_hook_active: the host's flag, recorded and not trusted.
        api_error: the turn ended in a failure of the model's API.
    """

    plan: tuple[Any, ...] | None = None
    background_tasks: tuple[Any, ...] = ()
    awaiting_user: bool = False
    checker_error: str | None = None
    deadline_remaining: float | None = None
    stop_hook_active: bool | None = None
    api_error: str | None = None


@attrs.frozen(kw_only=True)
class RunEnd:
    """The run ended, and the format says so.

    Args:
        reason: the format's own word, e.g. ``"submitted"`` or ``"max_steps"``.
        plan: the plan as recorded; None if none is recorded.
        stop_seen: whether a stop came before it; None if unknown.
    """

    reason: str = ""
    plan: tuple[Any, ...] | None = None
    stop_seen: bool | None = None


@attrs.frozen(kw_only=True)
class RunBoundary:
    """The run closes here and another opens on the same session.

    Args:
        prompt: name of the next run's prompt; empty for the same prompt.
    """

    prompt: str = ""


@attrs.frozen(kw_only=True)
class Idle:
    """Nothing happened for `seconds`."""

    seconds: float


@attrs.frozen(kw_only=True)
class Unknown:
    """An item that the reader passes through without a meaning for the replay.

    Args:
        kind: the format's own word.
        data: the item as recorded.
    """

    kind: str
    data: Mapping[str, Any] = attrs.field(factory=dict)


Item = (
    UserMessage
    | ModelResponded
    | ToolInvoked
    | CompactionHappened
    | StopRequest
    | RunEnd
    | RunBoundary
    | Idle
    | Unknown
)


class RecordedItem(NamedTuple):
    """One item and where in the recording it stands.

    Every call is announced by a `ModelResponded` that holds it, except a call whose `caller` is
    not the model.

    Args:
        item: what happened.
        call: 0-based index of the last recorded tool call once the item has happened, −1 before
            the first. In the cases format: index of the item, as its verdicts count.
    """

    item: Item
    call: int


@attrs.frozen(kw_only=True)
class Said:
    """What a provider said when the run was recorded, or would have said.

    Args:
        provider: its name.
        state: what became of it, e.g. ``"delivered"``, ``"in shadow"`` or ``"held back"``.
        text: the words; empty if they are not known.
        reason: why, or why not.
        turn, call: as recorded: index of the turn and of the last ended call, −1 before the first.
        at: when; None if unknown.
    """

    provider: str
    state: str
    text: str = ""
    reason: str = ""
    turn: int = -1
    call: int = -1
    at: datetime | None = None


@attrs.frozen(kw_only=True)
class Recording:
    """One recorded run of one agent.

    Args:
        id: the session's id, else the document's own, else the file's stem; a sidechain that
            shares a file with its session adds ``/AGENT``.
        path: the file, as walked from the argument.
        reader: name of the reader.
        entries: what happened, in order. Read once, before the next recording is asked for.
        agent_id: the subagent; None for the main agent.
        profile: which host's tools these are, a key for tool profiles, e.g. ``"claude-code"``.
        parallel_calls: whether one response could hold several calls; None if unknown.
        tools: names of the tools that the agent had; None if unknown.
        said: what providers said then, in order; empty where the format does not hold it.
        meta: facts of the document's own: of a case everything but its items, of other formats
            what they say about model and result.
    """

    id: str = attrs.field(validator=attrs.validators.instance_of(str))
    path: str = attrs.field(validator=attrs.validators.instance_of(str))
    reader: str = attrs.field(validator=attrs.validators.instance_of(str))
    entries: Iterable[RecordedItem]
    agent_id: str | None = None
    profile: str = ""
    parallel_calls: bool | None = None
    tools: frozenset[str] | None = None
    said: tuple[Said, ...] = ()
    meta: Mapping[str, Any] = attrs.field(factory=dict)


@runtime_checkable
class TranscriptReader(Protocol):
    """What an entry point of group ``trimtab.transcripts`` must name (an object or a class)."""

    name: str

    def sniff(self, source: Transcript) -> float:
        """Return how sure it is that `source` is in its format: 0.0 not at all, 1.0 certain."""
        ...

    def read(self, source: Transcript) -> Iterator[Recording]:
        """Yield the recordings in `source`; what can't be read goes to ``source.skip``."""
        ...


@attrs.define
class RecordedTime:
    """Moves a clock along with the recorded times.

    Monotonic time follows the recorded monotonic seconds where there are such, else the steps
    of the recorded wall clock; neither ever takes it back.
    """

    clock: ManualClock = attrs.field(factory=ManualClock)
    started: datetime | None = None
    _last: datetime | None = None

    def begin(self, item: Item) -> None:
        """Set the wall clock to when the recording began, as its first item tells."""
        at, elapsed = _times(item)
        if at is not None:
            self.started = at - timedelta(seconds=elapsed or 0.0)
            self.clock.set_wall(self.started)

    def follow(self, item: Item, following: Item | None = None) -> None:
        """Move on to the moment of `item`.

        An item without times stands where the last stood; but a response without times came
        when its first call, the `following` item, began.
        """
        at, elapsed = _times(item)
        if at is None and elapsed is None and type(item) is ModelResponded:
            at, elapsed = _beginning(following)
        if elapsed is not None:
            self.clock.seconds = max(self.clock.seconds, elapsed)
        elif at is not None and self._last is not None:
            self.clock.seconds += max(0.0, (at - self._last).total_seconds())
        if at is not None:
            self._last = at
            self.clock.set_wall(at)


def _beginning(item: Item | None) -> tuple[datetime | None, float | None]:
    if type(item) is not ToolInvoked:
        return None, None
    seconds = item.duration or 0.0
    at = item.started or (item.at - timedelta(seconds=seconds) if item.at else None)
    return at, None if item.elapsed is None else item.elapsed - seconds


def _times(item: Item) -> tuple[datetime | None, float | None]:
    return getattr(item, "at", None), getattr(item, "elapsed", None)
