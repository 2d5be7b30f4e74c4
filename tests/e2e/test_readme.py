"""What the README shows, run as it stands, with the real clients and programs."""

from __future__ import annotations

import os
import re
import shutil
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


def test_the_first_command_replays_a_recorded_run_on_a_fresh_machine(tmp_path: Path) -> None:
    fresh = shutil.ignore_patterns(".*", "__pycache__", "docs")
    root = shutil.copytree(README.parent, tmp_path / "checkout", ignore=fresh)
    done = subprocess.run(
        [sys.executable, "dev.py", "demo"], cwd=root, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "doom-loop" in done.stdout


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


def test_the_five_lines(work: Path) -> None:
    pytest.importorskip("langchain_openai")
    look = say(Call("look", {"path": "a.py"}))
    with OpenAIServer([look, look, look, say("It sets a name.")]) as server:
        environment = {
            "OPENAI_BASE_URL": server.base_url,
            "OPENAI_API_KEY": "x",
            "PYTHONWARNINGS": "ignore",
        }
        assert run([sys.executable, "agent.py"], work, environment) == "It sets a name.\n"

    assert [SAID in request.body for request in server.requests] == [False] * 3 + [True]


def test_claude_code(work: Path) -> None:
    program = pytest.importorskip("trimtab_claude_code._program").find_program()
    if program is None:
        pytest.skip("the claude program is not here")
    install = ["install", "claude-code", "--project", "--enable", "doom-loop"]
    run([sys.executable, "-m", "trimtab", *install], work, {})
    with failing() as server:
        environment = claude_code_environment(server, work.parent / "home")
        words = ["-p", "Make the tests pass.", "--model", "claude-sonnet-4-5"]
        run([str(program), *words], work, environment)
    run([sys.executable, "-m", "trimtab", "uninstall", "claude-code", "--project"], work, {})

    assert [SAID in request.body for request in server.requests] == [False] * 3 + [True]


def test_the_example_is_short() -> None:
    assert set(FILES) == {"agent.py"}
    assert all(len(text.splitlines()) < 20 for text in FILES.values())
