"""How Claude Code's own tools behave."""

from __future__ import annotations

from trimtab import ToolProfile

_SHELL_NOTES = ("description", "timeout", "run_in_background", "dangerouslyDisableSandbox")

CLAUDE_CODE_TOOLS: tuple[ToolProfile, ...] = (
    ToolProfile(names="Bash", command_params="command", ignored_params=_SHELL_NOTES),
    ToolProfile(
        names=("Read", "NotebookRead", "Glob", "Grep", "LS", "LSP", "WebFetch", "WebSearch"),
        read_only=True,
    ),
    ToolProfile(
        names=("TaskList", "TaskGet", "ListAgents", "CronList", "ToolSearch"), read_only=True
    ),
    ToolProfile(names=("ListMcpResourcesTool", "ReadMcpResourceTool"), read_only=True),
    ToolProfile(names=("Write", "Edit", "MultiEdit", "NotebookEdit"), writes=True),
    ToolProfile(names="TodoWrite", progress=("status",)),
    ToolProfile(names=("TaskCreate", "TaskUpdate", "Skill"), writes=True),
    ToolProfile(names=("AskUserQuestion", "EnterPlanMode", "ExitPlanMode"), writes=True),
    ToolProfile(
        names=("TaskOutput", "AgentOutputTool", "BashOutput", "Monitor", "Sleep"), polling=True
    ),
    ToolProfile(names=("Agent", "Task"), writes=True, independent=True),
)
"""Profiles of the program's built-in tools, for `Host.tool_profiles` and for transcripts."""
