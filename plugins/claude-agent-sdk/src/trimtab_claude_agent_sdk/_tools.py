"""Tools of a prompt as an in-process MCP server."""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import attrs

from trimtab import Tool, ToolContext, ToolError, ToolResult
from trimtab.hosting import RAISED, format_error, is_cancelled

if TYPE_CHECKING:
    from trimtab import Heartbeat, Run

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

    Args:
        run: whose session, prompt and deadline handlers get.
        heartbeat: for `ToolContext.beat`; beaten at the end of every call, too.

    Raises:
        ToolError: two tools share a name.
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
