"""A command hook lives for one event: what that event doesn't need is not imported."""

import json
import re
import subprocess
import sys

import pytest

from trimtab import load_configuration
from trimtab.inspection import refresh
from trimtab_claude_code.preparing import prepare
from trimtab_claude_code.state.folders import user_folder

IMPORTED = re.compile(r"^import '([\w.]+)' # <", re.MULTILINE)
CONFIGURATION = """
[hosts.claude-code]
prompt = "a/b"
[prompts."a/b"]
guidance = ["acme-critic"]
"""
PROVIDER = """
from trimtab import ClassificationResult, DecisionPoint, GuidanceInjection, hookimpl

class Critic:
    name, category = "acme-critic", "diagnostic"
    decision_points = (DecisionPoint.PRE_TOOL_SELECTION,)

    @hookimpl
    def run_opened(self, context):
        pass

    def classify(self, *, context):
        return ClassificationResult(context.last_call.result == "bad")

    def provide(self, *, context):
        return GuidanceInjection("critic", "That was bad.")
"""
CALL = {"tool_name": "Read", "tool_input": {"file_path": "a"}, "tool_use_id": "t1"}
TO_DECIDE = "trimtab.session.run"
TO_DELIVER = "html.entities"
NEEDLESS = {
    "asyncio",
    "cattrs",
    "dataclasses",
    "importlib_metadata",
    "shlex",
    "string",
    "textwrap",
    "tomllib",
    "trimtab.completion.engine",
    "trimtab.completion.types",
    "trimtab.feedback.engine",
    "trimtab.feedback.types",
    "trimtab.plugins.config",
    "trimtab.plugins.resolution",
    "trimtab.prompt.rendering",
    "trimtab.prompt.sections",
    "trimtab.session.snapshot",
    "trimtab_claude_code.preparing",
    "trimtab_claude_code.prompts",
}


@pytest.fixture
def provider(desk, tmp_path):
    """A stranger's provider, installed and enabled."""
    metadata = tmp_path / "site" / "acme_critic-1.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-critic\nVersion: 1\n")
    (metadata / "entry_points.txt").write_text("[trimtab.guidance]\nacme-critic=acme_critic:Critic")
    (tmp_path / "site" / "acme_critic.py").write_text(PROVIDER)
    (desk.project / "trimtab.toml").write_text(CONFIGURATION)
    refresh()


@pytest.fixture
def imported(desk, provider, unmeasured):
    """Return the names of all modules that a hook imports, and what it answers."""
    assert prepare(load_configuration(desk.project / "trimtab.toml"), user_folder())

    def run(event, **fields):
        told = {"session_id": "s", "cwd": str(desk.project), "hook_event_name": event, **fields}
        module = ("trimtab_claude_code.command", str(user_folder()))
        done = subprocess.run(
            [sys.executable, "-v", "-P", "-m", *module],
            input=json.dumps(told),
            capture_output=True,
            text=True,
            timeout=60,
            env=unmeasured,
        )
        return set(IMPORTED.findall(done.stderr)), done.stdout

    return run


def batch(response):
    return {"tool_calls": [{**CALL, "tool_response": response}]}


def test_where_somebody_speaks_only_what_is_asked_is_imported(imported):
    names, answer = imported("PostToolBatch", **batch("bad"))

    assert "That was bad." in answer
    assert {TO_DECIDE, TO_DELIVER} <= names
    assert names & NEEDLESS == set()


def test_where_nobody_speaks_nothing_is_imported_that_delivers(imported):
    names, answer = imported("PostToolBatch", **batch("good"))

    assert answer == ""
    assert TO_DECIDE in names
    assert names & {TO_DELIVER, *NEEDLESS} == set()


def test_where_nobody_may_speak_the_engine_stays_out(imported):
    imported("PostToolBatch", **batch("good"))

    names, answer = imported("PreToolUse", **CALL)

    assert answer == ""
    assert "trimtab_claude_code.noting" in names
    assert names & {"attr", TO_DECIDE, TO_DELIVER, *NEEDLESS} == set()
