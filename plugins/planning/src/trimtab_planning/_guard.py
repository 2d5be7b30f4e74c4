"""Tools that refuse a call which leaves the plan, on every host that runs a prompt's tools."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Iterable
from typing import Any

import attrs

from trimtab import Tool, ToolContext, ToolResult
from trimtab_planning._book import PlanBook
from trimtab_planning._names import planning_tool
from trimtab_planning._rules import breach
from trimtab_planning._texts import breach_text, call_words


def guarded(
    tools: Iterable[Tool[Any, Any]], *, free: Iterable[str] = ()
) -> tuple[Tool[Any, Any], ...]:
    """Return `tools` so that each refuses a call before there is a plan, or outside its step.

    A refused call does not run; the agent reads why and what to do instead, as an error of the
    tool.

    Args:
        tools: what the agent may call; tools that keep plans are left as they are.
        free: names and namespaces of tools that need no plan.
    """
    tools, free = tuple(tools), tuple(free)
    names = frozenset(tool.name for tool in tools)
    return tuple(attrs.evolve(tool, handler=_guard(tool, free, names)) for tool in tools)


def _guard(tool: Tool[Any, Any], free: tuple[str, ...], names: frozenset[str]) -> Any:
    called = getattr(tool.handler, "__call__", None)  # noqa: B004 - an object with an async __call__
    waits = inspect.iscoroutinefunction(tool.handler) or inspect.iscoroutinefunction(called)
    return (_AsyncGuarded if waits else _Guarded)(tool, free, names)


@attrs.frozen
class _Guarded:
    tool: Tool[Any, Any]
    free: tuple[str, ...]
    tools: frozenset[str]

    def __call__(self, params: Any, /, *, context: ToolContext) -> Any:
        refusal = self.refusal(params, context)
        return refusal or self.tool.handler(params, context=context)

    def refusal(self, params: Any, context: ToolContext) -> ToolResult[Any] | None:
        found = breach(PlanBook.for_tool(context).current, self.tool.name, free=self.free)
        if found is None:
            return None
        words = call_words(self.tool.name, _given(params))
        tools = self.tools if planning_tool(self.tools) else None
        return ToolResult.error(breach_text(found, words, tools, pending=True))


@attrs.frozen
class _AsyncGuarded(_Guarded):
    async def __call__(self, params: Any, /, *, context: ToolContext) -> Any:
        refusal = self.refusal(params, context)
        if refusal is not None:
            return refusal
        answer: Any = self.tool.handler(params, context=context)
        return await answer


def _given(params: Any) -> dict[str, Any]:
    if attrs.has(type(params)):
        return attrs.asdict(params)
    return dataclasses.asdict(params) if dataclasses.is_dataclass(params) else {}  # type: ignore[arg-type]
