"""Settings files: what stands there stays, what can't be kept is refused, all comes back."""

import json
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from trimtab_claude_code import _settings_edit
from trimtab_claude_code._settings import hook_table, is_ours, with_hooks, without_hooks
from trimtab_claude_code.hooks import EVENTS

FOREIGN = {"type": "command", "command": "./lint.sh"}
THEIRS = {
    "permissions": {"allow": ["Bash(ls:*)"]},
    "hooks": {"PostToolUse": [{"matcher": "Edit", "hooks": [FOREIGN]}], "Notification": []},
    "an unknown key": [1.5, None, "ü"],
}


def hooks_in(path):
    return json.loads(path.read_text(encoding="utf-8-sig"))["hooks"]


def test_install_adds_every_event_and_keeps_what_is_there(user, trimtab):
    path = user.write(THEIRS)

    status, printed = trimtab("install", "claude-code")

    assert (status, f"Wrote {path}" in printed) == (0, True)
    found = json.loads(path.read_text())
    assert set(EVENTS) <= set(found["hooks"])
    assert found["hooks"]["PostToolUse"][0] == THEIRS["hooks"]["PostToolUse"][0]
    assert list(found) == list(THEIRS)
    assert {key: found[key] for key in found if key != "hooks"} == {
        key: THEIRS[key] for key in THEIRS if key != "hooks"
    }


def test_installing_twice_changes_nothing(user, trimtab):
    path = user.write(THEIRS)
    trimtab("install", "claude-code")
    once = path.read_bytes()

    status, printed = trimtab("install", "claude-code")

    assert (path.read_bytes(), status) == (once, 0)
    assert "needs no change" in printed


STYLES = [
    b"",
    b"{}",
    b'{\n\t"model": "x"\n}',
    b'{"model":"x","hooks":{}}\n\n',
    b'\xef\xbb\xbf{\r\n  "model": "x"\r\n}\r\n',
    json.dumps(THEIRS, indent=4, ensure_ascii=False).encode(),
]


@pytest.mark.parametrize("raw", STYLES)
@pytest.mark.parametrize("times", [1, 2])
def test_uninstall_gives_back_every_byte(user, trimtab, raw, times):
    path = user.write(raw)
    for _ in range(times):
        trimtab("install", "claude-code")
    assert path.read_bytes() != raw

    assert trimtab("uninstall", "claude-code")[0] == 0

    assert path.read_bytes() == raw


def test_uninstall_removes_a_file_that_was_not_there(user, trimtab):
    trimtab("install", "claude-code")

    trimtab("uninstall", "claude-code")

    assert not user.settings.exists()


def test_uninstall_takes_out_only_its_own_where_the_file_was_changed(user, trimtab):
    path = user.write(THEIRS)
    trimtab("install", "claude-code")
    changed = json.loads(path.read_text())
    changed["model"] = "opus"
    changed["hooks"]["PostToolUse"][1]["hooks"].append(FOREIGN)
    path.write_text(json.dumps(changed))

    trimtab("uninstall", "claude-code")

    found = json.loads(path.read_text())
    assert found["model"] == "opus"
    assert found["hooks"]["PostToolUse"] == [
        THEIRS["hooks"]["PostToolUse"][0],
        {"hooks": [FOREIGN]},
    ]
    assert "PreToolUse" not in found["hooks"]
    assert "trimtab" not in path.read_text()


def test_uninstall_where_nothing_is_changes_nothing(user, trimtab):
    path = user.write(THEIRS)
    raw = path.read_bytes()

    assert trimtab("uninstall", "claude-code")[0] == 0

    assert path.read_bytes() == raw


REFUSED = {
    "comments": (b'{\n  // mine\n  "model": "x"\n}', "line 2, column 3 is no JSON"),
    "trailing comma": (b'{"model": "x",}', "is no JSON"),
    "utf-16": ("{}".encode("utf-16"), "not in UTF-8"),
    "latin-1": ('{"model": "ü"}'.encode("latin-1"), "byte 11 is not UTF-8"),
    "an array": (b"[]", "must hold a JSON object"),
    "a key twice": (b'{"a": 1, "a": 2}', "'a' stands there twice"),
    "NaN": (b'{"a": NaN}', "NaN is no JSON"),
    "infinite": (b'{"a": 1e999}', "can't be kept"),
    "deep": (b'{"a":' * 100_000, "untouched"),
    "hooks are no object": (b'{"hooks": []}', "'hooks' must be an object"),
    "an event is not a list": (b'{"hooks": {"Stop": {}}}', "'hooks' must be an object"),
    "half a character": (b'{"a": "\\ud800"}', "can't be kept"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_can_not_be_kept_is_refused_and_untouched(user, trimtab, name):
    raw, words = REFUSED[name]
    path = user.write(raw)

    status, printed = trimtab("install", "claude-code")

    assert (status, path.read_bytes()) == (2, raw)
    assert words in printed
    assert "untouched" in printed


def test_a_read_only_file_is_refused_even_for_root(user, trimtab):
    path = user.write(THEIRS)
    raw = path.read_bytes()
    path.chmod(0o444)

    status, printed = trimtab("install", "claude-code")

    assert (status, path.read_bytes()) == (2, raw)
    assert "read-only" in printed
    assert "Wrote" not in printed
    assert stat.S_IMODE(path.stat().st_mode) == 0o444


def test_a_link_stays_a_link_and_the_mode_is_kept(user, trimtab):
    real = user.home / "dotfiles.json"
    real.write_text("{}")
    real.chmod(0o640)
    user.settings.parent.mkdir()
    user.settings.symlink_to(real)

    trimtab("install", "claude-code")

    assert user.settings.is_symlink()
    assert "PostToolBatch" in hooks_in(real)
    assert stat.S_IMODE(real.stat().st_mode) == 0o640


def test_a_dry_run_shows_the_difference_and_leaves_no_trace(user, trimtab):
    path = user.write({"model": "x"})
    raw = path.read_bytes()

    status, printed = trimtab("install", "claude-code", "--dry-run")

    assert (status, path.read_bytes()) == (0, raw)
    assert "+++" in printed
    assert "PostToolBatch" in printed
    assert list(user.state.rglob("*.json")) == []


@pytest.mark.parametrize("verb", ["install", "uninstall"])
@pytest.mark.parametrize("where", [(), ("--project",), ("--plugin-dir", "plugin")])
def test_a_dry_run_makes_no_file_and_no_folder(user, trimtab, verb, where):
    before = sorted(user.home.parent.rglob("*"))

    trimtab(verb, "claude-code", *where, "--dry-run")

    assert [path for path in user.home.parent.rglob("*") if path not in before] == []


def test_a_dry_run_where_all_is_installed_shows_no_difference(user, trimtab):
    trimtab("install", "claude-code")

    status, printed = trimtab("install", "claude-code", "--dry-run")

    assert (status, "needs no change" in printed) == (0, True)


def test_the_project_gets_its_unshared_file(user, trimtab):
    trimtab("install", "claude-code", "--project")

    assert "Stop" in hooks_in(user.project / ".claude" / "settings.local.json")
    assert not user.settings.exists()


def test_install_says_who_will_speak_and_what_is_wrong(user, trimtab):
    assert "agent/main: claude-code-canary" in trimtab("install", "claude-code")[1]

    (user.project / "trimtab.toml").write_text(
        '[hosts.claude-code]\nprompt = "a/b"\n[prompts."a/b"]\nguidance = ["canary-of-no-mine"]'
    )
    status, printed = trimtab("install", "claude-code")
    assert (status, "No guidance provider 'canary-of-no-mine'" in printed) == (1, True)

    (user.project / "trimtab.toml").write_text("")
    status, printed = trimtab("install", "claude-code")
    assert (status, "no prompt is configured for Claude Code" in printed) == (1, True)


def test_a_plugin_folder_is_laid_out_and_removed(user, trimtab, tmp_path):
    folder = tmp_path / "plugin"

    trimtab("install", "claude-code", "--plugin-dir", str(folder))

    manifest = json.loads((folder / ".claude-plugin" / "plugin.json").read_text())
    assert manifest["name"] == "trimtab"
    assert set(hooks_in(folder / "hooks" / "hooks.json")) == set(EVENTS)
    assert not user.settings.exists()

    uninstall = ("uninstall", "claude-code", "--plugin-dir", str(folder))
    assert "Would remove" in trimtab(*uninstall, "--dry-run")[1]
    assert folder.exists()
    assert "Removed" in trimtab(*uninstall)[1]
    assert not folder.exists()
    assert "There is no plugin" in trimtab(*uninstall)[1]


def test_doctor_names_settings_that_keep_hooks_from_running(user, trimtab):
    user.write({"disableAllHooks": True})
    trimtab("install", "claude-code")

    status, printed = trimtab("doctor", "claude-code", "--program", "/no/such/program")

    assert status == 1
    assert f"wrong  disableAllHooks is set in {user.settings}" in printed
    assert "wrong  /no/such/program can't be asked for its version" in printed


HOOKS_OF_PLUGINS = {"strictPluginOnlyCustomization": ["agents", "hooks"]}


@pytest.mark.parametrize(
    ("layers", "said"),
    [
        (({}, {"disableAllHooks": True}, {}, {}), "disableAllHooks is set in {user}"),
        (({}, {}, {"disableAllHooks": True}, {}), "disableAllHooks is set in {shared}"),
        (({}, {}, {}, {"disableAllHooks": True}), "disableAllHooks is set in {own}"),
        (({}, {"disableAllHooks": True}, {}, {"disableAllHooks": False}), None),
        (({"disableAllHooks": True}, {}, {}, {"disableAllHooks": False}), "is set in {managed}"),
        (
            ({"allowManagedHooksOnly": True}, {}, {}, {}),
            "allowManagedHooksOnly is set in {managed}",
        ),
        ((HOOKS_OF_PLUGINS, {}, {}, {}), "is set in {managed}: only hooks of plugins are run"),
        (
            ({}, {"allowManagedHooksOnly": True}, {}, {}),
            None,
        ),  # it counts in managed settings alone
        (({"model": "x"}, {}, {}, {}), None),
    ],
)
def test_install_writes_nothing_where_another_file_forbids_hooks(user, trimtab, layers, said):
    folder = _settings_edit.MANAGED / "managed-settings.d"
    files = {
        "managed": folder / "10-hooks.json",
        "user": user.settings,
        "shared": user.project / ".claude" / "settings.json",
        "own": user.project / ".claude" / "settings.local.json",
    }
    for file, data in zip(files.values(), layers, strict=True):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(data))
    before = {name: file.read_text() for name, file in files.items()}

    status, printed = trimtab("install", "claude-code", "--project")
    named = trimtab("doctor", "claude-code", "--program", "/no/such/program")[1]

    if said is None:
        assert (status, "is set in" in printed + named) == (0, False), printed
    else:
        assert status == 1
        assert said.format(**files) in printed
        assert said.format(**files) in named
        assert {name: file.read_text() for name, file in files.items()} == before


def test_doctor_tells_hooks_that_hold_from_those_of_another_time(user, trimtab):
    trimtab("install", "claude-code")
    data = json.loads(user.settings.read_text())
    data["hooks"]["Stop"].append({"hooks": [{"type": "command", "command": "theirs"}]})
    user.write(data)
    look = ("doctor", "claude-code", "--program", "/no/such/program")
    assert f"ok     hooks are in {user.settings}" in trimtab(*look)[1]

    user.write(user.settings.read_text().replace(sys.executable, "/gone/python"))
    assert f"wrong  the hooks in {user.settings} are those of another Python" in trimtab(*look)[1]

    trimtab("install", "claude-code")
    assert f"ok     hooks are in {user.settings}" in trimtab(*look)[1]


def test_doctor_looks_at_the_file_that_is_named(user, trimtab):
    trimtab("install", "claude-code")
    look = ("doctor", "claude-code", "--program", "/no/such/program")

    assert f"ok     hooks are in {user.settings}" in trimtab(*look, "--user")[1]
    assert "settings.local.json has no hooks" in trimtab(*look, "--project")[1]


def test_install_names_another_file_that_has_the_hooks(user, trimtab):
    trimtab("install", "claude-code")

    printed = trimtab("install", "claude-code", "--project")[1]

    assert f"The hooks are in {user.settings} too, so each event is handled twice" in printed


def test_a_project_file_that_git_does_not_ignore_is_named(user, trimtab):
    words = "Git does not ignore .claude/settings.local.json"
    assert words not in trimtab("install", "claude-code", "--project")[1]
    subprocess.run(["git", "init", "-q", str(user.project)], check=True)

    assert words in trimtab("install", "claude-code", "--project")[1]

    (user.project / ".git" / "info" / "exclude").write_text(".claude/settings.local.json\n")
    assert words not in trimtab("install", "claude-code", "--project")[1]


def test_uninstall_keeps_empty_lists_and_removes_its_own_file(user, trimtab):
    path = user.write({"hooks": {"Stop": []}})
    trimtab("install", "claude-code")
    changed = json.loads(path.read_text())
    path.write_text(json.dumps({**changed, "model": "opus"}))
    trimtab("uninstall", "claude-code")
    assert json.loads(path.read_text()) == {"hooks": {"Stop": []}, "model": "opus"}

    path.unlink()
    trimtab("install", "claude-code")
    path.write_text(json.dumps(json.loads(path.read_text())))
    trimtab("uninstall", "claude-code")
    assert not path.exists()


@pytest.mark.parametrize("home", ["/proc/1/none", "/dev/null/none"])
def test_a_home_that_can_not_be_written_is_named(user, trimtab, monkeypatch, home):
    monkeypatch.setenv("TRIMTAB_HOME", home)

    status, printed = trimtab("install", "claude-code")

    assert (status, home in printed, "TRIMTAB_HOME" in printed) == (2, True, True), printed
    assert not user.settings.exists()


def test_a_first_configuration_is_written_and_an_earlier_one_is_kept(user, trimtab):
    enable = ("install", "claude-code", "--enable", "claude-code-canary")
    before = (user.project / "trimtab.toml").read_text()
    other = '[hosts.claude-code]\nprompt = "a/b"\n[prompts."a/b"]\nguidance = []\n'
    (user.project / "trimtab.toml").write_text(other)
    status, printed = trimtab(*enable)
    assert (status, "--enable writes only a new file" in printed) == (2, True)
    assert (user.project / "trimtab.toml").read_text() == other

    (user.project / "trimtab.toml").write_text(before)
    for where in ("--project", "--user"):
        status, printed = trimtab(*enable, where)
        assert (status, "enables 'claude-code-canary' already" in printed) == (0, True)
    assert (user.project / "trimtab.toml").read_text() == before

    (user.project / "trimtab.toml").unlink()
    assert "Would write" in trimtab(*enable, "--dry-run")[1]
    assert not (user.project / "trimtab.toml").exists()
    status, printed = trimtab(*enable)
    assert (status, "agent/main: claude-code-canary" in printed) == (0, True), printed


def test_an_unknown_name_writes_nothing(user, trimtab):
    (user.project / "trimtab.toml").unlink()

    status, printed = trimtab("install", "claude-code", "--enable", "claude-code-canry")

    assert (status, "Did you mean 'claude-code-canary'" in printed) == (2, True), printed
    assert not (user.project / "trimtab.toml").exists()
    assert not user.settings.exists()


@pytest.mark.parametrize(
    "old",
    [
        {"type": "command", "command": "/old/python -I -S /x/trimtab_claude_code/_client.py /y 8"},
        {
            "type": "command",
            "command": "/old/python",
            "args": ["/x/trimtab_claude_code/_client.py"],
        },
    ],
)
def test_hooks_of_an_earlier_installation_are_replaced(user, trimtab, old):
    path = user.write({"hooks": {"Stop": [{"hooks": [old, FOREIGN]}], "Setup": [{"hooks": [old]}]}})

    trimtab("install", "claude-code")

    assert old not in [h for g in hooks_in(path)["Stop"] for h in g["hooks"]]
    found = hooks_in(path)
    assert found["Stop"][0]["hooks"] == [FOREIGN]
    assert "Setup" not in found


def test_the_plugin_of_somebody_else_is_left_alone(user, trimtab, tmp_path):
    manifest = tmp_path / ".claude-plugin" / "plugin.json"
    manifest.parent.mkdir()
    manifest.write_text('{"name": "theirs"}')

    for verb in ("install", "uninstall"):
        status, printed = trimtab(verb, "claude-code", "--plugin-dir", str(tmp_path))
        assert (status, "holds the plugin 'theirs'" in printed) == (2, True)
    assert list(manifest.parent.iterdir()) == [manifest]


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)
settings = st.dictionaries(st.text(), values, max_size=4).map(
    lambda found: {key: value for key, value in found.items() if key != "hooks"}
)
groups = st.lists(
    st.fixed_dictionaries({"hooks": st.lists(st.just(FOREIGN), max_size=2)}) | values,
    min_size=1,  # an empty list is not told from none
    max_size=3,
)
TABLES = [hook_table(Path("/state")), hook_table(Path("/a b'c"), EVENTS[:5])]


@given(settings, st.dictionaries(st.sampled_from(EVENTS), groups), st.sampled_from(TABLES))
def test_taking_out_what_was_put_in_leaves_the_settings(rest, hooks, table):
    data = {**rest, "hooks": hooks} if hooks else rest

    inside = with_hooks(data, table)

    assert without_hooks(inside) == data
    assert with_hooks(inside, table) == inside
    assert all(is_ours(group["hooks"][0]) for groups in table.values() for group in groups)
