"""What is known about the tools of common agents: for hosts, for proxies, for recorded runs."""

from __future__ import annotations

from collections.abc import Mapping

from trimtab import ToolProfile

_PLAN = frozenset({"status"})
_SHELL_NOTES = frozenset({"description", "timeout", "run_in_background"})
_CLAUDE_SHELL_NOTES = _SHELL_NOTES | {"dangerouslyDisableSandbox"}
_BASH_COMPLAINT = r"(?m)^(?:/bin/)?(?:ba)?sh: "

CLAUDE_CODE = (
    ToolProfile(names="Bash", command_params="command", ignored_params=_CLAUDE_SHELL_NOTES),
    ToolProfile(
        names=("Read", "NotebookRead", "Glob", "Grep", "LS", "LSP", "WebFetch", "WebSearch"),
        read_only=True,
    ),
    ToolProfile(
        names=("TaskList", "TaskGet", "ListAgents", "CronList", "ToolSearch"), read_only=True
    ),
    ToolProfile(names=("ListMcpResourcesTool", "ReadMcpResourceTool"), read_only=True),
    ToolProfile(names=("Write", "Edit", "MultiEdit", "NotebookEdit"), writes=True),
    ToolProfile(names="TodoWrite", progress=_PLAN),
    ToolProfile(names=("TaskCreate", "TaskUpdate", "Skill"), writes=True),
    ToolProfile(names=("AskUserQuestion", "EnterPlanMode", "ExitPlanMode"), writes=True),
    ToolProfile(
        names=("TaskOutput", "AgentOutputTool", "BashOutput", "Monitor", "Sleep"), polling=True
    ),
    ToolProfile(names=("Agent", "Task"), writes=True, independent=True),
)
"""The built-in tools of Claude Code."""

_CODEX_HEADER = (
    r"(?m)^(?:Chunk ID: \w+|Wall time: .*|Original token count: \d+|Total output lines: \d+)$"
)
CODEX = (
    ToolProfile(
        names=("exec_command", "shell", "shell_command", "local_shell", "container.exec"),
        command_params=("cmd", "command"),
        ignored_params=(
            "yield_time_ms",
            "max_output_tokens",
            "timeout_ms",
            "justification",
            "login",
        ),
        result_noise=_CODEX_HEADER,
    ),
    ToolProfile(
        names="write_stdin",
        writes=True,
        polling_params={"chars": ""},
        ignored_params=("yield_time_ms", "max_output_tokens"),
        result_noise=_CODEX_HEADER,
    ),
    ToolProfile(names="exec", error_pattern=r"\AScript failed\n"),
    ToolProfile(names="apply_patch", writes=True),
    ToolProfile(names="update_plan", progress=_PLAN),
    ToolProfile(names=("view_image", "read_file", "list_dir", "grep_files"), read_only=True),
    ToolProfile(names=("wait", "wait_agent", "wait_for"), polling=True),
    ToolProfile(names=("spawn_agent", "send_input"), writes=True, independent=True),
)

COPILOT = (
    ToolProfile(
        names=("bash", "powershell"),
        command_params="command",
        ignored_params=("description", "mode"),
    ),
    ToolProfile(names=("read_bash", "read_powershell"), polling=True),
    ToolProfile(names=("view", "glob", "grep", "rg", "web_fetch", "read_agent"), read_only=True),
    ToolProfile(names=("edit", "create", "str_replace_editor", "write_bash"), writes=True),
    ToolProfile(names="report_intent", ignored_params=("intent",)),
)

OPENCODE = (
    ToolProfile(names="bash", command_params="command", ignored_params=_SHELL_NOTES),
    ToolProfile(
        names=("read", "glob", "grep", "list", "webfetch", "websearch", "codesearch", "lsp*"),
        read_only=True,
    ),
    ToolProfile(names=("edit", "write", "patch", "multiedit", "apply_patch"), writes=True),
    ToolProfile(names=("todowrite",), progress=_PLAN),
    ToolProfile(names=("todoread",), read_only=True),
    ToolProfile(names="task", writes=True, independent=True),
)

GEMINI_CLI = (
    ToolProfile(
        names="run_shell_command", command_params="command", ignored_params=("description",)
    ),
    ToolProfile(
        names=(
            "read_file", "read_many_files", "list_directory", "glob", "search_file_content",
            "grep_search", "web_fetch", "google_web_search",
        ),
        read_only=True,
        ignored_params=("instruction",),
    ),
    ToolProfile(names=("replace", "write_file", "save_memory"), writes=True),
    ToolProfile(names="write_todos", progress=_PLAN),
)  # fmt: skip

OPENHANDS = (
    ToolProfile(
        names=("execute_bash", "terminal", "run"),
        command_params="command",
        polling_params={"command": ""},
        ignored_params=("security_risk", "thought", "summary", "timeout"),
    ),
    ToolProfile(names=("str_replace_editor", "file_editor", "edit", "write"), writes=True),
    ToolProfile(names=("read", "view", "glob", "grep"), read_only=True),
    ToolProfile(names="task_tracker", progress=_PLAN),
    ToolProfile(names="think", read_only=True),
)

_SWE_SHELL = (
    "bash", "cat", "cd", "cp", "find", "git", "grep", "head", "ls", "make", "mkdir", "mv", "pip",
    "pytest", "python*", "rm", "sed", "tail", "touch",
)  # fmt: skip
SWE_AGENT = (
    ToolProfile(
        names=("open", "goto", "search_dir", "search_file", "find_file", "view"), read_only=True
    ),
    ToolProfile(names=("scroll_down", "scroll_up"), read_only=True, opaque=True),
    ToolProfile(
        names=("edit", "insert"),
        writes=True,
        error_pattern=r"\A(?:Your proposed edit has introduced new syntax error|No file open)",
    ),
    ToolProfile(
        names="str_replace_editor",
        writes=True,
        error_pattern=r"\A(?:No replacement was performed|ERROR:|Invalid `)",
    ),
    ToolProfile(names=("create", "submit"), writes=True),
    ToolProfile(names=_SWE_SHELL, command_params="command", error_pattern=_BASH_COMPLAINT),
)

INTERCODE = (ToolProfile(names="*", command_params="command", error_pattern=_BASH_COMPLAINT),)
MINI_SWE_AGENT = (ToolProfile(names="bash", command_params="command"),)
PI = (
    ToolProfile(names="bash", command_params="command", ignored_params=("timeout",)),
    ToolProfile(names=("read", "grep", "find", "ls"), read_only=True),
    ToolProfile(names=("edit", "write"), writes=True),
)

PER_TOOL_CLASSIFIER = (ToolProfile(names="browser_*", error_pattern=r"\AError: "),)
"""What the owner of a browser's tools declares in the cases that need it."""

PROFILES: Mapping[str, tuple[ToolProfile, ...]] = {
    "claude-code": CLAUDE_CODE,
    "codex": CODEX,
    "copilot": COPILOT,
    "gemini-cli": GEMINI_CLI,
    "intercode": INTERCODE,
    "mini-swe-agent": MINI_SWE_AGENT,
    "opencode": OPENCODE,
    "openhands": OPENHANDS,
    "per-tool classifier": PER_TOOL_CLASSIFIER,
    "pi": PI,
    "swe-agent": SWE_AGENT,
}
"""Profiles by the name of the agent; no entry means guesses from the names of tools."""
