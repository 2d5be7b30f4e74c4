"""What a tool is known or guessed to be."""

from __future__ import annotations

import pytest

from trimtab import ToolProfile
from trimtab_signals import ToolProfiles, operation, reads_only, starts_background, without_input
from trimtab_signals._shell import expects_status, waits

of = ToolProfiles().of


@pytest.mark.parametrize(
    "name", ["read_file", "getUserDetails", "mcp__web__search", "list-issues", "GrepTool"]
)
def test_names_tell_what_only_reads(name):
    assert of(name).read_only is True
    assert of(name).writes is None


@pytest.mark.parametrize("name", ["write_file", "bookFlight", "mcp__db__delete_row", "Edit"])
def test_names_tell_what_writes(name):
    assert of(name).writes is True
    assert of(name).read_only is None


def test_the_first_verb_counts():
    assert of("get_and_update").read_only is True
    assert of("update_list").writes is True
    assert of("search_and_replace").writes is True
    assert of("get_plan_details").read_only is True


def test_unknown_tools_stay_unknown():
    profile = of("frobnicate")
    assert (profile.read_only, profile.writes, profile.polling) == (None, None, False)


def test_names_tell_waiting_screens_plans_and_shells():
    assert of("wait_for_job").polling
    assert of("mcp__browser__scroll").opaque
    assert "status" in of("TodoWrite").progress
    assert of("run_terminal").command({"cmd": "ls"}) == "ls"


def test_declared_profiles_come_first_and_take_patterns():
    mine = ToolProfile(names=("mcp__browser__*", "exact"), read_only=True)
    profiles = ToolProfiles([mine])
    assert profiles.of("mcp__browser__click") is mine
    assert profiles.of("exact") is mine
    assert profiles.of("exactly") is not mine
    earlier = ToolProfile(names="exact", writes=True)
    assert profiles.before([earlier]).of("exact") is earlier
    assert profiles.before([earlier]).declared == (earlier, mine)


def test_a_poll_may_depend_on_its_arguments():
    profile = ToolProfile(names="write_stdin", polling_params={"chars": ""})
    assert profile.polls({"chars": "", "session": 5})
    assert profile.polls({"session": 5})
    assert not profile.polls({"chars": "y\n"})
    assert not profile.polls("chars")


def test_a_command_may_be_a_list():
    profile = ToolProfile(names="sh", command_params=("cmd", "command"))
    assert profile.command({"command": ["ls", "-l"]}) == "ls -l"
    assert profile.command({"other": 1}) is None
    assert profile.command(None) is None


@pytest.mark.parametrize(
    "command",
    [
        "ls -la",
        "cd src && grep -rn 'x' . | head -5",
        "git status -s",
        "git -C repo log --oneline | wc -l",
        "cat a 2>/dev/null",
        "sed -n '1,20p' a.py",
        "grep 'a; rm b | c > d' f",
        'cat "a && b"',
        "FOO=1 sudo find . -name '*.py'",
        "",
    ],
)
def test_commands_that_only_read(command):
    assert reads_only(command)


@pytest.mark.parametrize(
    "command",
    [
        "rm a",
        "echo x > a",
        "cat > a <<EOF\nx\nEOF",
        "sed -i 's/a/b/' f",
        "find . -name x -delete",
        "ls && git commit -m x",
        "git checkout a",
        "python a.py",
        "ls | tee out",
        "curl -X POST example.org",
        "curl -sO example.org/a.csv",
        "curl -o a.csv example.org",
    ],
)
def test_commands_that_may_change_something(command):
    assert not reads_only(command)


def test_what_curl_throws_away_changes_nothing():
    assert reads_only("curl -s -o /dev/null -w '%{http_code}' localhost:8080")


def test_commands_that_wait_or_go_on():
    assert waits("sleep 30 && gh run view 7")
    assert waits("while true; do sleep 1; done")
    assert not waits("cat sleep.txt")
    assert starts_background("npm run dev > log &")
    assert starts_background("nohup make")
    assert not starts_background("a && b")


@pytest.mark.parametrize(
    ("command", "about"),
    [
        ("cd /x && make all", "make all"),
        ("FOO=1 timeout", "timeout"),
        ("/usr/bin/git push origin", "git push"),
        ("python -m pytest", "python pytest"),
        ("cd /x", ""),
    ],
)
def test_a_command_is_about_its_first_program(command, about):
    assert operation(command) == about


def test_some_statuses_are_answers():
    assert expects_status("cat a | grep x", 1)
    assert expects_status("grep 'a\\|b' f", 1)
    assert not expects_status("grep x a", 2)
    assert not expects_status("make", 1)


@pytest.mark.parametrize(
    ("command", "form"),
    [
        ('cd /a && echo "select 1;;" | lint - 2>&1', "cd /a && ~ lint - 2>&1"),
        ("cd /a && echo -n ';' | lint - 2>&1", "cd /a && ~ lint - 2>&1"),
        ("jq .a <<< '{\"a\": 1}'", "jq .a ~"),
        ("echo done", ""),
        ("echo 'a' || true", ""),
        ("cat a | wc -l", ""),
    ],
)
def test_what_a_program_reads_is_left_out(command, form):
    assert without_input(command) == form


@pytest.mark.parametrize("name", ["deploy_state", "deploy_state_v2", "deployState3"])
def test_the_version_of_a_tool_says_nothing_about_it(name):
    assert ToolProfiles().of(name).read_only is True
