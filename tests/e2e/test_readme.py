"""The README's hosts: one prompt on each of them, with the real clients and programs."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from trimtab_test_servers import (
    AnthropicServer,
    Call,
    OpenAIServer,
    claude_code_environment,
    say,
)

pytestmark = pytest.mark.e2e

README = Path(__file__).parents[2] / "README.md"
FILES = dict(re.findall(r"```\w+\n# (\S+\.(?:py|toml))\n(.*?)```", README.read_text(), re.DOTALL))
SAID = b'guidance source=\\"doom-loop'
FAILING = [Call("Bash", {"command": "cat missing", "description": "x"})] * 3


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """A project that holds the README's files."""
    pytest.importorskip("trimtab_doom_loop")
    work = tmp_path / "work"
    work.mkdir()
    for name, text in FILES.items():
        (work / name).write_text(text)
    return work


def run(words: list[str], work: Path, environment: Mapping[str, str]) -> str:
    done = subprocess.run(
        words,
        cwd=work,
        env={**os.environ, "TRIMTAB_HOME": str(work.parent / "state"), **environment},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def failing() -> AbstractContextManager[AnthropicServer]:
    """Return a model that makes one failing call three times, and then ends."""
    return AnthropicServer([*map(say, FAILING), say("The tests pass.")])


@pytest.mark.parametrize(
    ("client", "name"), [("openai", "with_openai.py"), ("litellm", "with_litellm.py")]
)
def test_openai_and_litellm(client: str, name: str, work: Path) -> None:
    pytest.importorskip(client)
    with OpenAIServer([say("The tests pass.")]) as server:
        environment = {
            "OPENAI_BASE_URL": server.base_url,
            "OPENAI_API_KEY": "x",
            "LITELLM_LOCAL_MODEL_COST_MAP": "True",
            "PYTHONWARNINGS": "ignore",
        }
        assert run([sys.executable, name], work, environment) == "The tests pass.\n"

    assert "Make the tests pass." in str(server.requests[0].messages)


def test_claude_agent_sdk(work: Path) -> None:
    pytest.importorskip("claude_agent_sdk")
    with failing() as server:
        environment = claude_code_environment(server, work.parent / "home")
        assert run([sys.executable, "with_claude.py"], work, environment) == "The tests pass.\n"

    assert [SAID in request.body for request in server.requests] == [False] * 3 + [True]


def test_claude_code(work: Path) -> None:
    program = pytest.importorskip("trimtab_claude_code._program").find_program()
    if program is None:
        pytest.skip("the claude program is not here")
    install = ["install", "claude-code", "--project"]
    run([sys.executable, "-m", "trimtab", *install], work, {})
    with failing() as server:
        environment = claude_code_environment(server, work.parent / "home")
        words = ["-p", "Make the tests pass.", "--model", "claude-sonnet-4-5"]
        run([str(program), *words], work, environment)
    run([sys.executable, "-m", "trimtab", "uninstall", "claude-code", "--project"], work, {})

    assert [SAID in request.body for request in server.requests] == [False] * 3 + [True]


def test_each_host_is_shown_in_under_20_lines() -> None:
    shown = {"agent.py", "with_claude.py", "with_openai.py", "with_litellm.py", "trimtab.toml"}
    assert set(FILES) == shown
    assert all(len(text.splitlines()) < 20 for text in FILES.values())
