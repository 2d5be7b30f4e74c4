"""Prompts written down say the same as those built the long way, and only while they hold."""

import json

import pytest

from trimtab import DecisionPoint, load_configuration
from trimtab_claude_code.noting import note
from trimtab_claude_code.opening import place_of
from trimtab_claude_code.prepared import PreparedPrompts, find_prepared
from trimtab_claude_code.preparing import prepare
from trimtab_claude_code.prompts import Prompts
from trimtab_claude_code.state.folders import user_folder
from trimtab_claude_code.state.journal import Journal

STARTED = {
    "session_id": "s",
    "hook_event_name": "PreToolUse",
    "tool_name": "Bash",
    "tool_input": {"command": "ls"},
    "tool_use_id": "t1",
}
QUIET = '[hosts.claude-code]\nprompt = "a/b"\n[prompts."a/b"]\n'


@pytest.fixture
def config(desk):
    return desk.project / "trimtab.toml"


@pytest.fixture
def found(desk, config):
    return lambda: find_prepared(config, user_folder(), desk.project)


def write(config, text):
    """Write the configuration down anew, prepared."""
    config.write_text(text)
    return prepare(load_configuration(config), user_folder())


def test_they_speak_as_those_that_were_looked_up(desk, config, found):
    configuration = load_configuration(config)
    assert prepare(configuration, user_folder())

    written, built = found(), Prompts(configuration, desk.project)

    for kind in (None, "general-purpose", "Explore", "other"):
        one, other = written(kind), built(kind)
        assert (one and one.name) == (other and other.name)
        if one:
            assert one.table.sources == other.table.sources
            guides = [
                table.guides[DecisionPoint.PRE_TOOL_SELECTION] for table in (one.table, other.table)
            ]
            assert [g[0].config.cooldown_turns for g in guides] == [3, 3]


@pytest.mark.parametrize("variable", ["TRIMTAB_DISABLE", "TRIMTAB_PLUGINS"])
def test_switches_of_the_process_are_heard(config, found, monkeypatch, variable):
    prepare(load_configuration(config), user_folder())
    assert isinstance(found(), PreparedPrompts)

    monkeypatch.setenv(variable, "off")

    assert found() is None


def test_a_changed_configuration_ends_them_and_writes_them_anew(desk, config, found):
    write(config, QUIET + 'guidance = ["claude-code-canary"]')
    config.write_text(QUIET + "guidance = []")
    assert found() is None

    place = place_of({"session_id": "s", "cwd": str(desk.project)})

    assert place.prompts(None).table.sources == ()
    assert found()(None).table.sources == ()


@pytest.mark.parametrize(
    "change",
    [
        lambda saved: saved.update(valid=[]),
        lambda saved: saved.update(packages=["/no/such/package-1.0.dist-info"]),
        lambda saved: saved.pop("prompts"),
        lambda saved: saved["prompts"]["agent/main"]["providers"][0].update(module="no.such"),
        lambda saved: saved["prompts"]["agent/main"]["providers"][0].update(options={"x": 1}),
    ],
)
def test_what_no_longer_holds_is_looked_up_again(config, found, change):
    prepare(load_configuration(config), user_folder())
    (file,) = (user_folder() / "prepared").iterdir()
    saved = json.loads(file.read_text())
    change(saved)
    file.write_text(json.dumps(saved))

    assert found() is None


def test_nothing_of_a_project_is_imported_by_them(desk, config):
    prepare(load_configuration(config), user_folder())

    (file,) = desk.state.rglob("prepared/*.json")

    assert desk.project not in file.parents
    assert file.parent.stat().st_mode & 0o077 == 0


def begun(desk):
    """Begin the session's journal, as its first event does."""
    journal = place_of({"session_id": "s", "cwd": str(desk.project)}).journal
    journal.touch()
    return Journal(journal)


def told(desk, **changed):
    return json.dumps({**STARTED, "cwd": str(desk.project), **changed}).encode()


def test_what_nobody_speaks_at_is_only_written_down(desk, config):
    write(config, QUIET + 'guidance = ["claude-code-canary"]')
    journal = begun(desk)

    assert note(told(desk), user_folder())
    assert note(told(desk, hook_event_name="PostToolUse"), user_folder())
    assert [one.payload["hook_event_name"] for one in journal.read().told] == [
        "PreToolUse",
        "PostToolUse",
    ]


@pytest.mark.parametrize(
    "changed",
    [
        {"hook_event_name": "PostToolBatch"},
        {"hook_event_name": "Stop"},
        {"tool_name": "StructuredOutput"},
        {"session_id": "another"},
        {"cwd": None},
        {"cwd": "/"},
    ],
)
def test_the_rest_is_left_to_the_engine(desk, config, changed):
    write(config, QUIET + 'guidance = ["claude-code-canary"]')
    journal = begun(desk)

    assert not note(told(desk, **changed), user_folder())
    assert journal.read().told == ()


@pytest.mark.parametrize(
    ("provider", "event"),
    [
        ('guidance = [{ use = "claude-code-canary", refuse = true }]', "PreToolUse"),
        ('feedback = [{ use = "talker", every_n_calls = 1 }]', "PostToolUse"),
    ],
)
def test_where_somebody_may_speak_the_engine_is_asked(desk, config, provider, event, tmp_path):
    if "talker" in provider:
        pytest.importorskip("trimtab_deadline_feedback")
        provider = provider.replace("talker", "deadline-feedback")
    write(config, QUIET + provider)
    begun(desk)

    assert not note(told(desk, hook_event_name=event), user_folder())


def test_a_pyproject_on_the_way_is_left_to_the_engine(desk, config):
    write(config, QUIET + 'guidance = ["claude-code-canary"]')
    begun(desk)
    below = desk.project / "package"
    below.mkdir()
    (below / "pyproject.toml").write_text("[tool.trimtab]\n")

    assert not note(told(desk, cwd=str(below)), user_folder())
