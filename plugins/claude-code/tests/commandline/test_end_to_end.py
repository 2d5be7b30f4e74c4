"""The real program with trimtab's hooks, against a scripted model: what reaches the model."""

import contextlib
import importlib.util
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import attrs
import pytest

from trimtab_claude_code._program import find_program
from trimtab_claude_code._settings import EVENT_SECONDS

from .conftest import end_server, server_pid

servers = pytest.importorskip("trimtab_test_servers")
pytestmark = [pytest.mark.e2e, pytest.mark.timeout(180)]

LOOP = '<guidance source="doom-loop"'
MODELS = ["claude-sonnet-4-5", "claude-opus-5"]
TOML = """
[hosts.claude-code]
prompt = "agent/main"
agents = { "general-purpose" = "agent/sub", "Explore" = "agent/silent" }

[prompts."agent/main"]
guidance = ["doom-loop"]
completion = [%s]

[prompts."agent/sub"]
guidance = ["doom-loop"]

[prompts."agent/silent"]
guidance = []
"""


STRANGERS = """
import time
from trimtab import ClassificationResult, DecisionPoint, GuidanceInjection, TaskCompletionResult

class Never:
    def check(self, context):
        return TaskCompletionResult.incomplete("There is more to do.")

class Speaker:
    name, category = "speaker", "test"
    decision_points = (DecisionPoint.PRE_TOOL_SELECTION,)
    def classify(self, *, context):
        return ClassificationResult(relevant=True)
    def provide(self, *, context):
        return GuidanceInjection("x", "never heard")

class Raising(Speaker):
    name = "raising"
    def provide(self, *, context):
        raise OSError("its disk is gone")

class Sleeping(Speaker):
    name = "sleeping"
    def provide(self, *, context):
        time.sleep(10)

class Garbage(Speaker):
    name = "garbage"
    def provide(self, *, context):
        return b"garbage"
"""
ENTRIES = """
[trimtab.completion]
never = strangers:Never
[trimtab.guidance]
raising = strangers:Raising
sleeping = strangers:Sleeping
garbage = strangers:Garbage
"""


def write_strangers(site):
    """Install a package of somebody else into a folder."""
    info = site / "strangers-1.0.dist-info"
    info.mkdir(parents=True)
    metadata = "Metadata-Version: 2.1\nName: strangers\nVersion: 1.0\n"
    (info / "METADATA").write_text(f"{metadata}Requires-Dist: trimtab>=0.1,<0.2\n")
    (info / "entry_points.txt").write_text(ENTRIES)
    (site / "strangers.py").write_text(STRANGERS)


def bash(command):
    return servers.Call("Bash", {"command": command, "description": "Run it"})


def agent(kind):
    params = {"description": "Look", "prompt": "Look.", "subagent_type": kind}
    return servers.Call("Agent", {**params, "run_in_background": False})


LOOKS = [servers.say(bash("cat missing.txt")) for _ in range(5)]


@attrs.frozen
class Program:
    """The real program in a project, with hooks installed."""

    root: Path
    options: tuple[str, ...]

    @property
    def state(self) -> Path:
        return self.root / "state" / "claude-code"

    @property
    def variables(self) -> dict[str, str]:
        home, site = self.root / "state", self.root / "site"
        return {"TRIMTAB_HOME": str(home), "PYTHONPATH": str(site)}

    def start(self, server, *words, prompt="Go.", model=MODELS[1]):
        """Start it on a prompt."""
        command = [find_program(), "-p", prompt, *self.options, "--output-format", "json", *words]
        return subprocess.Popen(
            [*command, "--permission-mode", "bypassPermissions", "--model", model],
            cwd=self.root / "work",
            env={
                **os.environ,
                **servers.claude_code_environment(server, self.root / "home"),
                **self.variables,
            },
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, script, *words, **more):
        """Run it to its end; return its result and the requests that the model got."""
        with servers.AnthropicServer(script) as server:
            with self.start(server, *words, **more) as running:
                try:
                    out, err = running.communicate(timeout=120)
                finally:
                    running.kill()
            assert server.refusals == ()
            return json.loads(out or err), server.requests


@pytest.fixture(params=["settings", "plugin"])
def transport(request):
    return request.param


@pytest.fixture
def program(tmp_path, transport):
    """Install the hooks in one of two ways; end the hook server afterwards."""
    if find_program() is None or importlib.util.find_spec("trimtab_doom_loop") is None:
        pytest.skip("the claude program and trimtab-doom-loop are needed")
    for name in ("work", "home"):
        (tmp_path / name).mkdir()
    (tmp_path / "work" / "trimtab.toml").write_text(TOML % "")
    settings, plugin = str(tmp_path / "settings.json"), str(tmp_path / "plugin")
    where = ["--plugin-dir", plugin] if transport == "plugin" else ["--settings", settings]
    program = Program(tmp_path, tuple(where))
    write_strangers(tmp_path / "site")
    subprocess.run(
        [sys.executable, "-m", "trimtab", "install", "claude-code", *where],
        cwd=tmp_path / "work",
        env={**os.environ, **program.variables},
        check=True,
        timeout=60,
    )
    give_time(tmp_path)
    yield program
    end_server(program.state)


def give_time(folder):
    """Let events take longer than a user's: here several programs share two processors."""
    for file in (folder / "settings.json", *folder.glob("plugin/**/hooks.json")):
        if file.exists():
            text = file.read_text()
            assert f"{EVENT_SECONDS:g}" in text
            file.write_text(text.replace(f"{EVENT_SECONDS:g}", "8"))


def told(requests, words):
    """How often each request says `words`."""
    return [sum(text.count(words) for text in request.texts) for request in requests]


@pytest.mark.parametrize("model", MODELS)
def test_a_loop_is_named_after_its_third_turn_once_and_for_good(program, model):
    result, requests = program.run([*LOOKS, servers.say("Done.")], model=model)

    assert result["result"] == "Done."
    assert told(requests, LOOP) == [0, 0, 0, 1, 1, 1]


def test_an_agent_that_stops_early_is_sent_back_three_times(program):
    (program.root / "work" / "trimtab.toml").write_text(TOML % '"never"')

    result, requests = program.run([servers.say(f"Done. ({number})") for number in range(6)])

    assert result["result"] == "Done. (3)"
    assert told(requests, "<completion>There is more to do.") == [0, 1, 2, 3]


ENDED = TOML.replace(
    'guidance = ["doom-loop"]',
    'guidance = [{ use = "doom-loop", stop_after = 1, cooldown_turns = 1 }]',
)


@pytest.mark.parametrize("transport", ["settings"], indirect=True)
def test_an_agent_whose_nudge_has_no_effect_is_ended_with_a_summary(program):
    (program.root / "work" / "trimtab.toml").write_text(ENDED % "")

    result, requests = program.run([servers.say(bash("cat missing.txt")) for _ in range(9)])

    assert told(requests, LOOP) == [0, 0, 0, 1]
    assert (result["terminal_reason"], result["is_error"]) == ("hook_stopped", False)


@pytest.mark.parametrize("transport", ["settings"], indirect=True)
def test_a_subagent_whose_nudge_has_no_effect_is_ended_alone(program):
    (program.root / "work" / "trimtab.toml").write_text(ENDED % "")
    looks = [servers.say(bash("cat missing.txt")) for _ in range(9)]
    script = servers.choose(
        servers.claude_code_asker,
        {"main": [servers.say(agent("general-purpose")), servers.say("Done.")], "subagent": looks},
    )

    result, requests = program.run(script)

    assert result["result"] == "Done."
    assert told(requests, LOOP) == [0, 0, 0, 0, 1, 0]


@pytest.mark.parametrize("transport", ["settings"], indirect=True)
@pytest.mark.parametrize("stranger", ["raising", "sleeping", "garbage"])
def test_a_stranger_s_fault_changes_nothing_else_and_is_told(program, stranger):
    toml = (TOML % "").replace('"doom-loop"]', f'"{stranger}", "doom-loop"]', 1)
    (program.root / "work" / "trimtab.toml").write_text(toml)

    result, requests = program.run([*LOOKS, servers.say("Done.")])

    assert result["result"] == "Done."
    assert told(requests, LOOP) == [0, 0, 0, 1, 1, 1]
    assert sum(told(requests, "never heard")) == 0
    assert any(
        f":{stranger} failed" in problem["message"] for problem in status(program)["problems"]
    )


def test_a_subagent_has_its_own_counts(program):
    main = [servers.say(bash("cat missing.txt")) for _ in range(2)]
    script = servers.choose(
        servers.claude_code_asker,
        {
            "main": [*main, servers.say(agent("general-purpose")), servers.say("Done.")],
            "subagent": [*LOOKS, servers.say("Found nothing.")],
        },
    )

    _, requests = program.run(script)

    by_asker = {name: [] for name in ("main", "subagent")}
    for request in requests:
        by_asker[servers.claude_code_asker(request)].append(request)
    assert told(by_asker["subagent"], LOOP) == [0, 0, 0, 1, 1, 1]
    assert told(by_asker["main"], LOOP) == [0, 0, 0, 0]


def test_an_agent_type_without_providers_hears_nothing(program):
    script = servers.choose(
        servers.claude_code_asker,
        {
            "main": [servers.say(agent("Explore")), servers.say("Done.")],
            "subagent": [*LOOKS, servers.say("Found nothing.")],
        },
    )

    _, requests = program.run(script)

    assert sum(told(requests, "<guidance")) == 0
    assert len(requests) == 8


def test_a_resumed_session_goes_on_where_it_was(program):
    first, _ = program.run([*LOOKS[:4], servers.say("Wait.")])
    end_server(program.state)

    _, requests = program.run([*LOOKS[:4], servers.say("Done.")], "--resume", first["session_id"])

    assert told(requests, LOOP) == [1, 1, 1, 2, 2]  # a new request of the user begins a new loop
    assert recorded_calls(program) == 8


def killing(program, turns):
    """A script during which the server is killed before some of the looks."""
    count = iter(range(1, 7))

    def script(request):
        turn = next(count)
        if turn in turns:
            os.kill(server_pid(program.state), signal.SIGKILL)
        return servers.say(bash("cat missing.txt")) if turn < 6 else servers.say("Done.")

    return script


@pytest.mark.parametrize("transport", ["settings"], indirect=True)
def test_counts_survive_a_compaction_in_the_middle_of_a_loop(program):
    full = attrs.evolve(LOOKS[0], input_tokens=150_000)
    script = servers.choose(
        servers.claude_code_asker,
        {
            "main": [servers.say(bash("pwd")), full, *LOOKS[1:4], servers.say("Done.")],
            "compaction": [servers.say("<summary>Looked once.</summary>")],
        },
    )

    result, requests = program.run(script, "--autocompact", "100000")

    assert result["result"] == "Done."
    assert [servers.claude_code_asker(request) for request in requests].index("compaction") == 2
    assert told(requests, LOOP) == [0, 0, 0, 0, 0, 1, 1]  # of three looks, the first is forgotten
    assert recorded_calls(program) == 5


@pytest.mark.parametrize("transport", ["settings"], indirect=True)
def test_counts_survive_a_compaction_that_the_user_asks_for(program):
    first, _ = program.run([*LOOKS[:4], servers.say("Wait.")])
    resume = ("--resume", first["session_id"])
    summary = servers.say("<summary>Looked four times.</summary>")
    program.run([summary], *resume, prompt="/compact")

    _, requests = program.run([*LOOKS[:4], servers.say("Done.")], *resume)

    assert told(requests, LOOP) == [0, 0, 0, 1, 1]  # what was said before is not in the summary
    assert recorded_calls(program) == 8


SCHEMA = {"type": "object", "properties": {"number": {"type": "integer"}}, "required": ["number"]}


def final(number):
    return servers.say(servers.Call("StructuredOutput", {"number": number}))


@pytest.mark.parametrize("transport", ["settings"], indirect=True)
def test_structured_output_is_held_three_times_while_work_is_open(program):
    (program.root / "work" / "trimtab.toml").write_text(TOML % '"never"')
    schema = ("--json-schema", json.dumps(SCHEMA))

    result, requests = program.run([final(number) for number in range(6)], *schema)

    assert result["structured_output"] == {"number": 3}
    assert told(requests, "There is more to do.") == [0, 1, 2, 3]


@pytest.mark.parametrize("transport", ["settings"], indirect=True)
def test_structured_output_passes_where_no_work_is_open(program):
    result, requests = program.run([final(7)], "--json-schema", json.dumps(SCHEMA))

    assert (result["structured_output"], len(requests)) == ({"number": 7}, 1)


@pytest.mark.parametrize("transport", ["settings"], indirect=True)
@pytest.mark.parametrize("turns", [(3,), (2, 3, 4, 5)])
def test_a_killed_server_loses_no_event_of_a_long_run(program, turns):
    result, requests = program.run(killing(program, turns))

    assert result["result"] == "Done."
    assert told(requests, LOOP)[-1] == 1
    assert recorded_calls(program) == 5


@pytest.mark.parametrize("transport", ["settings"], indirect=True)
def test_a_stopped_server_does_not_hold_its_session_up(program):
    pids = []

    def script(request):
        if not pids:
            pids.append(server_pid(program.state))
            os.kill(pids[0], signal.SIGSTOP)
        return next(answers)

    answers = iter([*LOOKS, servers.say("Done.")])
    began = time.monotonic()
    try:
        result, requests = program.run(script)
    finally:
        with contextlib.suppress(ProcessLookupError):  # whoever replaces it ends it
            os.kill(pids[0], signal.SIGKILL)

    assert result["result"] == "Done."  # events pass unguided for a while after an unanswered one
    assert len(requests) == 6
    assert time.monotonic() - began < 30


@pytest.mark.parametrize("transport", ["settings"], indirect=True)
def test_a_full_disk_stops_nobody(program, transport):
    (program.root / "state" / "claude-code" / "sessions").write_text("no folder can be made here")

    result, _ = program.run([*LOOKS[:2], servers.say("Done.")])

    assert result["result"] == "Done."
    assert status(program)["problems"]


@pytest.mark.parametrize("transport", ["settings"], indirect=True)
def test_a_prompt_that_can_not_be_built_stops_nobody_and_is_named(program):
    toml = '[hosts.claude-code]\nprompt = "a/b"\n[prompts."a/b"]\nguidance = ["doom-lop"]'
    (program.root / "work" / "trimtab.toml").write_text(toml)

    result, _ = program.run([*LOOKS[:2], servers.say("Done.")])

    assert result["result"] == "Done."
    assert "No guidance provider 'doom-lop'" in status(program)["problems"][0]["message"]


def recorded_calls(program):
    (session,) = status(program, "--all")["sessions"]
    return session["calls"]


def status(program, *words):
    done = subprocess.run(
        [sys.executable, "-m", "trimtab", "status", *(words or ["claude-code"]), "--json"],
        cwd=program.root / "work",
        env={**os.environ, **program.variables},
        capture_output=True,
        timeout=60,
    )
    return json.loads(done.stdout)


def test_doctor_proves_delivery_through_the_program(user, trimtab, monkeypatch):
    monkeypatch.delenv("PYTHONPATH")  # it brings its own canary along
    began = time.monotonic()

    status, printed = trimtab("doctor", "claude-code")

    assert (status, printed.count("ok  ")) == (0, 8), printed
    assert time.monotonic() - began < 60
