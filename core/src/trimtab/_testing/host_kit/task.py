"""What a host is asked to do in a scenario, and what it tells of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from inspect import iscoroutinefunction
from typing import TYPE_CHECKING, Any, TypeVar, get_type_hints

import attrs

from trimtab._contract.tools import Tool, ToolResult
from trimtab._run.session import Session

if TYPE_CHECKING:
    from trimtab._prompt.template import Prompt
    from trimtab._types.limits import Deadline

T = TypeVar("T")


def _texts(value: Iterable[str]) -> tuple[str, ...]:
    return tuple(value)


@attrs.frozen
class Played:
    """How an agent ended.

    Args:
        text: its last text.
        history: all texts that the runtime keeps for the next turn.
        structured: the answer of its structured output, if that was asked for.
    """

    text: str = ""
    history: tuple[str, ...] = attrs.field(default=(), converter=_texts)
    structured: int | None = None


@attrs.define(eq=False)
class Task:
    """What the agent shall do.

    Args:
        prompt: the prompt whose providers guide it.
        session: where it is recorded.
        url: the service, without a path: OpenAI's clients want ``/v1`` behind it.
        tools: functions with type hints and a docstring that the agent has as tools.
        user: what the user says, message after message: each is a turn of one conversation.
        mode: ``"plain"``; ``"stream"``: through the streaming entry; ``"structured"``: it ends
            with an object of one field, ``answer: int``; ``"deny"``: the user refuses the call
            of ``look``; ``"interrupt"``: a tool ``ask(path)`` of the host's own stops the agent to
            ask the user, who says ``"yes"`` after `restarted`; ``"around"``: with the runtime's
            own middleware around it, such as retries of ``flaky`` and limits; ``"subagent"``: with
            a subagent ``scout`` that has the same tools; ``"compact"``: with the runtime's own
            shortening of long histories.
        wire: the service's dialect: ``"openai"`` (Chat Completions), ``"responses"``,
            ``"anthropic"`` or ``"gemini"``.
        conversation: the name of the conversation.
        guided: if false, build the agent without trimtab.
        deadline: the time limit, if there is one.
        timeout: seconds that a provider may take.
        max_turns: the limit of turns to give the runtime, if any.
        made: what `once` has returned, by name; shared by the tasks of a scenario.
    """

    prompt: Prompt[Any]
    session: Session
    url: str
    tools: list[Callable[..., Any]]
    user: tuple[str, ...] = ("Please do the task.",)
    mode: str = "plain"
    wire: str = "openai"
    conversation: str = "conversation"
    guided: bool = True
    deadline: Deadline | None = None
    timeout: float | None = 1.0
    max_turns: int | None = None
    made: dict[str, Any] = attrs.field(factory=dict)

    def once(self, make: Callable[[], T], name: str = "agent") -> T:
        """Return what `make` returns; the same object for all conversations of a scenario.

        Args:
            make: builds the agent.
            name: what it builds, if there are several.
        """
        if name not in self.made:
            self.made[name] = make()
        made: T = self.made[name]
        return made

    def as_tools(self) -> list[Tool[Any, Any]]:
        """Return the tools for a host that takes trimtab's own."""
        return [_as_tool(function) for function in self.tools]

    def restarted(self) -> Task:
        """Return the task as another process goes on with it: nothing made, the session restored.

        What the runtime itself stores, such as its checkpoints, is up to the host.
        """
        session = Session.restore(self.session.snapshot())
        for run in self.session._runs.values():  # an ended process holds no file
            run.stop_recording()
        self.session = session
        return attrs.evolve(self, session=session, made={})


def _as_tool(function: Callable[..., Any]) -> Tool[Any, Any]:
    name, described = function.__name__, function.__doc__ or ""
    fields = {k: attrs.field(type=v) for k, v in get_type_hints(function).items() if k != "return"}
    arguments = attrs.make_class(f"Arguments_of_{name}", fields, frozen=True)

    def handle(params: Any, *, context: object) -> Any:  # noqa: ARG001 - as tools are called
        return ToolResult.ok(function(**attrs.asdict(params, recurse=False)))

    async def ahandle(params: Any, *, context: object) -> Any:  # noqa: ARG001
        return ToolResult.ok(await function(**attrs.asdict(params, recurse=False)))

    return Tool(name, described, arguments, ahandle if iscoroutinefunction(function) else handle)
