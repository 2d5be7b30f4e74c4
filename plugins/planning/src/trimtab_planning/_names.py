"""Names of the tools with which agents keep plans."""

from __future__ import annotations

from collections.abc import Iterable

from trimtab_planning._plan_calls import PLAN_TOOLS, is_plan_tool
from trimtab_signals import name_words

PLAN_SET, PLAN_UPDATE_STEP = "plan_set", "plan_update_step"
PLAN_REVISE, PLAN_REFLECT = "plan_revise", "plan_reflect"
OWN_TOOLS = (PLAN_SET, PLAN_UPDATE_STEP, PLAN_REVISE, PLAN_REFLECT)
_READING = ("tasklist", "taskget", "todoread")

NEUTRAL = frozenset(
    {"askuserquestion", "ask_user", "request_user_input", "enterplanmode", "exitplanmode", "think"}
)
"""Tools that ask the user or only think, in lower case: they need no plan."""

_TOOL_WORDS = frozenset({"tool", "tools"})
_LOOKING = frozenset({"describe", "discover", "find", "get", "list", "load", "search", "select"})


def bare_name(tool: str) -> str:
    """Return the name of a tool without its server and in lower case: ``mcp__x__Plan_Set``."""
    return tool.rpartition("__")[2].lower()


def is_planning_tool(tool: str) -> bool:
    """Whether a tool only keeps a plan."""
    return is_plan_tool(tool) or bare_name(tool) in (*OWN_TOOLS, *_READING)


def is_neutral(tool: str) -> bool:
    """Whether a tool needs no plan: it keeps one, asks the user, only thinks, or loads tools."""
    return is_planning_tool(tool) or bare_name(tool) in NEUTRAL or finds_tools(tool)


def finds_tools(tool: str) -> bool:
    """Whether a tool looks for tools or loads them: ``ToolSearch``, ``mcp__x__list_tools``."""
    words = frozenset(name_words(tool.rpartition("__")[2]))
    return not words.isdisjoint(_TOOL_WORDS) and not words.isdisjoint(_LOOKING)


def planning_tool(tools: Iterable[str] | None) -> str | None:
    """Return the tool of `tools` with which a plan is made, None if there is none or unknown."""
    names = {bare_name(tool): tool for tool in sorted(tools or ())}
    return next((names[name] for name in (PLAN_SET, *PLAN_TOOLS) if name in names), None)
