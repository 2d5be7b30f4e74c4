"""The real Claude Code program and the scripted Messages API accept each other."""

import asyncio

import pytest

from trimtab_test_servers import (
    AnthropicServer,
    Call,
    Fault,
    choose,
    claude_code_asker,
    claude_code_environment,
    say,
)

sdk = pytest.importorskip("claude_agent_sdk")
pytestmark = pytest.mark.e2e

DELEGATED = {
    "description": "List files",
    "prompt": "List the files.",
    "subagent_type": "general-purpose",
    "run_in_background": False,
}


def bash(command):
    return Call("Bash", {"command": command, "description": "Run it"})


def script():
    main = [
        say("Two at once.", bash("echo one"), bash("cat missing")),
        Fault(529, retry_after_seconds=0.05),
        say(Call("Agent", DELEGATED)),
        say("Done."),
        say("Still done."),
    ]
    subagent = [say(bash("ls")), say("No files.")]
    summary = [say("<summary>It is done.</summary>")]
    return choose(claude_code_asker, {"main": main, "subagent": subagent, "compaction": summary})


async def converse(options):
    async with sdk.ClaudeSDKClient(options) as client:
        results = []
        for prompt in ("Go.", "/compact", "And now?"):
            await client.query(prompt)
            results += [
                message.result
                async for message in client.receive_response()
                if isinstance(message, sdk.ResultMessage)
            ]
        return results


@pytest.mark.parametrize("model", ["claude-sonnet-4-5", "claude-opus-5"])
def test_a_session_with_a_subagent_a_fault_and_a_compaction_runs_through(model, tmp_path):
    work, home = tmp_path / "work", tmp_path / "home"
    work.mkdir()
    with AnthropicServer(script()) as server:
        options = sdk.ClaudeAgentOptions(
            model=model,
            cwd=work,
            setting_sources=[],
            permission_mode="bypassPermissions",
            env=claude_code_environment(server, home),
        )
        results = asyncio.run(asyncio.wait_for(converse(options), timeout=60))
    assert server.refusals == ()
    assert (results[0], results[-1]) == ("Done.", "Still done.")
    assert [claude_code_asker(request) for request in server.requests] == [
        *("main", "main", "main"),
        *("subagent", "subagent"),
        *("main", "compaction", "main"),
    ]
