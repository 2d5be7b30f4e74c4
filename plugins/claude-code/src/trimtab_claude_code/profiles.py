"""How Claude Code's own tools behave."""

from __future__ import annotations

from trimtab import ToolProfile

_SHELL_WORDS = ("description", "timeout", "run_in_background", "dangerouslyDisableSandbox")

CLAUDE_CODE_TOOLS: tuple[ToolProfile, ...] = (
    ToolProfile(names="Bash", shell="command", volatile=_SHELL_WORDS),  # noqa: S604 - a fact about a tool
    ToolProfile(names=("Read", "NotebookRead"), read_only=True),
    ToolProfile(names=("Glob", "Grep", "LS", "LSP"), read_only=True),
    ToolProfile(names=("WebFetch", "WebSearch"), read_only=True),
    ToolProfile(names=("Write", "Edit", "MultiEdit", "NotebookEdit"), writes=True),
    ToolProfile(
        names=("TodoWrite", "TaskCreate", "TaskUpdate"),
        progress=("status",),
        volatile=("activeForm",),
    ),
    ToolProfile(names=("TaskList", "TaskGet", "ListAgents", "CronList"), read_only=True),
    ToolProfile(
        names=("TaskOutput", "AgentOutputTool", "BashOutput"),
        read_only=True,
        polling=True,
        volatile=("block", "timeout", "timeout_ms", "wait_up_to"),
    ),
    ToolProfile(names=("Agent", "Task"), independent=True, volatile=("description",)),
    ToolProfile(
        names=("ToolSearch", "ListMcpResourcesTool", "ReadMcpResourceTool"), read_only=True
    ),
)
"""Profiles of the program's built-in tools, for `Host.tool_profiles` and for transcripts."""
