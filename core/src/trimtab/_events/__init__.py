"""Events of a run, its decision points, what hosts ask, and the provenance of nudges."""

from __future__ import annotations

from datetime import datetime
from enum import Enum, StrEnum
from typing import Any, ClassVar

import attrs

from trimtab._types.limits import Usage
from trimtab._types.text import reduced, shown


class ProviderKind(StrEnum):
    """What a provider does; also the last part of its entry-point group."""

    GUIDANCE = "guidance"
    FEEDBACK = "feedback"
    COMPLETION = "completion"
    RECORDER = "recorders"


@attrs.frozen
class Provenance:
    """Where the words of a provider come from; stands on every event that it caused.

    Args:
        name: the entry name, or the provider's own name where it was given as an object.
        kind: what it does.
        distribution: the installed package, normalised; None for an object made by the caller.
        version: the package's version; None if unknown.
    """

    name: str
    kind: ProviderKind
    distribution: str | None = None
    version: str | None = None

    @property
    def key(self) -> str:
        """Kind and name, by which the provider's failures are counted."""
        return f"{self.kind}:{self.name}"

    @property
    def full_name(self) -> str:
        """The long form ``distribution:name``."""
        return f"{self.distribution}:{self.name}" if self.distribution else self.name


class DecisionPoint(Enum):
    """Where guidance can be asked for."""

    __hash__ = object.__hash__  # Enum's own is a function in Python; points key every decision
    PRE_RENDER = "pre_render"
    PRE_TOOL_SELECTION = "pre_tool_selection"
    PRE_TOOL_EXECUTION = "pre_tool_execution"
    POST_TOOL_RESULT = "post_tool_result"
    PRE_RESPONSE = "pre_response"


class Delivery(StrEnum):
    """How a host can place text at a point."""

    EPHEMERAL = "ephemeral"
    PERSISTED = "persisted"
    REFUSAL = "refusal"
    NONE = "none"


class Outcome(StrEnum):
    """How a tool call ended, in one vocabulary for every host."""

    OK = "ok"
    ERROR = "error"
    DENIED = "denied"
    INVALID = "invalid"
    INTERRUPTED = "interrupted"


class CallOrigin(StrEnum):
    """Who asked for a tool call."""

    MODEL = "model"
    USER = "user"
    HARNESS = "harness"


# Bound once for the path of every call: Python looks members up by a descriptor.
OK, DENIED, INTERRUPTED = Outcome.OK, Outcome.DENIED, Outcome.INTERRUPTED
MODEL, HARNESS = CallOrigin.MODEL, CallOrigin.HARNESS


class Evidence(StrEnum):
    """How the outcome is known: stated by the host, derived by the adapter, or not at all."""

    FLAG = "flag"
    DERIVED = "derived"
    UNKNOWN = "unknown"


@attrs.frozen
class ToolCall:
    """A call as the model asked for it.

    Args:
        tool: the tool's name.
        params: its arguments, JSON-like.
        call_id: the host's id; unique in the run.

    Raises:
        TypeError: `tool` or `call_id` is no text.
    """

    tool: str
    params: Any = attrs.field(factory=dict)
    call_id: str = ""

    def __attrs_post_init__(self) -> None:
        if self.tool.__class__ is not str or self.call_id.__class__ is not str:
            for name, value in (("tool", self.tool), ("call_id", self.call_id)):
                if not isinstance(value, str):
                    raise TypeError(f"{name} of a ToolCall must be text, not {shown(value)}")


@attrs.frozen(kw_only=True, eq=False, repr=False)
class Event:
    """What all events of a run share.

    They are compared and shown by the methods here: ``eq=False, repr=False`` keeps attrs from
    writing, and Python from compiling, the same for each kind of them at every start.

    Args:
        prompt_name: name of the prompt whose run it belongs to.
        run_id: the run; empty until the session has put the event into a run.
        agent_id: the subagent, where there is one.
        at: when, aware UTC; stamped by the session if None.
        elapsed: monotonic seconds since the run was opened; None if unknown.

    A class of events that come with every call sets ``keep_newest = True``: a session keeps the
    newest of them only, as many as its `keep` says.
    """

    keep_newest: ClassVar[bool] = False
    prompt_name: str = ""
    run_id: str = ""
    agent_id: str | None = None
    at: datetime | None = None
    elapsed: float | None = None

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return attrs.astuple(self, recurse=False) == attrs.astuple(other, recurse=False)

    def __hash__(self) -> int:
        return hash((type(self), attrs.astuple(self, recurse=False)))

    def __repr__(self) -> str:
        fields = attrs.asdict(self, recurse=False).items()
        return f"{type(self).__qualname__}({', '.join(f'{k}={v!r}' for k, v in fields)})"


@attrs.frozen(kw_only=True, eq=False, repr=False)
class RunOpened(Event):
    """A prompt was opened on the session by one agent.

    Args:
        resumed: whether the run was known already.
        forked_from: the run that this one branched off; empty if it did not.
        forked_at: ended calls that both have in common.
    """

    resumed: bool = False
    forked_from: str = ""
    forked_at: int = 0


@attrs.frozen(kw_only=True, eq=False, repr=False)
class RunClosed(Event):
    """The run ended; its record stays.

    Args:
        reason: why, in the host's words.
    """

    reason: str = ""


@attrs.frozen(kw_only=True, eq=False, repr=False)
class UserMessage(Event):
    """A message of the user, or of what drives the agent.

    Args:
        text: what it says.
        notification: made by the harness, e.g. a finished background task; it can change the
            world but is no new request.
    """

    text: str = ""
    notification: bool = False


@attrs.frozen(kw_only=True, eq=False, repr=False)
class ModelResponded(Event):
    """One response of the model: it opens a turn.

    Args:
        text: what it said; empty for a response of calls only.
        reasoning: its visible thinking.
        tool_calls: all calls that it asked for.
        usage: tokens and cost of this response; None if the host does not say.
        stop_reason: why the service ended it, in the service's words; None if unknown.
        model: which model answered, as the service says, or as it was asked for; empty if unknown.
        provider: whose service it is, e.g. ``"openai"``; empty if unknown.
        started: when the request was sent, aware UTC; None if unknown.
    """

    keep_newest = True
    turn: int | None = None
    text: str = ""
    reasoning: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    usage: Usage | None = None
    stop_reason: str | None = None
    model: str = ""
    provider: str = ""
    started: datetime | None = None


@attrs.frozen(kw_only=True, eq=False, repr=False)
class ToolStarted(Event):
    """A tool call is about to run.

    Args:
        tool: the tool's name.
        params: its arguments, JSON-like.
        call_id: the host's id of the call, unique in the run.
        turn: the turn it belongs to; None makes it a turn of its own.
        caller: who asked for it.
    """

    keep_newest = True
    tool: str
    params: Any = attrs.field(factory=dict, converter=reduced)
    call_id: str = ""
    turn: int | None = None
    caller: CallOrigin = CallOrigin.MODEL


@attrs.frozen(kw_only=True, eq=False, repr=False)
class ToolInvoked(Event):
    """One attempted tool call, ended, whatever became of it.

    Args:
        tool: the tool's name.
        params: its arguments, JSON-like.
        call_id: the host's id of the call, unique in the run.
        turn: the turn it belongs to; None makes it a turn of its own.
        result: what the tool answered, JSON-like or text.
        outcome: how it ended; `evidence` says how that is known.
        error: the error's text, where it failed.
        started: when it began, aware UTC; None if unknown.
        duration: seconds; None if unknown.
        caller: who asked for it.
        poll: the host declares it a poll (True), no poll (False) or says nothing (None).
    """

    tool: str
    params: Any = attrs.field(factory=dict, converter=reduced)
    result: Any = attrs.field(default=None, converter=reduced)
    call_id: str = ""
    turn: int | None = None
    outcome: Outcome = Outcome.OK
    evidence: Evidence = Evidence.FLAG
    error: str | None = None
    started: datetime | None = None
    duration: float | None = None
    caller: CallOrigin = CallOrigin.MODEL
    poll: bool | None = None

    @property
    def failed(self) -> bool:
        """Whether the tool ran, or was to run, and reported a failure."""
        return self.outcome in (Outcome.ERROR, Outcome.INVALID)


@attrs.frozen(kw_only=True, eq=False, repr=False)
class CompactionHappened(Event):
    """The host shortened the model's history; the run's own record is untouched.

    Args:
        summary: what took the place of the history; empty if unknown.
    """

    summary: str = ""


# What hosts ask a run, as recorders are told; the session keeps none of it.


@attrs.frozen(kw_only=True, eq=False, repr=False)
class Question(Event):
    """A host asked the run something.

    Args:
        deadline: seconds allowed and seconds used, or None without a deadline.
    """

    deadline: tuple[float, float] | None = None


@attrs.frozen(kw_only=True, eq=False, repr=False)
class GuidanceAsked(Question):
    """A host asked for guidance.

    Args:
        decision_point: where.
        pending: calls about to run.
        delivery: how the text is placed this time; as the host declares if None.
        replayed: the decision was made before, by a run that is no longer known.
    """

    decision_point: DecisionPoint
    pending: tuple[ToolCall, ...] = ()
    delivery: Delivery | None = None
    replayed: bool = False


@attrs.frozen(kw_only=True, eq=False, repr=False)
class FeedbackAsked(Question):
    """A host asked for feedback.

    Args:
        replayed: as for `GuidanceAsked`.
    """

    replayed: bool = False


@attrs.frozen(kw_only=True, eq=False, repr=False)
class CompletionAsked(Question):
    """A host asked whether the agent may stop.

    Args:
        output, stop_reason, background_work, awaiting_user, api_error, final: as for
            `Run.check_completion`.
        extra: names of the client's own checkers.
    """

    output: Any = None
    stop_reason: str | None = None
    background_work: bool = False
    awaiting_user: bool = False
    api_error: str | None = None
    final: bool = False
    extra: tuple[str, ...] = ()


@attrs.frozen(kw_only=True, eq=False, repr=False)
class PromptRendered(Event):
    """The prompt was rendered; recorders see it, the session does not keep it.

    Args:
        text: what the model reads.
    """

    text: str


@attrs.frozen
class ResultDigest:
    """What is left of an old result.

    Args:
        length: of the result, in characters.
        digest: of the result.
    """

    length: int
    digest: str
