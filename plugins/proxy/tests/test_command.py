"""``trimtab proxy``: how programs are started, what they are told, and how they end."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest

from trimtab import ConfigurationError, DecisionPoint, GuidanceProviderConfig
from trimtab.__main__ import main
from trimtab_proxy import _frames, read_guide
from trimtab_proxy._launching import LaunchFailed, cautions, launch, upstream_variables
from trimtab_proxy._settings import UnsupportedPoint, check_prompt, read_settings
from trimtab_proxy._upstreams import read_upstreams

from . import upstream as fake

pytestmark = pytest.mark.slow

TRIMTAB = str(Path(sys.executable).parent / "trimtab")
BASE = "http://127.0.0.1:1/secret"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with a configuration that names one provider."""
    (tmp_path / "trimtab.toml").write_text(
        '[hosts.proxy]\nprompt = "agent/main"\n[prompts."agent/main"]\nguidance = []\n'
    )
    monkeypatch.chdir(tmp_path)
    return tmp_path


def trimtab(*arguments, **more):
    command = [TRIMTAB, "proxy", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, **more)


def python(code):
    return [sys.executable, "-c", code]


# Whose services are asked, and what programs are told.


def test_a_service_is_recorded_by_its_usual_name_else_by_its_host():
    found = read_upstreams({"openai": "https://openrouter.ai/api/v1"}, {})

    services = {name: each.service for name, each in found.items()}
    assert services.pop("openai") == "openrouter.ai"
    assert all(name == service for name, service in services.items())


def test_further_variables_and_those_of_copilot_lead_to_the_proxy():
    url = "https://x/v1"
    environment = {"COPILOT_PROVIDER_BASE_URL": url, "COPILOT_PROVIDER_TYPE": "anthropic"}
    further = {"MY_URL": "openai/v1"}

    told = launch(["copilot"], environment, BASE, further).environment

    assert told["MY_URL"] == f"{BASE}/openai/v1"
    assert told["COPILOT_PROVIDER_BASE_URL"] == f"{BASE}/anthropic"
    assert "COPILOT_PROVIDER_BASE_URL" not in launch(["copilot"], {}, BASE).environment
    upstreams = read_upstreams({}, upstream_variables("copilot", environment))
    assert upstreams["anthropic"].base == url
    others = read_upstreams({}, upstream_variables("other", environment))
    assert others["anthropic"].base != url


def test_settings_that_lead_around_the_proxy_are_named(tmp_path):
    home = {"CLAUDE_CONFIG_DIR": str(tmp_path / "home")}
    (tmp_path / ".claude").mkdir()
    assert cautions("claude", home, tmp_path) == []
    (tmp_path / ".claude/settings.local.json").write_text('{"env": {"ANTHROPIC_BASE_URL": "x"}}')
    (tmp_path / ".claude/settings.json").write_text("[")

    found = cautions("claude", {**home, "CLAUDE_CODE_USE_BEDROCK": "1"}, tmp_path)

    assert [words in text for words, text in zip(("BEDROCK", "settings.local"), found, strict=True)]
    assert cautions("other", {"CLAUDE_CODE_USE_BEDROCK": "1"}, tmp_path) == []
    assert "GitHub's own" in cautions("copilot", {}, tmp_path)[0]


def test_pi_is_told_by_an_extension_for_one_start():
    start = launch(["/bin/pi", "-p", "Go."], {}, BASE)

    assert start.command[:2] == ("/bin/pi", "-e")
    assert start.command[3:] == ("-p", "Go.")
    assert "registerProvider" in Path(start.command[2]).read_text()
    assert start.environment["TRIMTAB_PROXY_URL"] == BASE
    assert launch(["pi", "install", "x"], {}, BASE).command == ("pi", "install", "x")


@pytest.mark.parametrize(
    ("program", "file", "text"),
    [
        ("cn", ".continue/config.yaml", "apiBase: ${{ secrets.OPENAI_BASE_URL }}"),
        ("cline", ".cline/data/settings/providers.json", '"baseUrl": "http://127.0.0.1:8377/t"'),
    ],
)
def test_a_program_that_reads_a_file_alone_is_named_unless_the_file_leads_here(
    tmp_path, program, file, text
):
    path = tmp_path / file
    (found,) = cautions(program, {"HOME": str(tmp_path)}, tmp_path)
    assert file in found
    path.parent.mkdir(parents=True)
    path.write_text(text)

    assert cautions(program, {"HOME": str(tmp_path)}, tmp_path) == []


def test_a_program_that_goes_around_is_noticed(folder):
    done = trimtab(
        "--set", "MY_URL=openai", "--", *python("import os; print(os.environ['MY_URL'])")
    )

    assert done.stdout.endswith("/openai\n")
    assert "no request passed: python" in done.stderr
    assert "MY_URL. If it takes the address from another variable" in done.stderr


def test_a_variable_that_leads_nowhere_is_refused(folder):
    done = trimtab("--set", "MY_URL=opnai/v1", "--", *python("print('started')"))

    assert (done.returncode, done.stdout) == (2, "")
    assert "there is no upstream 'opnai'. Did you mean 'openai'?" in done.stderr


def test_programs_are_told_by_variables():
    start = launch(["agent", "-x"], {"PATH": "/bin", "OPENAI_BASE_URL": "http://old"}, BASE)

    assert start.command == ("agent", "-x")
    assert start.environment == {
        "PATH": "/bin",
        "ANTHROPIC_BASE_URL": f"{BASE}/anthropic",
        "OPENAI_BASE_URL": f"{BASE}/openai",
        "OPENAI_API_BASE": f"{BASE}/openai",
        "GOOGLE_GEMINI_BASE_URL": f"{BASE}/gemini",
    }


@pytest.mark.parametrize(
    ("environment", "told"),
    [
        ({}, "true"),
        ({"ANTHROPIC_BASE_URL": "https://api.anthropic.com/"}, "true"),
        ({"ANTHROPIC_BASE_URL": "https://gateway.example/v1"}, None),
        ({"ENABLE_TOOL_SEARCH": "auto:5"}, "auto:5"),
        ({"ENABLE_TOOL_SEARCH": ""}, ""),
    ],
)
def test_claude_code_goes_on_searching_for_tools(environment, told):
    start = launch(["/opt/claude", "-p"], environment, BASE)

    assert start.environment.get("ENABLE_TOOL_SEARCH") == told
    assert start.environment["ANTHROPIC_BASE_URL"] == f"{BASE}/anthropic"


def test_codex_is_told_by_flags():
    start = launch(["/opt/codex", "exec", "Hi"], {"OPENAI_API_KEY": "sk"}, BASE)

    flags = start.command[1:-2]
    assert start.command[0] == "/opt/codex"
    assert start.command[-2:] == ("exec", "Hi")
    assert set(flags[::2]) == {"-c"}
    assert f'model_providers.trimtab.base_url="{BASE}/openai"' in flags
    assert 'model_providers.trimtab.env_key="OPENAI_API_KEY"' in flags
    assert "sk" not in flags


def test_codex_without_a_key_goes_by_its_users_login():
    flags = launch(["codex"], {}, BASE).command

    assert f'model_providers.trimtab.base_url="{BASE}/chatgpt"' in flags
    assert "model_providers.trimtab.requires_openai_auth=true" in flags


def test_what_opencode_is_told_already_stays():
    given = {"model": "x", "provider": {"openai": {"options": {"timeout": 5}, "models": {}}}}
    start = launch(["opencode"], {"OPENCODE_CONFIG_CONTENT": json.dumps(given)}, BASE)

    told = json.loads(start.environment["OPENCODE_CONFIG_CONTENT"])
    openai = {"options": {"timeout": 5, "baseURL": f"{BASE}/openai"}, "models": {}}
    assert (told["model"], told["provider"]["openai"]) == ("x", openai)
    assert told["provider"]["anthropic"]["options"]["baseURL"] == f"{BASE}/anthropic/v1"


@pytest.mark.parametrize(
    "given", ["[]", "no json", '{"provider": 1}', '{"provider": {"openai": 1}}']
)
def test_settings_of_opencode_that_can_not_be_extended_are_said(given):
    with pytest.raises(LaunchFailed, match="OPENCODE_CONFIG_CONTENT"):
        launch(["opencode"], {"OPENCODE_CONFIG_CONTENT": given}, BASE)


def test_a_proxy_of_the_network_is_not_asked_for_this_machine():
    start = launch(["agent"], {"HTTPS_PROXY": "http://p:1", "NO_PROXY": "x.example"}, BASE)

    assert start.environment["NO_PROXY"] == "x.example,127.0.0.1,localhost"
    assert start.environment["no_proxy"] == "127.0.0.1,localhost"


# How it runs.


def test_output_input_and_exit_status_are_the_programs(folder):
    code = "import sys; print(sys.stdin.read().upper()); print('e', file=sys.stderr); sys.exit(7)"
    done = trimtab("--", *python(code), input="in")

    assert (done.returncode, done.stdout) == (7, "IN\n")
    *first, last = done.stderr.splitlines()
    assert first == ["e", "trimtab: 0 requests, 0 runs, 0 hints"]
    assert last.startswith("trimtab: no request passed: python asked no model, or does not read ")


def test_arguments_pass_as_they_are(folder):
    done = trimtab(
        "--quiet", "--", *python("import sys; print(sys.argv[1:])"), "--quiet", "--", "x y"
    )

    assert done.stdout == "['--quiet', '--', 'x y']\n"
    assert done.stderr == ""


def test_a_program_that_a_signal_ends_has_the_status_of_shells(folder):
    code = "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"

    assert trimtab("--quiet", "--", *python(code)).returncode == 128 + signal.SIGKILL


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1])
def test_signals_are_passed_on(folder, number):
    code = f"""
import signal, sys, time
signal.signal({int(number)}, lambda *_: sys.exit(42))
print("ready", flush=True)
for _ in range(300):  # a signal just before a sleep is handled after it
    time.sleep(0.1)
"""
    command = [TRIMTAB, "proxy", "--quiet", "--", *python(code)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "ready\n"
        process.send_signal(number)
        assert process.wait(30) == 42


def test_an_interrupt_is_the_programs_to_decide_about(folder):
    code = """
import signal, sys, time
signal.signal(signal.SIGINT, lambda *_: sys.exit(43))
print("ready", flush=True)
for _ in range(300):  # a signal just before a sleep is handled after it
    time.sleep(0.1)
"""
    command = [TRIMTAB, "proxy", "--quiet", "--", *python(code)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        assert process.stdout.readline() == "ready\n"
        os.killpg(process.pid, signal.SIGINT)
        assert process.wait(30) == 43


def test_an_interrupt_of_the_proxy_alone_reaches_the_program(folder):
    code = """
import signal, sys, time
signal.signal(signal.SIGINT, lambda *_: sys.exit(44))
print("ready", flush=True)
for _ in range(300):
    time.sleep(0.1)
"""
    command = [TRIMTAB, "proxy", "--quiet", "--", *python(code)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGINT)
        assert process.wait(25) == 44


def test_a_system_that_names_no_sender_is_asked_for_the_foreground(monkeypatch):
    passed_on = []
    monkeypatch.setattr(_frames, "_CAN_WAIT", False)
    for foreground in (True, False):
        monkeypatch.setattr(_frames, "_in_foreground", lambda answer=foreground: answer)
        with _frames.interrupts_told(lambda: passed_on.append("interrupt")):
            signal.raise_signal(signal.SIGINT)

    assert passed_on == ["interrupt"]


COUNTS_INTERRUPTS = """
import os, signal, sys, time
signal.signal(signal.SIGINT, lambda *_: sys.exit(45))
print("ready", flush=True)
for _ in range(15 if "short" in sys.argv else 300):
    time.sleep(0.1)
"""


def test_an_interrupt_of_the_proxy_alone_reaches_the_program_in_a_terminal_too(folder):
    _, ended = interrupted_in_terminal(lambda process, _: process.send_signal(signal.SIGINT))

    assert ended == 45


def test_the_interrupt_of_a_terminal_reaches_the_program_once(folder):
    # A print in a handler fails where the interrupt comes before the print of "ready" has ended.
    code = COUNTS_INTERRUPTS.replace("sys.exit(45)", "os.write(1, b'!')")
    shown, ended = interrupted_in_terminal(
        lambda _, master: os.write(master, b"\x03"), code, "short"
    )

    assert (shown.count("!"), ended) == (1, 0), shown


def interrupted_in_terminal(interrupt, code=COUNTS_INTERRUPTS, *arguments):
    """Run a program behind the proxy in the foreground of a terminal of its own."""
    master, slave = os.openpty()
    command = [TRIMTAB, "proxy", "--quiet", "--", *python(code), *arguments]
    take = "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0)"
    start = [*python(f"{take}; os.execv(sys.argv[1], sys.argv[1:])"), *command]
    with subprocess.Popen(
        start, stdin=slave, stdout=slave, stderr=slave, start_new_session=True
    ) as process:
        os.close(slave)
        shown = ""
        while "ready" not in shown:
            shown += os.read(master, 1000).decode()
        interrupt(process, master)
        ended = process.wait(30)
    with contextlib.suppress(OSError):  # the end of what was shown
        shown += os.read(master, 1000).decode()
    os.close(master)
    return shown, ended


def test_requests_of_the_program_are_guided_and_summed_up(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "trimtab.toml").write_text("[hosts.proxy]\nnotify = true\n")
    code = """
import json, os, urllib.request as r
call = {"type": "tool_use", "id": "t%d", "name": "Bash", "input": {"command": "x"}}
result = {"type": "tool_result", "tool_use_id": "t%d", "content": "failed", "is_error": True}
messages = [{"role": "user", "content": "Go."}]
for n in range(5):
    body = {"model": "m", "messages": messages, "tools": [{"name": "Bash"}]}
    url = os.environ["ANTHROPIC_BASE_URL"] + "/v1/messages"
    r.urlopen(r.Request(url, json.dumps(body).encode(), {"x-claude-code-session-id": "s"})).read()
    messages.append({"role": "assistant", "content": [{**call, "id": f"t{n}"}]})
    messages.append({"role": "user", "content": [{**result, "tool_use_id": f"t{n}"}]})
"""
    with fake.Upstream() as service:
        environment = {**os.environ, "ANTHROPIC_BASE_URL": service.url}
        environment["TRIMTAB_HOME"] = str(tmp_path / "home")
        done = trimtab("--guidance", "doom-loop", "--", *python(code), env=environment)

    if "No guidance provider" in done.stderr:
        pytest.skip("needs trimtab-doom-loop")
    notice, line, words = done.stderr.splitlines()
    assert line == "trimtab: 5 requests, 1 run, 1 hint (doom-loop 1)"
    assert notice.removeprefix("trimtab: ") == words.strip()
    assert words.partition(" doom-loop: ")[2].startswith("Turn 3: You made the call")
    assert [each.body.count(b"<guidance") for each in service.received] == [0, 0, 0, 1, 0]
    monkeypatch.setenv("TRIMTAB_HOME", environment["TRIMTAB_HOME"])
    assert main(["status", "--json"]) == 0
    (session,) = json.loads(capsys.readouterr().out)["sessions"]
    assert (session["host"], session["title"], session["running"]) == ("proxy", "Go.", False)
    assert [(nudge["provider"], nudge["state"]) for nudge in session["nudges"]] == [
        ("doom-loop", "delivered"), ("doom-loop", "held back"),
    ]  # fmt: skip
    assert {path.name for path in tmp_path.iterdir()} == {"home", "trimtab.toml"}


def test_it_serves_until_it_is_stopped(folder):
    with fake.Upstream() as service:
        command = [TRIMTAB, "proxy", "--serve", "--upstream", service.url, "--token", "t" * 16]
        with subprocess.Popen(
            command, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        ) as process:
            url = process.stdout.readline().strip()
            got = httpx.post(url + "/v1/messages", content=b"{}", trust_env=False)
            process.send_signal(signal.SIGTERM)
            assert process.wait(30) == 0

    assert url.endswith("/" + "t" * 16)
    assert got.status_code == 200


def test_a_program_that_is_done_at_once_is_not_held_up(folder):
    began = time.monotonic()
    done = trimtab("--quiet", "--", *python("pass"))

    assert done.returncode == 0
    assert time.monotonic() - began < 20


# What is said when it can't.


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "name a program behind --"),
        (("--serve", "--", "x"), "name a program behind --"),
        (("--", "no-such-program"), "'no-such-program' can't be started: No such file"),
        (("--upstream", "http://api.example", "--serve"), "unencrypted"),
        (("--upstream", "https://api.example", "--", "x"), "--upstream anthropic=URL"),
        (("--upstream", "A b=https://x.example", "--", "x"), "can't be called 'A b'"),
        (
            ("--upstream", "https://a.example", "--upstream", "b=https://b.example", "--serve"),
            "alone",
        ),
        (("--token", "short", "--serve"), "--token must be"),
        (("--guidance", "no-such-provider", "--", "x"), "no-such-provider"),
        (("--config", "missing.toml", "--", "x"), "missing.toml"),
    ],
)
def test_what_can_not_be_done_is_said(folder, arguments, message):
    done = trimtab(*arguments)

    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_without_a_prompt_it_says_what_to_write(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "trimtab.toml").write_text("")
    with pytest.raises(ConfigurationError, match=r"\[hosts.proxy\]\n  prompt = "):
        read_guide()


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ('prompts = "x"', "unknown key 'prompts'. Did you mean 'prompt'?"),
        ("prompt = 1", "prompt must be a prompt's name, or false"),
        ('prompt = "other"', 'there is no table [prompts."other"]'),
        ('prompt = "agent/main"\nsubagents = "other"', "subagents names 'other'"),
        ('prompt = "agent/main"\ngate = 1', "gate must be true or false"),
        ('prompt = "agent/main"\ntimeout = 0', "timeout must be a number of seconds"),
        ('prompt = "agent/main"\ntimeout = true', "timeout must be a number of seconds"),
    ],
)
def test_a_wrong_table_is_said(tmp_path, table, message):
    file = tmp_path / "trimtab.toml"
    file.write_text(f'[hosts.proxy]\n{table}\n[prompts."agent/main"]\nguidance = []\n')

    with pytest.raises(ConfigurationError) as caught:
        read_guide(file)

    assert message in str(caught.value)
    assert str(file) in str(caught.value)


WRONG = (
    "unknown key 'prompts'",
    "prompt names 'other'",
    "subagents must be a prompt's name",
    "gate must be true or false",
    "timeout must be a number of seconds",
    "journal.enabled must be true or false",
    "unknown key 'journal.keep_day'",
    "redact must be an array",
    "notify must be true or false",
)


def test_all_that_is_wrong_in_a_table_is_said_at_once(tmp_path):
    file = tmp_path / "trimtab.toml"
    wrong = (
        'prompts = 1\nprompt = "other"\nsubagents = 1\ngate = 1\ntimeout = 0\nnotify = 1\n'
        "redact = [1]\njournal = { enabled = 1, keep_day = 1 }\n"
    )
    file.write_text(f"[hosts.proxy]\n{wrong}")

    with pytest.raises(ConfigurationError) as caught:
        read_guide(file)

    said = str(caught.value)
    assert [word in said for word in WRONG] == [True] * len(WRONG), said


def test_subagents_share_the_prompt_unless_told_otherwise(tmp_path):
    from trimtab import load_configuration

    def settings(table):
        file = tmp_path / f"{len(table)}.toml"
        prompts = '[prompts."a/main"]\nguidance = []\n[prompts."a/sub"]\nguidance = []\n'
        file.write_text(f"[hosts.proxy]\n{table}\n{prompts}")
        read = read_settings(load_configuration(file))
        return read.prompt, read.subagents

    assert settings('prompt = "a/main"') == ("a/main", "a/main")
    assert settings('prompt = "a/main"\nsubagents = false') == ("a/main", None)
    assert settings('prompt = "a/main"\nsubagents = "a/sub"') == ("a/main", "a/sub")
    assert settings('subagents = "a/sub"') == (None, "a/sub")


def test_a_provider_that_would_never_be_heard_is_refused(make_prompt, speaker):
    prompt = make_prompt(speaker(decision_points=(DecisionPoint.PRE_RENDER,)))

    with pytest.raises(UnsupportedPoint, match="'speaker' speaks only at PRE_RENDER"):
        check_prompt(prompt, gate=True)


@pytest.mark.parametrize(
    ("gate", "refuse", "heard"), [(False, True, False), (True, False, False), (True, True, True)]
)
def test_a_provider_that_refuses_calls_needs_the_gate(make_prompt, speaker, gate, refuse, heard):
    provider = speaker(decision_points=(DecisionPoint.PRE_TOOL_EXECUTION,))
    prompt = make_prompt(GuidanceProviderConfig(provider, refuse=refuse))

    if heard:
        assert check_prompt(prompt, gate=gate) == ()
    else:
        with pytest.raises(UnsupportedPoint):
            check_prompt(prompt, gate=gate)


def test_completion_checkers_without_the_gate_are_noted(make_prompt):
    class Checker:
        name = "checker"

        def check(self, context):
            """Never asked."""

    prompt = make_prompt(completion_checkers=[Checker()])

    assert "only with gate = true" in check_prompt(prompt, gate=False)[0]
    assert check_prompt(prompt, gate=True) == ()
