"""Scripted model servers on loopback, for trimtab's own tests.

A *script* says what the model answers, turn by turn; the server records every request verbatim
and refuses what the real service refuses, in its own error shape.

    with AnthropicServer([say("I look.", Call("Read", {"file_path": "a.py"})), say("Done.")]) as s:
        run_the_program(base_url=s.base_url)
    assert s.refusals == ()
    assert s.requests[1].mentions("<guidance")
"""

from trimtab_test_servers.anthropic import AnthropicServer
from trimtab_test_servers.claude_code import claude_code_asker, claude_code_environment
from trimtab_test_servers.loopback import LoopbackServer
from trimtab_test_servers.openai import OpenAIServer
from trimtab_test_servers.record import Refusal, Request
from trimtab_test_servers.script import (
    Call,
    Fault,
    Hang,
    Script,
    Step,
    Text,
    Thinking,
    Turn,
    choose,
    say,
)

__all__ = [
    "AnthropicServer",
    "Call",
    "Fault",
    "Hang",
    "LoopbackServer",
    "OpenAIServer",
    "Refusal",
    "Request",
    "Script",
    "Step",
    "Text",
    "Thinking",
    "Turn",
    "choose",
    "claude_code_asker",
    "claude_code_environment",
    "say",
]
