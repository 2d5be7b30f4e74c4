"""Tools of an agent: what a host offers to the model and calls for it."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

import attrs

from trimtab._types.errors import ToolError
from trimtab._types.options import function, misfit, names_known, text, yes_or_no
from trimtab._types.resources import Filesystem
from trimtab._types.text import as_text

if TYPE_CHECKING:
    from trimtab._session.record import Record
    from trimtab._types.limits import Deadline, Heartbeat
    from trimtab._types.resources import Resources


Params = TypeVar("Params")
if TYPE_CHECKING:
    from typing_extensions import TypeVar as DefaultTypeVar

    Output = DefaultTypeVar("Output", default=Any)
else:
    Output = TypeVar("Output")
Value = TypeVar("Value")
Params_contra = TypeVar("Params_contra", contravariant=True)


@names_known()
@attrs.frozen
class ToolResult(Generic[Value]):
    """What a tool answers; make it with `ok` or `error`.

    Args:
        success: whether the tool did what it was asked.
        message: what the model reads; if None, the value as JSON, or "ok" without a value.
        value: the typed answer.

    Raises:
        TypeError: `message` is not text.
    """

    success: bool
    message: str | None = attrs.field(default=None, validator=text(optional=True))
    value: Value | None = None

    @classmethod
    def ok(cls, value: Value | None = None, *, message: str | None = None) -> ToolResult[Value]:
        """Return the result of a tool that did what it was asked.

        Args:
            value: what it returns, JSON-like.
            message: what the model reads; the value if None.
        """
        return cls(True, message, value)

    @classmethod
    def error(cls, message: str, value: Value | None = None) -> ToolResult[Value]:
        """Return the result of a tool that failed.

        Args:
            message: tells the model why, and what to do.
            value: for the record; None if there is none.
        """
        return cls(False, message, value)

    def render(self) -> str:
        """Return what the model reads."""
        if self.message is not None:
            return self.message
        if self.value is None:
            return "ok" if self.success else "failed"
        return self.value if isinstance(self.value, str) else _as_json(self.value)


class BoundPrompt(Protocol):
    """What contexts and tools need of a prompt."""

    @property
    def name(self) -> str:
        """The prompt's name, ``ns/key`` unless given."""
        ...

    @property
    def resources(self) -> Resources:
        """Resources bound to the prompt."""
        ...


@attrs.frozen(kw_only=True)
class ToolContext:
    """What the handler of a tool may use.

    Attributes:
        session: the session of the run.
        prompt: the prompt of the run: its name and resources.
        deadline: the run's time limit, or None.
        heartbeat: receives `beat()`, or None.
        guidance: guidance about this call (PRE_TOOL_EXECUTION); empty if there is none.
        run_id: the run that the call belongs to; empty if unknown.
        agent_id: the subagent of that run; None for the main agent.
    """

    session: Record
    prompt: BoundPrompt
    deadline: Deadline | None = None
    heartbeat: Heartbeat | None = None
    guidance: str = ""
    run_id: str = ""
    agent_id: str | None = None

    @property
    def resources(self) -> Resources:
        """Resources bound to the prompt."""
        return self.prompt.resources

    @property
    def filesystem(self) -> Filesystem | None:
        """The filesystem resource, where one is bound."""
        return self.resources.get_optional(Filesystem)

    def beat(self) -> None:
        """Tell that work goes on; call it now and then in long operations."""
        if self.heartbeat is not None:
            self.heartbeat.beat()

    def expect(self, seconds: float) -> AbstractContextManager[object]:
        """Declare that no beat may come for `seconds`: ``with context.expect(600): …``.

        Raises:
            ValueError: `seconds` is not a finite number above 0.
        """
        if self.heartbeat is None:
            return nullcontext()
        return self.heartbeat.expect(seconds)


class ToolHandler(Protocol[Params_contra, Value]):
    """What runs when the model calls a tool: ``handler(params, *, context)``; may be async."""

    def __call__(
        self, params: Params_contra, /, *, context: ToolContext
    ) -> ToolResult[Value] | Awaitable[ToolResult[Value]]:
        """Do the work and answer."""
        ...


def _takes_a_call(tool: Any, _: object, handler: Any) -> None:
    wrong = misfit(handler, None, context=None)
    if wrong is not None:
        name = getattr(handler, "__name__", "")
        name = name if name.isidentifier() else "handler"
        raise TypeError(
            f"handler of the tool {tool.name!r} can't be called as handler(params, context=…): "
            f"{wrong}; write: def {name}(params, *, context): …"
        )


@names_known()
@attrs.frozen
class Tool(Generic[Params, Value]):
    """A tool that an agent may call.

    Args:
        name: what the model calls it.
        description: when and how to use it, for the model.
        params: the record of its arguments, see `json_schema`.
        handler: ``handler(params, *, context) -> ToolResult``, plain or ``async def``. Where no
            event loop runs (``evaluate``, ``complete``), each ``async def`` call gets one of its
            own: it opens its clients itself, or the prompt is evaluated with ``aevaluate``.
        sequential: calls run alone, in the order of the response: after the calls before them
            have ended, and before those behind them begin. For tools that change a state which
            other calls depend on.

    Raises:
        ToolError: a field of `params` has no counterpart in JSON, or a type that can't be resolved.
        TypeError, ValueError: another argument has the wrong type, or `name` is empty.
    """

    name: str = attrs.field(validator=text(needed=True))
    description: str = attrs.field(validator=text())
    params: type[Params]
    handler: ToolHandler[Params, Value] = attrs.field(validator=[function, _takes_a_call])
    sequential: bool = attrs.field(default=False, kw_only=True, validator=yes_or_no())

    def __attrs_post_init__(self) -> None:
        # What is offered can be read: a tool that the model can't call is refused here.
        _ = self.schema

    @property
    def schema(self) -> dict[str, Any]:
        """JSON Schema of the arguments."""
        from trimtab._types.schema import json_schema

        try:
            return json_schema(self.params)
        except ToolError as error:
            raise ToolError(f"tool {self.name!r}: {error}") from error

    def parse(self, arguments: Mapping[str, Any]) -> Params:
        """Return the arguments of a call as `params`.

        Raises:
            ToolError: they do not fit; the message is for the model: what is wrong where, and
                which fields there are.
        """
        from trimtab._types.schema import from_json

        try:
            return from_json(self.params, arguments, name="params")
        except ValueError as error:
            raise ToolError(f"{self.name}: {error}. {self.describe_arguments()}") from error

    def describe_arguments(self) -> str:
        """Return one line about the arguments: ``Arguments: path (str), limit (int, optional).``"""
        from trimtab._types.schema import describe_fields

        return f"Arguments: {describe_fields(self.params) or 'none'}."

    def call(
        self, arguments: Mapping[str, Any], *, context: ToolContext
    ) -> ToolResult[Value] | Awaitable[ToolResult[Value]]:
        """Parse the arguments and run the handler; await the answer of an ``async def``.

        Args:
            arguments: as the model gave them.
            context: what the handler gets.

        Raises:
            ToolError: the arguments do not fit. What the handler raises passes through.
        """
        return self.handler(self.parse(arguments), context=context)


@attrs.frozen
class RenderedPrompt(Generic[Output]):
    """A prompt with its parameters filled in.

    Args:
        text: all enabled sections, each under its ``## Title``.
        tools: the tools of the template and of the enabled sections.
        output_type: type of the structured output, None for free text.
    """

    text: str
    tools: tuple[Tool[Any, Any], ...] = ()
    output_type: type[Output] | None = None


def _as_json(value: object) -> str:
    from trimtab._types.schema import to_json

    try:
        return json.dumps(to_json(value), ensure_ascii=False, default=str)
    except (TypeError, ValueError, RecursionError):  # keys of other types, a value in itself
        return as_text(value)
