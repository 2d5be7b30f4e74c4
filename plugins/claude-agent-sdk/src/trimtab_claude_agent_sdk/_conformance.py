"""Agents of the Claude Agent SDK: ``trimtab conformance claude-agent-sdk`` plays them."""

from __future__ import annotations

from collections.abc import Callable
from inspect import isawaitable
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, get_type_hints

from trimtab.events import StopRequested
from trimtab_claude_agent_sdk._callbacks import CLAUDE_AGENT_SDK, hooks
from trimtab_testing import HostKit, Played, Task

if TYPE_CHECKING:
    from claude_agent_sdk import ClaudeAgentOptions, SdkMcpTool


def tool_of(function: Callable[..., Any]) -> SdkMcpTool[Any]:
    """Return a tool of the SDK for a function."""
    from claude_agent_sdk import tool

    fields = {k: v for k, v in get_type_hints(function).items() if k != "return"}

    async def handle(given: dict[str, Any]) -> dict[str, Any]:
        result = function(**given)
        text = str(await result if isawaitable(result) else result)
        return {"content": [{"type": "text", "text": text}]}

    return tool(function.__name__, function.__doc__ or "", fields)(handle)


def options_of(task: Task, home: str) -> ClaudeAgentOptions:
    """Return the options for a task, as a user would write them."""
    from claude_agent_sdk import ClaudeAgentOptions, create_sdk_mcp_server

    more: Any = {}
    if task.guided:
        timeout = task.timeout or 1.0
        more["hooks"] = hooks(
            task.prompt, task.session, deadline=task.deadline, provider_timeout=timeout
        )
    return ClaudeAgentOptions(
        model="claude-sonnet-4-5",
        system_prompt="You are an agent.",
        mcp_servers={"kit": create_sdk_mcp_server("kit", tools=[tool_of(t) for t in task.tools])},
        permission_mode="bypassPermissions",
        setting_sources=[],
        cwd=home,
        env={
            "ANTHROPIC_BASE_URL": task.url,
            "ANTHROPIC_API_KEY": "x",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "ENABLE_TOOL_SEARCH": "false",  # else the tools of a server are not in the request
            "CLAUDE_CONFIG_DIR": home,
            "HOME": home,
            "IS_SANDBOX": "1",  # else the program refuses to bypass permissions as root
        },
        include_partial_messages=task.mode == "stream",
        **more,
    )


async def play(task: Task) -> Played:
    """Let an agent of the SDK do a task."""
    from claude_agent_sdk import ClaudeSDKClient, ResultMessage

    texts: list[str] = []
    with TemporaryDirectory() as home:
        async with ClaudeSDKClient(options_of(task, home)) as client:
            for said in task.user:
                await client.query(said)
                said_back = [message async for message in client.receive_response()]
                ends = [one for one in said_back if isinstance(one, ResultMessage)]
                texts.extend(end.result or "" for end in ends)
    stopped = task.session[StopRequested].latest()  # the program shows its user the summary
    text = texts[-1] if stopped is None else stopped.summary
    for run in task.session.runs():  # a conversation could go on, so nobody else closes it
        task.session.open_run(task.prompt, run_id=run).close("completed")
    return Played(text, texts)


KIT = HostKit(
    "claude-agent-sdk",
    CLAUDE_AGENT_SDK,
    play,
    claims="anthropic errors gate invalid refuse resume stop stream",
)
"""What the host claims. Its hooks tell of one call at a time, never of a response's."""
