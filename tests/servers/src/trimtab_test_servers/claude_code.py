"""What the real Claude Code program needs to run against `AnthropicServer`, and who is asking."""

from __future__ import annotations

from pathlib import Path

from trimtab_test_servers.anthropic import AnthropicServer
from trimtab_test_servers.record import Request

AGENT_HEADER = "x-claude-code-agent-id"
SUMMARY_WORDS = "Your task is to create a detailed summary of the conversation"


def claude_code_environment(server: AnthropicServer, home: Path) -> dict[str, str]:
    """Variables that send the program to ``server`` and keep its state under ``home``.

    ``IS_SANDBOX`` must be exactly "1": run by root, the program otherwise refuses to bypass
    permissions.
    """
    return {
        "ANTHROPIC_BASE_URL": server.base_url,
        "ANTHROPIC_API_KEY": "x",
        "HOME": str(home),
        "CLAUDE_CONFIG_DIR": str(home / ".claude"),
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "IS_SANDBOX": "1",
    }


def claude_code_asker(request: Request) -> str:
    """Who sent a request: "main", "subagent" or "compaction". A key for `choose`."""
    if AGENT_HEADER in request.headers:
        return "subagent"
    said = [message for message in request.messages if message["role"] == "user"]
    return "compaction" if SUMMARY_WORDS in str(said[-1:]) else "main"
