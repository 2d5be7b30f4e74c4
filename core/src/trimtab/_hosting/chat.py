"""Driving runs through conversations: one, many of one agent, or a prompt brought to its end."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from threading import Lock
from typing import (
    TYPE_CHECKING,
    Any,
    Generic,
    Protocol,
    Self,
    TypedDict,
    TypeVar,
    runtime_checkable,
)

import attrs

from trimtab._contract.hosts import LOCAL_HOST, Host
from trimtab._events import DecisionPoint, Delivery, Evidence, Outcome, ToolCall
from trimtab._hosting.blocking import BlockingDriver, StopDecision
from trimtab._hosting.calls import contained, end_of
from trimtab._hosting.placement import REQUEST, RESULT, TOOLS
from trimtab._run.session import Session
from trimtab._types.errors import SessionError
from trimtab._types.limits import Budget, Deadline
from trimtab._types.options import as_instance, as_seconds, as_text, as_timeout, names_known
from trimtab._types.text import shown

if TYPE_CHECKING:
    from trimtab._contract.tools import RenderedPrompt
    from trimtab._prompt import Prompt
    from trimtab._types.limits import Heartbeat, Usage

T = TypeVar("T")


class Driver(BlockingDriver):
    """Reports one conversation to a run, and says what text to place where.

    Call `next_request` for every request, `responded` with what came back, `running` and
    `answered` for every tool call, `may_stop` after a response without calls. Twins with ``a`` in
    front ask the providers off the event loop. As a context manager the driver closes the run.

    Text is placed as the host of the run declares it: see `Host.delivery`. The methods may be
    called from several threads.

    A driver never raises into the user's agent: an id that it doesn't know (a step of the runtime
    that runs again, a call of other code), a second answer, and whatever goes wrong in trimtab
    itself are logged, and nothing is placed.

    Args:
        run: opened by ``session.open_run(prompt, host=…)``.
        timeout: seconds that a provider may take, on a worker thread; None asks on the caller's.
        strict: whether methods raise instead: for tests of a host.

    Raises:
        SessionError: the host declares that requests keep their text, and that other text of the
            next request is ephemeral.
    """

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        self.close(_reason(error))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, _: object, error: BaseException | None, __: object) -> None:
        self.close(_reason(error))

    async def arender(self, *params: Any) -> RenderedPrompt[Any]:
        """As `render`, off the event loop."""
        return await off_loop(self.asks(DecisionPoint.PRE_RENDER), self.render, *params)

    async def anext_request(self, **how: Any) -> str:
        """As `next_request`, off the event loop."""
        return await off_loop(self.asks(REQUEST), self.next_request, **how)

    async def abefore_tools(self, **how: Any) -> str:
        """As `before_tools`, off the event loop."""
        return await off_loop(self.asks(TOOLS), self.before_tools, **how)

    async def aanswered(self, call: ToolCall | str, *result: Any, **facts: Any) -> str:
        """As `answered`, off the event loop."""
        return await off_loop(self._comments(), self.answered, call, *result, **facts)

    async def acomment(self, **how: Any) -> str:
        """As `comment`, off the event loop."""
        return await off_loop(self._comments(), self.comment, **how)

    async def amay_stop(self, text: str | None = None, **stop: Any) -> StopDecision:
        """As `may_stop`, off the event loop."""
        return await off_loop(True, self.may_stop, text, **stop)

    def _comments(self) -> bool:
        return self.asks(RESULT) or bool(self.run.prompt.table.feedback)


async def off_loop(busy: bool, call: Callable[..., T], *arguments: Any, **options: Any) -> T:
    """Call on a thread if a provider has to be asked, else here."""
    if not busy:
        return call(*arguments, **options)
    return await asyncio.to_thread(call, *arguments, **options)


def _reason(error: BaseException | None) -> str:
    if error is None:
        return "completed"
    outcome, text = end_of(error)
    return f"failed: {text}" if outcome is Outcome.ERROR else text


_OURS = ('<guidance source="', '<feedback source="')


@attrs.frozen
class Answer:
    """What a request says of a call: the message of a tool.

    Args:
        call_id: the call that it answers.
        result: what the tool answered, JSON-like or text.
        outcome: how the call ended.
        evidence: how the outcome is known.
    """

    call_id: str
    result: Any = None
    outcome: Outcome = Outcome.OK
    evidence: Evidence = Evidence.FLAG


class Chat(Driver):
    """A driver for a host that sees the requests and the responses of a conversation.

    Call `request` before every request and `response` with what came back; `may_stop` and `close`
    are those of `Driver`, and `running` may be used too, where the runtime lets a host stand
    around its tools. The answers of the calls are taken from the next request, so feedback goes
    with it too. They may be given again and again.

    PRE_RENDER guidance goes with the first request: the runtime renders its own prompt.

    Args:
        run, timeout, strict: as for `Driver`.
    """

    _rendered = False

    @contained("")
    def request(
        self, answers: Iterable[Answer] = (), user: str | Iterable[str] | None = None
    ) -> str:
        """Return the text that this request carries besides the conversation.

        Args:
            answers: the tools' messages in the request; those that are known already, and those
                of calls that no response asked for, are ignored.
            user: what the user newly said; see `user_said`. Text that trimtab has placed is none.
        """
        self.settle(answers)
        for said in [user] if isinstance(user, str) else user or ():
            if not said.lstrip().startswith(_OURS):
                self.user_said(said)
        first = not self.run.state.turns and not self._rendered
        if first and self._placement.way(DecisionPoint.PRE_RENDER) is Delivery.EPHEMERAL:
            self._rendered = True
            self._placement.ask(DecisionPoint.PRE_RENDER)
        return self.next_request()

    async def arequest(
        self, answers: Iterable[Answer] = (), user: str | Iterable[str] | None = None
    ) -> str:
        """As `request`, off the event loop."""
        busy = self._comments() or any(map(self.asks, (REQUEST, DecisionPoint.PRE_RENDER)))
        return await off_loop(busy, self.request, answers, user)

    def response(
        self,
        text: str = "",
        calls: Iterable[ToolCall] = (),
        usage: Usage | None = None,
        **more: Any,
    ) -> None:
        """Record a response; guidance about its calls goes with the next request.

        Args:
            text, calls, usage: as for `responded`.
            more: ``reasoning``, ``stop_reason``, ``model``, ``provider`` and ``at``, as for
                `responded`.
        """
        self.responded(text, calls, usage, **more)

    async def aresponse(
        self,
        text: str = "",
        calls: Iterable[ToolCall] = (),
        usage: Usage | None = None,
        **more: Any,
    ) -> None:
        """As `response`, off the event loop."""
        await off_loop(self.asks(TOOLS), self.response, text, calls, usage, **more)

    @contained(None)
    def settle(self, answers: Iterable[Answer]) -> None:
        """Record the answers of calls that are open; feedback goes with the next request.

        `request` does it too. A host calls this for answers that no request will carry, because
        the agent ends with them.

        Args:
            answers: as for `request`.
        """
        waiting = {call.call_id for call in self.open_calls} | {*self.run.state.running}
        for answer in answers:
            if not isinstance(answer, Answer):
                what = f"answers must hold Answer(call_id, result), not {shown(answer)}"
                raise SessionError(what)
            if answer.call_id in waiting:
                waiting.discard(answer.call_id)
                text = self.answered(
                    answer.call_id, answer.result, answer.outcome, evidence=answer.evidence
                )
                self._placement.carry(text)


IDLE_SECONDS = 3600.0
"""After an hour without a report a conversation's run is closed; it goes on when it is needed."""


@attrs.define(eq=False)
class _Held:
    chat: Chat
    session: Session
    used: float = 0.0


class DriverOptions(TypedDict, total=False):
    """What a host's own class takes as ``**options`` for `Drivers`, which describes it."""

    deadline: Deadline | float | None
    budget: Budget | None
    timeout: float | None
    strict: bool


@names_known()
@attrs.define(eq=False)
class Drivers:
    """Finds the driver of a conversation; opens its run, or opens it again.

    Agents are built once and serve many users at the same time, so a host asks for the driver with
    every report: ``drivers.of(conversation)``. May be called from several threads and loops.
    The id of a run is made of the prompt's name, the conversation and the subagent, so that a
    session which was saved finds it again.

    Args:
        prompt: the prompt of the agent, bound.
        session: where all conversations are recorded; or a function from a conversation's name to
            its session, e.g. one restored from a snapshot. None makes a session for each
            conversation, which is dropped with it.
        host: the runtime that the agent runs on.
        timeout, strict: as for `Driver`.
        deadline: of all conversations; as a number, seconds of each from its opening.
        budget: of each conversation.
        idle: seconds after which the run of a conversation that nobody asked for is closed.

    Raises:
        SessionError: an argument has the wrong type.
    """

    prompt: Prompt[Any]
    _session: Session | Callable[[str], Session] | None = attrs.field(default=None, alias="session")
    host: Host = LOCAL_HOST
    _timeout: float | None = attrs.field(default=1.0, kw_only=True, alias="timeout")
    _strict: bool = attrs.field(default=False, kw_only=True, alias="strict")
    _deadline: Deadline | float | None = attrs.field(default=None, kw_only=True, alias="deadline")
    _budget: Budget | None = attrs.field(default=None, kw_only=True, alias="budget")
    _idle: float = attrs.field(default=IDLE_SECONDS, kw_only=True, alias="idle")
    _lock: Any = attrs.field(init=False, factory=Lock)
    _held: dict[tuple[str, str | None], _Held] = attrs.field(init=False, factory=dict)

    def __attrs_post_init__(self) -> None:
        """Refuse what no run could be opened with, before an agent runs."""
        from trimtab._prompt import Prompt

        as_instance("prompt", self.prompt, Prompt, "write Prompt(template)")
        as_instance("host", self.host, Host)
        if not callable(self._session):
            as_instance("session", self._session, Session, optional=True)
        as_instance("budget", self._budget, Budget, optional=True)
        as_timeout(self._timeout)
        if not isinstance(self._deadline, Deadline):
            as_seconds("deadline", self._deadline)

    def of(
        self, conversation: str, agent_id: str | None = None, *, host: Host | None = None
    ) -> Chat:
        """Return the driver of a conversation, or of a subagent in it.

        Args:
            conversation: the runtime's name of it, such as a thread's id.
            agent_id: the subagent; None for the main agent.
            host: the runtime, with what is known of this agent's tools, if its run is opened;
                that of all conversations if None.

        Raises:
            SessionError: a name is not text.
        """
        key = (conversation, agent_id)
        with self._lock:
            held = self._held.get(key)
            if held is None or held.chat.run.state.closed:
                session = self._session_of(conversation) if held is None else held.session
                chat = self._open(session, conversation, agent_id, host or self.host)
                held = self._held[key] = _Held(chat, session)
            held.used = now = held.session.clock.monotonic()
            idle = [k for k, other in self._held.items() if now - other.used > self._idle]
            left = [self._held.pop(k) for k in idle]
        for other in left:
            other.chat.close("idle")
        return held.chat

    async def aof(
        self, conversation: str, agent_id: str | None = None, *, host: Host | None = None
    ) -> Chat:
        """As `of`, off the event loop if a run has to be opened."""
        held = self._held.get((conversation, agent_id))
        opens = held is None or held.chat.run.state.closed
        return await off_loop(opens, self.of, conversation, agent_id, host=host)

    def __len__(self) -> int:
        """Return how many drivers are held, those of closed runs included."""
        return len(self._held)

    def close(self, reason: str = "completed") -> None:
        """End the runs of all conversations, and forget them.

        Args:
            reason: why, for the record.
        """
        with self._lock:
            held, self._held = list(self._held.values()), {}
        for one in held:
            one.chat.close(reason)

    def _session_of(self, conversation: str) -> Session:
        if isinstance(self._session, Session):
            return self._session
        if self._session is not None:
            return self._session(conversation)
        known = next((h for key, h in self._held.items() if key[0] == conversation), None)
        return Session() if known is None else known.session

    def _open(self, session: Session, conversation: str, agent_id: str | None, host: Host) -> Chat:
        limit = self._deadline
        if limit is not None and not isinstance(limit, Deadline):
            limit = Deadline(limit, session.clock)
        names = (self.prompt.name, conversation, *([] if agent_id is None else [agent_id]))
        for word, name in zip(("prompt", "conversation", "agent_id"), names, strict=False):
            as_text(word, name)
        run = session.open_run(
            self.prompt,
            agent_id,
            "/".join(names),
            host=host,
            deadline=limit,
            budget=self._budget,
            timeout=self._timeout,
        )
        return Chat(run, timeout=self._timeout, strict=self._strict)


Output = TypeVar("Output")


@attrs.frozen
class PromptResponse(Generic[Output]):
    """How a prompt ended.

    Args:
        text: the final text, None if there was none.
        output: the structured output, None if the prompt asks for none.
        stop_reason: why the model's last response ended, in the service's words, e.g. ``"stop"``
            or ``"length"``; None if unknown.
        truncated: whether the service cut that response off or filtered it, so that `text` may
            lack its end.
    """

    text: str | None = None
    output: Output | None = None
    stop_reason: str | None = None
    truncated: bool = False


@runtime_checkable
class Adapter(Protocol):
    """Runs prompts on one agent runtime."""

    def evaluate(
        self,
        prompt: Prompt[Output],
        *,
        session: Session,
        deadline: Deadline | None = None,
        budget: Budget | None = None,
        heartbeat: Heartbeat | None = None,
    ) -> PromptResponse[Output]:
        """Run the prompt to its end.

        Args:
            prompt: with all its parameters bound.
            session: where everything is recorded.
            deadline: when to stop; None for no limit.
            budget: tokens, money and time that may be used; None for no limit.
            heartbeat: beaten while work goes on, or None.

        Raises:
            PromptEvaluationError: there is no valid end, e.g. structured output with open work.
        """
        ...

    async def aevaluate(
        self,
        prompt: Prompt[Output],
        *,
        session: Session,
        deadline: Deadline | None = None,
        budget: Budget | None = None,
        heartbeat: Heartbeat | None = None,
    ) -> PromptResponse[Output]:
        """As `evaluate`, without blocking the event loop."""
        ...
