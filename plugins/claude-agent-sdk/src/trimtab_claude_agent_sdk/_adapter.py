"""Running prompts to their end through the Claude Agent SDK, their tools as an MCP server."""

from __future__ import annotations

import asyncio
import inspect
import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import attrs

from trimtab import (
    Prompt,
    PromptEvaluationError,
    PromptResponse,
    RenderedPrompt,
    Tool,
    ToolContext,
    ToolError,
    ToolResult,
)
from trimtab.events import CompletionStatus
from trimtab.hosting import RAISED, format_error, from_json, is_cancelled, json_schema, names_known
from trimtab_claude_agent_sdk._callbacks import (
    CLAUDE_AGENT_SDK,
    ClaudeAgentSDKClientConfig,
    check_prompts,
    matchers,
)
from trimtab_claude_agent_sdk._conversation import Conversation, Ending
from trimtab_claude_code.hooks import ClaudeCodeHooks

if TYPE_CHECKING:
    from claude_agent_sdk import ClaudeAgentOptions, ResultMessage

    from trimtab import Budget, Deadline, Heartbeat, Run, Session

SERVER = "trimtab"
Content = dict[str, Any]


def tool_names(tools: Iterable[Tool[Any, Any]]) -> list[str]:
    """Return what the model calls the tools, in the program's form."""
    return [f"mcp__{SERVER}__{tool.name}" for tool in tools]


def tool_server(
    run: Run, tools: Iterable[Tool[Any, Any]], heartbeat: Heartbeat | None = None
) -> dict[str, Any]:
    """Return ``ClaudeAgentOptions(mcp_servers=…)`` that offers `tools`; empty for none.

    The model sees them from the start, not only after a search for tools. Their calls are
    recorded by the hooks, like those of any other tool.
    """
    from claude_agent_sdk import create_sdk_mcp_server, tool

    context = ToolContext(
        session=run.session,
        prompt=run.prompt,
        deadline=run.deadline,
        heartbeat=heartbeat,
        run_id=run.run_id,
        agent_id=run.agent_id,
    )
    tools = tuple(tools)
    for name, times in Counter(each.name for each in tools).items():
        if times > 1:
            raise ToolError(f"{times} tools are called {name!r}; rename all but one")
    offered = [
        tool(each.name, each.description, each.schema)(Handler(each, context)) for each in tools
    ]
    if not offered:
        return {}
    server = create_sdk_mcp_server(SERVER, tools=offered)
    return {SERVER: {**server, "alwaysLoad": True}}


@attrs.frozen
class Handler:
    """Answers the calls of one tool; results and errors both become text for the model."""

    tool: Tool[Any, Any]
    context: ToolContext

    async def __call__(self, arguments: Any) -> Content:
        """Run one call: an ``async def`` handler right here, any other on a worker thread."""
        try:
            return self._rendered(await self._result(arguments))
        except ToolError as error:
            return _content(f"Input validation error: {error}", failed=True)
        except RAISED as error:
            if is_cancelled(error):
                raise
            return _content(format_error(error), failed=True)
        finally:
            self.context.beat()

    async def _result(self, arguments: Any) -> object:
        params = self.tool.parse(arguments)
        value = await _off_the_loop(self.tool.handler, params, self.context)
        return await value if inspect.isawaitable(value) else value

    def _rendered(self, result: object) -> Content:
        if not isinstance(result, ToolResult):
            raise TypeError(f"{self.tool.name} returned {type(result).__name__}, no ToolResult")
        return _content(result.render(), failed=not result.success)


async def _off_the_loop(handler: Callable[..., Any], params: Any, context: ToolContext) -> Any:
    """Call `handler` on a thread; one that is ``async def`` only hands out its coroutine there."""
    import anyio

    return await anyio.to_thread.run_sync(
        lambda: handler(params, context=context), abandon_on_cancel=True
    )


def _content(text: str, *, failed: bool) -> Content:
    return {"content": [{"type": "text", "text": text}], "is_error": failed}


Output = TypeVar("Output")

OPEN_WORK = "open work"
_WITHOUT_INSTALLED_HOOKS = {"TRIMTAB_CLAUDE_CODE": "off"}
"""Hooks that ``trimtab install claude-code`` has written would guide the session twice."""


@names_known()
@attrs.frozen(kw_only=True)
class ClaudeAgentSDKAdapter:
    """Runs prompts with Claude Code, through its SDK.

    Args:
        model: e.g. ``"claude-sonnet-5-5"``; the program's own choice where None.
        client_config: how the program is run.
    """

    model: str | None = None
    client_config: ClaudeAgentSDKClientConfig = attrs.field(factory=ClaudeAgentSDKClientConfig)

    def evaluate(
        self,
        prompt: Prompt[Output],
        *,
        session: Session,
        deadline: Deadline | None = None,
        budget: Budget | None = None,
        heartbeat: Heartbeat | None = None,
    ) -> PromptResponse[Output]:
        """Run the prompt to its end; blocks, so inside an event loop await `aevaluate`.

        Raises:
            PromptEvaluationError: as for `aevaluate`, or there is a running event loop.
        """
        limits: Any = {"deadline": deadline, "budget": budget, "heartbeat": heartbeat}
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return asyncio.run(self.aevaluate(prompt, session=session, **limits))
        raise PromptEvaluationError("evaluate() would block the event loop: await aevaluate()")

    async def aevaluate(
        self,
        prompt: Prompt[Output],
        *,
        session: Session,
        deadline: Deadline | None = None,
        budget: Budget | None = None,
        heartbeat: Heartbeat | None = None,
    ) -> PromptResponse[Output]:
        """Run the prompt to its end.

        When `deadline` or `budget` are used up, the agent is interrupted, and the response is its
        text so far. `PromptResponse.stop_reason` and the reason in `RunClosed` say how the run
        ended: ``"deadline"``, ``"budget: LIMIT"``, ``"open work"`` (checkers found some when the
        agent had been sent back often enough), else the service's own words.

        Raises:
            PromptEvaluationError: the program failed; or the prompt asks for structured output
                and there is none, or there is some while completion checkers find open work.
            UnsupportedPoint: a provider of the prompt would never be heard.
        """
        config = self.client_config
        guide = self._guide(prompt, session, deadline, budget)
        conversation_id = config.resume or str(uuid.uuid4())
        run = guide.open(conversation_id)
        assert run is not None, "every agent has a prompt here"
        reason = "completed"
        conversation = Conversation(
            run, lambda usage: guide.used(usage, conversation_id), heartbeat
        )
        try:
            rendered: RenderedPrompt[Output] = await asyncio.to_thread(
                run.render, timeout=config.provider_timeout
            )
            options = self._options(guide, run, rendered, conversation_id, heartbeat)
            ending = await _held(conversation, options, rendered.text)
            response = await self._response(run, rendered, ending)
            given_up = OPEN_WORK if response.stop_reason == OPEN_WORK else None
            reason = ending.exhausted or given_up or reason
            return response
        except BaseException as error:
            reason = f"{type(error).__name__}: {error}"
            raise
        finally:
            await asyncio.to_thread(guide.close, conversation_id, reason)

    def _guide(
        self,
        prompt: Prompt[Any],
        session: Session,
        deadline: Deadline | None,
        budget: Budget | None,
    ) -> ClaudeCodeHooks:
        config = self.client_config
        check_prompts((prompt, *config.subagents.values()))
        return ClaudeCodeHooks(
            session,
            lambda kind: config.subagents.get(kind or "", prompt),
            host=attrs.evolve(CLAUDE_AGENT_SDK, max_turns=config.options.get("max_turns")),
            deadline=deadline,
            budget=budget,
            checkers=config.checkers,
            provider_timeout=config.provider_timeout,
        )

    def _options(
        self,
        guide: ClaudeCodeHooks,
        run: Run,
        rendered: RenderedPrompt[Any],
        conversation_id: str,
        heartbeat: Heartbeat | None,
    ) -> ClaudeAgentOptions:
        from claude_agent_sdk import ClaudeAgentOptions

        config, given = self.client_config, dict(self.client_config.options)
        allowed = [*given.pop("allowed_tools", ()), *tool_names(rendered.tools)]
        offered = tool_server(run, rendered.tools, heartbeat)
        servers = _servers(given.pop("mcp_servers", {}), offered)
        # The program runs the hooks of one event side by side.
        hooks: dict[Any, list[Any]] = {**(given.pop("hooks", None) or {})}
        for event, ours in matchers(guide, heartbeat).items():
            hooks[event] = [*hooks.get(event, ()), *ours]
        own = {
            "model": self.model,
            "permission_mode": config.permission_mode,
            "cwd": config.cwd,
            "output_format": _output_format(rendered.output_type),
            "max_budget_usd": run.budget.max_cost if run.budget else None,
            "max_turns": run.budget.max_turns if run.budget else None,
            "include_partial_messages": run.budget is not None,
            "resume": config.resume,
            "session_id": None if config.resume else conversation_id,
        }
        return ClaudeAgentOptions(
            hooks=hooks,
            allowed_tools=allowed,
            mcp_servers=servers,
            env={**_WITHOUT_INSTALLED_HOOKS, **given.pop("env", {})},
            **{**own, **given},
        )

    async def _response(
        self, run: Run, rendered: RenderedPrompt[Output], ending: Ending
    ) -> PromptResponse[Output]:
        result = ending.result
        if ending.exhausted is None and (result is None or result.is_error):
            raise PromptEvaluationError(f"Claude Code did not finish: {_why(result)}")
        stopped = run.state.guidance.stop
        text = stopped.summary if stopped else (result.result if result else None) or ending.text
        told_reason = result.stop_reason if result else None
        reason, truncated = ending.exhausted or told_reason, ending.exhausted is not None
        if _output_format(rendered.output_type) is None:
            open_work = await self._verify(run, text)
            return PromptResponse(
                text, stop_reason=OPEN_WORK if open_work else reason, truncated=truncated
            )
        told = result.structured_output if result else None
        if told is None:
            why = ending.exhausted or (stopped.summary if stopped else "the agent gave none")
            raise PromptEvaluationError(f"{run.prompt.name}: no structured output: {why}")
        output = _parsed(rendered, told)
        open_work = await self._verify(run, output)
        if open_work:
            raise PromptEvaluationError(
                f"{run.prompt.name}: there is structured output, but work is open: {open_work}"
            )
        return PromptResponse(text, output, reason, truncated)

    async def _verify(self, run: Run, output: Any) -> str | None:
        """Ask the checkers once more, for the record; return what is open, None for nothing."""
        checked = await run.acheck_completion(
            output=output, extra=self.client_config.checkers, final=True
        )
        return checked.feedback if checked.status is CompletionStatus.INCOMPLETE else None


async def _held(conversation: Conversation, options: ClaudeAgentOptions, text: str) -> Ending:
    from claude_agent_sdk import ClaudeSDKError

    try:
        return await conversation.hold(options, text)
    except ClaudeSDKError as error:
        raise PromptEvaluationError(f"Claude Code failed: {error}") from error


def _servers(given: Any, ours: Mapping[str, Any]) -> Any:
    """Return the MCP servers of both; a file of servers can't be joined."""
    if not isinstance(given, Mapping):
        if ours:
            raise ToolError(
                f"options['mcp_servers'] is {given!r}: give a dict of servers, for the prompt's "
                "tools join them"
            )
        return given
    if given.keys() & ours.keys():
        raise ToolError(
            f"options['mcp_servers']: {SERVER!r} holds the prompt's tools; rename yours"
        )
    return {**given, **ours}


def _output_format(output_type: type[Any] | None) -> dict[str, Any] | None:
    if output_type is None or output_type is str:
        return None
    return {"type": "json_schema", "schema": json_schema(output_type)}


def _parsed(rendered: RenderedPrompt[Output], told: Any) -> Output:
    assert rendered.output_type is not None
    try:
        return from_json(rendered.output_type, told, name="output")
    except ValueError as error:
        raise PromptEvaluationError(f"the structured output does not fit: {error}") from error


def _why(result: ResultMessage | None) -> str:
    if result is None:
        return "it ended without a result"
    details = "; ".join(result.errors or ()) or result.result or "no details"
    return f"{result.subtype}: {details}"
