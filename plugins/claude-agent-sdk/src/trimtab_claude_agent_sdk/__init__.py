"""trimtab for the Claude Agent SDK.

`hooks` is for programs with ``ClaudeAgentOptions`` of their own; `ClaudeAgentSDKAdapter` runs a
prompt to its end. The SDK itself is imported when one of them is used.
"""

from trimtab_claude_agent_sdk._adapter import ClaudeAgentSDKAdapter
from trimtab_claude_agent_sdk._callbacks import CLAUDE_AGENT_SDK, ClaudeAgentSDKClientConfig, hooks

__all__ = ["CLAUDE_AGENT_SDK", "ClaudeAgentSDKAdapter", "ClaudeAgentSDKClientConfig", "hooks"]
