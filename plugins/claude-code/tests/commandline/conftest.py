"""A user of the command line: a home, a project, and Claude Code's settings."""

import json
import os
from pathlib import Path

import attrs
import pytest

from trimtab._cli import main
from trimtab.inspection import refresh
from trimtab_claude_code.canary import install_canary

TOML = """
[hosts.claude-code]
prompt = "agent/main"
agents = { Explore = false, "general-purpose" = "agent/sub" }

[prompts."agent/main"]
guidance = [{ use = "claude-code-canary", options = { word = "main" } }]

[prompts."agent/sub"]
guidance = [{ use = "claude-code-canary", options = { word = "sub" } }]
"""


@attrs.frozen
class Desk:
    """Where the user sits."""

    home: Path
    project: Path
    state: Path

    @property
    def settings(self) -> Path:
        return self.home / ".claude" / "settings.json"

    def write(self, content) -> Path:
        """Write the user's settings: bytes, text, or an object as JSON."""
        if not isinstance(content, (bytes, str)):
            content = json.dumps(content, indent=2) + "\n"
        raw = content if isinstance(content, bytes) else content.encode()
        self.settings.parent.mkdir(parents=True, exist_ok=True)
        self.settings.write_bytes(raw)
        return self.settings


@pytest.fixture
def desk(tmp_path, monkeypatch):
    """A user's desk, with the working directory in a project that assigns prompts."""
    desk = Desk(tmp_path / "home", tmp_path / "project", tmp_path / "state")
    desk.home.mkdir()
    desk.project.mkdir()
    (desk.project / "trimtab.toml").write_text(TOML)
    for name in [name for name in os.environ if name.startswith(("TRIMTAB_", "CLAUDE_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(desk.home))
    monkeypatch.setenv("TRIMTAB_HOME", str(desk.state))
    monkeypatch.chdir(desk.project)
    install_canary(tmp_path / "site")
    monkeypatch.syspath_prepend(tmp_path / "site")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "site"), prepend=os.pathsep)
    refresh()
    return desk


@pytest.fixture
def trimtab(capsys):
    """Run a command line; return its exit status and what it printed."""

    def run(*words):
        status = main(words)
        printed = capsys.readouterr()
        return status, printed.out + printed.err

    return run
