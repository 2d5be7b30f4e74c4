"""``trimtab plugins``: what it prints, what it imports, and its exit status."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

LOOP = "[trimtab.guidance]\nloop = {}:Loop\n"
GOOD = """
print("noise on import")
class Loop:
    name = category = "loop"
    def classify(self, *, context): ...
    def provide(self, *, context): ...
"""


def install(site, module: str, source: str, *, name: str = "acme", **more) -> None:
    site.add(name, entries=LOOP.format(module), **more, **{module: source})


def test_a_listing_names_what_to_type_and_where_it_comes_from(site, trimtab):
    install(site, "acme_good", GOOD)

    done = trimtab("plugins", "list", "--kind", "guidance")

    lines = done.stdout.splitlines()
    assert lines[lines.index("acme 1.0: About acme") + 1] == "  guidance     loop"
    assert (done.returncode, done.stderr) == (0, "")


def test_a_listing_fits_a_terminal_and_names_a_package_once(site, trimtab):
    names = "".join(f"reader-number-{n} = acme_good:Loop\n" for n in range(40))
    site.add("acme", entries=f"[trimtab.transcripts]\n{names}", acme_good=GOOD)

    lines = trimtab("plugins", "list").stdout.splitlines()

    assert max(map(len, lines)) < 80
    assert sum(line.startswith("acme 1.0") for line in lines) == 1
    assert sum(line.count("reader-number-") for line in lines) == 40


def test_a_clash_is_listed_in_the_long_form(site, trimtab):
    install(site, "acme_good", GOOD)
    install(site, "acme_other", GOOD, name="other")

    listed = trimtab("plugins", "list").stdout

    assert "  guidance     acme:loop\n" in listed
    assert "  guidance     other:loop\n" in listed


def test_a_listing_as_json(site, trimtab):
    install(site, "acme_good", GOOD)
    site.add("latin", entries=b"\xff")

    found = json.loads(trimtab("plugins", "list", "--kind", "guidance", "--json").stdout)

    assert found["format"] == 1
    assert {entry["kind"] for entry in found["entries"]} == {"guidance"}
    assert next(entry for entry in found["entries"] if entry["name"] == "loop") == {
        "kind": "guidance",
        "name": "loop",
        "full_name": "acme:loop",
        "distribution": "acme",
        "version": "1.0",
        "target": "acme_good:Loop",
        "summary": "About acme",
        "requires": ["trimtab>=0.1,<0.2"],
        "api_level": None,
        "where": str(site.path / "acme-1.0.dist-info"),
    }
    assert [problem["distribution"] for problem in found["problems"]] == ["latin"]
    assert set(found["problems"][0]) == {"distribution", "where", "severity", "message", "fix"}


def test_a_listing_mentions_problems_beside_what_it_prints(site, trimtab):
    site.add("latin", entries=b"\xff")
    assert trimtab("plugins", "list").stderr == (
        "1 package has a problem: see `trimtab plugins doctor`.\n"
    )

    site.add("roman", entries=b"\xff")
    assert trimtab("plugins", "list").stderr.startswith("2 packages have problems: ")


@pytest.mark.slow
@pytest.mark.parametrize(
    "command", [["list"], ["list", "--json"], ["show", "loop"], ["doctor"], ["doctor", "loop"]]
)
def test_no_command_imports_a_provider_into_its_own_process(site, python, command):
    install(site, "acme_good", GOOD)
    code = (
        "import sys; from trimtab._cli import main; "
        f"status = main(['plugins', *{command}]); "
        "heavy = ('acme_good', 'asyncio', 'tomllib')[: 3 if 'doctor' not in "
        f"{command} else 1]; sys.stderr.write(str([m for m in heavy if m in sys.modules]))"
    )

    done = python("-c", code)

    assert done.stderr == "[]"
    assert "noise" not in done.stdout


@pytest.mark.slow
def test_show_tells_all_kinds_of_a_name(site, trimtab):
    site.add(
        "acme",
        entries="[trimtab.guidance]\nx-y = m:A\n[trimtab.feedback]\nX_y = m:B\n",
        requires=("trimtab>=99",),
    )

    done = trimtab("plugins", "show", "acme:x.y")

    assert done.returncode == 1
    assert done.stdout.startswith("acme:x-y: feedback provider\n  package    acme 1.0\n")
    assert "\n\nacme:x-y: guidance provider\n" in done.stdout
    assert "problem    acme 1.0 asks for 'trimtab>=99', and trimtab" in done.stdout
    shown = json.loads(trimtab("plugins", "show", "x-y", "--json").stdout)
    assert [entry["target"] for entry in shown["entries"]] == ["m:B", "m:A"]


@pytest.mark.parametrize("command", ["show", "doctor"])
def test_an_unknown_name_is_bad_input(site, trimtab, command):
    install(site, "acme_good", GOOD)

    done = trimtab("plugins", command, "lopp")

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(
        "trimtab: Nothing called 'lopp' is installed. Did you mean 'loop'? `trimtab plugins list` "
        "shows what is."
    )


@pytest.mark.parametrize(
    "entries",
    ["[trimtab.guidence]\nmine = acme_mine:M\n", "[trimtab.guidance]\nmine = acme_mine\n"],
)
def test_a_name_whose_entry_point_is_wrong_is_said_to_be_perhaps_damaged(site, trimtab, entries):
    site.add("mine", entries=entries, acme_mine="class M: ...")

    done = trimtab("plugins", "doctor", "mine")

    assert done.returncode == 2
    assert "packages are damaged: `trimtab plugins doctor` names them." in done.stderr


@pytest.mark.parametrize(
    "arguments", [("plugin",), ("plugins", "list", "--kind", "x"), ("--nope",), ("plugins", "-x")]
)
def test_a_wrong_command_line_is_bad_input(trimtab, arguments):
    done = trimtab(*arguments)

    assert done.returncode == 2
    assert done.stderr.startswith("usage: trimtab")
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("arguments", [(), ("plugins",)])
def test_a_command_without_its_sub_command_shows_its_help(trimtab, arguments):
    done = trimtab(*arguments)

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == trimtab(*arguments, "--help").stdout


def test_a_mistyped_option_is_answered_with_the_nearest(trimtab):
    assert trimtab("--verison").stderr.endswith(
        "error: unknown option --verison. Did you mean '--version'?\n"
    )


@pytest.mark.parametrize("command", ["list", "show", "doctor"])
def test_each_sub_command_says_what_it_does(trimtab, command):
    about = trimtab("plugins", command, "--help").stdout
    (summary,) = [
        line.split(maxsplit=1)[1]
        for line in trimtab("plugins", "--help").stdout.splitlines()
        if line.startswith(f"    {command} ")
    ]

    assert f"\n{summary}\n" in about


@pytest.mark.slow
def test_show_tells_the_options_and_imports_elsewhere(site, trimtab):
    taking = """
class Loop:
    \"\"\"A provider.

    Args:
        size: how many
            at once.
    \"\"\"
    def __init__(self, path: str, *, size: "int | None" = 3, free=()): ...
"""
    install(site, "acme_takes", taking)
    install(site, "acme_raises", "raise RuntimeError('broken')", name="other")

    shown = trimtab("plugins", "show", "acme:loop")

    assert shown.stdout.splitlines()[-4:] == [
        "  option path: str, required",
        "  option size: int | None, default 3",
        "      how many at once.",
        "  option free: any, default ()",
    ]
    done = trimtab("plugins", "show", "other:loop")
    assert (done.returncode, "failed with RuntimeError: broken" in done.stdout) == (1, True)
    done = trimtab("plugins", "show", "other:loop", "--json")
    (problem,) = json.loads(done.stdout)["entries"][0]["problems"]
    assert (done.returncode, "failed with RuntimeError: broken" in problem) == (1, True)
    found = json.loads(trimtab("plugins", "show", "acme:loop", "--json").stdout)
    assert found["entries"][0]["problems"] == []
    assert found["entries"][0]["options"][1] == {
        "name": "size",
        "type": "int | None",
        "required": False,
        "default": "3",
        "description": "how many at once.",
    }
    assert "acme_takes" not in sys.modules


def errors(trimtab, *arguments, **variables):
    """What doctor finds wrong, but for packages of ours, whose clients may be left out here."""
    done = trimtab("plugins", "doctor", *arguments, "--json", **variables)
    found = [one for one in json.loads(done.stdout)["problems"] if one["severity"] == "error"]
    assert done.returncode == int(bool(found))
    return [one for one in found if not one["distribution"].startswith("trimtab-")]


@pytest.mark.slow
def test_doctor_finds_nothing_where_nothing_is_wrong(site, trimtab):
    install(site, "acme_good", GOOD)

    assert errors(trimtab) == []
    assert "acme" not in trimtab("plugins", "doctor").stdout


@pytest.mark.slow
@pytest.mark.parametrize(
    ("module", "source", "what"),
    [
        ("acme_raises", "raise RuntimeError('broken')", "failed with RuntimeError: broken"),
        ("acme_exits", "import sys; sys.exit(7)", "failed with SystemExit: 7"),
        ("acme_dies", "import os; os._exit(9)", "can't be loaded: the process ended with status 9"),
        ("acme_stops", "raise KeyboardInterrupt", "failed with KeyboardInterrupt"),
        ("acme_lacks", "x = 1", "has no 'Loop'"),
        ("acme_empty", "class Loop: pass", "'loop' of acme 1.0 is not a guidance provider: Loop"),
        ("acme_ctor", "def Loop(): raise OSError('no disk')", "failed with OSError: no disk"),
    ],
)
def test_doctor_loads_what_is_named_and_says_what_is_wrong(site, trimtab, module, source, what):
    install(site, module, source)
    assert errors(trimtab) == []

    done = trimtab("plugins", "doctor", "loop")

    assert done.returncode == 1
    assert what in done.stdout
    assert done.stdout.startswith("acme: ")
    assert done.stderr == ""


@pytest.mark.slow
def test_doctor_does_not_wait_for_ever(site, trimtab):
    install(site, "acme_hangs", "import time; time.sleep(60)")

    done = trimtab("plugins", "doctor", "loop", "--timeout", "2")

    assert done.returncode == 1
    assert "acme:loop hangs while it is loaded: it was not done within 2 seconds" in done.stdout


@pytest.mark.slow
def test_doctor_praises_what_loads(site, trimtab):
    thread = "import threading, time; threading.Thread(target=time.sleep, args=(60,)).start()\n"
    install(site, "acme_good", thread + GOOD)
    site.add(
        "tools",
        entries="[trimtab.feedback]\nneedy = acme_more:Needy\nmute = acme_more:Mute\n"
        "[trimtab.completion]\ncheck = acme_more:Check\n[trimtab.hosts]\nhost = acme_more:Host\n",
        acme_more="""
class Needy:
    def __init__(self, path): raise RuntimeError("never made here")
class Mute:
    name = "mute"
    def should_run(self, *, context): ...
    def provide(self, *, context): ...
class Check:
    def check(self, context): ...
Host = "anything"
""",
    )

    done = trimtab("plugins", "doctor", "loop", "needy", "mute", "check", "host", "loop")

    assert done.stdout.splitlines() == [
        "acme:loop: loads, and is a valid guidance provider",
        "tools:needy: loads, and is a valid feedback provider",
        "tools:mute: loads, and is a valid feedback provider",
        "tools:check: loads, and is a valid completion checker",
        "tools:host: loads, and is a valid host",
    ]
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.slow
def test_doctor_finds_without_importing(site, trimtab):
    site.add("gone", entries=LOOP.format("acme_gone.sub"))
    (site.path / "acme_package").mkdir()
    (site.path / "acme_package" / "__init__.py").write_text("raise SystemExit(3)")
    (site.path / "acme_package" / "broken.py").write_text("def (")
    (site.path / "acme_package" / "fine.py").write_text("Loop = 1")
    site.add("syntax", entries=LOOP.format("acme_package.broken"))
    site.add("fine", entries=LOOP.format("acme_package.fine"))
    site.add("deep", entries=LOOP.format("acme_package.fine.deeper"))
    site.add("builtin", entries=LOOP.format("sys"))
    site.add("future", entries=LOOP.format("json"), requires=("trimtab>=99",))
    site.add("silent", entries=LOOP.format("json"), requires=())

    done = trimtab("plugins", "doctor", "--json")

    found: dict = {}
    for problem in json.loads(done.stdout)["problems"]:
        ours = problem["distribution"].startswith("trimtab-")  # may lack their clients here
        if "another package offers" not in problem["message"] and not ours:
            found[problem["distribution"]] = problem["message"]
    assert found.pop("syntax").startswith("syntax:loop points to acme_package.broken, which is dam")
    assert found.pop("future").startswith("future 1.0 asks for 'trimtab>=99', and trimtab ")
    assert found == {
        "gone": "gone:loop points to acme_gone.sub, which is not installed",
        "deep": "deep:loop points to acme_package.fine.deeper, which is not installed",
        "silent": "silent:loop declares no requirement on trimtab",
    }
    assert done.returncode == 1


@pytest.mark.slow
def test_a_clash_and_a_silent_package_are_harmless(site, trimtab):
    site.add("one", entries=LOOP.format("json"), requires=())
    site.add("two", entries=LOOP.format("json"))

    done = trimtab("plugins", "doctor")

    assert errors(trimtab) == []
    assert "two: note: another package offers a guidance provider 'loop' too" in done.stdout
    assert "fix: write 'two:loop' where you mean this one" in done.stdout


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("alow = []", "unknown key 'alow'"),
        ("require = ['acme-nothing']", "The configuration requires 'acme-nothing'"),
    ],
)
def test_doctor_looks_at_the_configuration(trimtab, tmp_path, text, what):
    Path("trimtab.toml").write_text(text)
    Path("good.toml").write_text("")

    assert what in trimtab("plugins", "doctor").stdout
    assert trimtab("plugins", "doctor").returncode == 1
    assert errors(trimtab, "--config", "good.toml") == []


@pytest.mark.slow
def test_doctor_looks_at_the_switches(trimtab):
    done = trimtab("plugins", "doctor", TRIMTAB_PLUGINS="maybe")

    assert done.returncode == 1
    assert "where: the environment" in done.stdout


@pytest.mark.slow
def test_doctor_notices_a_kill_switch_that_hits_nothing(site, trimtab):
    install(site, "acme_good", GOOD)

    done = trimtab("plugins", "doctor", TRIMTAB_DISABLE="acme:loop,lopp")

    assert errors(trimtab, TRIMTAB_DISABLE="acme:loop,lopp") == []
    assert "note: TRIMTAB_DISABLE names 'lopp', and nothing installed" in done.stdout
    assert "acme:loop" not in done.stdout


@pytest.mark.slow
def test_a_reader_that_leaves_is_no_error_to_talk_about(site):
    for number in range(60):
        site.add(f"acme-{number}", entries=f"[trimtab.guidance]\nloop-{number} = m:n\n" * 1)
    command = [sys.executable, "-m", "trimtab", "plugins", "list", "--json"]
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(site.path)},
    )
    process.stdout.close()

    _, err = process.communicate(timeout=60)

    assert (process.returncode, err) == (1, b"")


@pytest.mark.slow
def test_a_terminal_that_lacks_a_character_still_gets_the_listing(site, python):
    metadata = "Name: acme\nVersion: 1\nSummary: größer →\n"
    site.add("acme", entries=LOOP.format("acme_good"), metadata=metadata, acme_good=GOOD)

    done = python(
        "-m", "trimtab", "plugins", "show", "loop", PYTHONIOENCODING="ascii", PYTHONUTF8="0"
    )

    assert r"gr\xf6\xdfer \u2192" in done.stdout
    assert done.returncode == 0


@pytest.mark.slow
def test_the_installed_program_is_the_module(python):
    program = Path(sysconfig.get_path("scripts"), "trimtab")
    done = subprocess.run([program, "--version"], check=True, capture_output=True, text=True)

    assert done.stdout == python("-m", "trimtab", "--version").stdout
    assert done.stdout.startswith("trimtab 0.")


@pytest.mark.slow
def test_doctor_with_names_looks_at_their_packages_only(importable, trimtab, monkeypatch):
    monkeypatch.setenv("TRIMTAB_DISABLE", "nobody")
    importable.add("acme", entries=LOOP.format("acme_ok"), acme_ok=GOOD)
    importable.add("broken", entries="[trimtab.guidance]\nwhat is this\n")

    done = trimtab("plugins", "doctor", "acme:loop")

    assert done.returncode == 0
    assert len(done.stdout.splitlines()) == 1
    found = trimtab("plugins", "doctor")
    assert found.returncode == 1
    assert "nobody" in found.stdout


@pytest.mark.slow
@pytest.mark.parametrize("seconds", ["0", "-1", "nan", "inf", "x"])
def test_doctor_refuses_a_timeout_that_is_no_time(trimtab, seconds):
    assert trimtab("plugins", "doctor", "--timeout", seconds).returncode == 2


def test_help_describes_each_installed_command_by_its_own_docstring(importable, trimtab):
    code = 'raise RuntimeError(\'imported\')\ndef register(parser):\n    """Paint the fence."""\n'
    importable.add(
        "acme", entries="[trimtab.commands]\npaint = acme_paint:register\n", acme_paint=code
    )

    done = trimtab("--help")

    assert "Paint the fence (acme 1.0)" in " ".join(done.stdout.split())


def test_a_mistyped_command_is_answered_with_the_nearest(trimtab):
    done = trimtab("plugin")

    assert done.returncode == 2
    assert "Did you mean 'plugins'?" in done.stderr


@pytest.mark.parametrize(
    ("words", "near"),
    [
        (("plugins", "docter"), "'doctor'"),
        (("plugins", "list", "--kind", "guidanse"), "'guidance'"),
        (("plugins", "nothing-like-it"), None),
    ],
)
def test_a_mistyped_word_is_answered_with_the_nearest(trimtab, words, near):
    done = trimtab(*words)

    assert done.returncode == 2
    assert ("Did you mean" in done.stderr) is (near is not None)
    assert near is None or f"Did you mean {near}?" in done.stderr


def test_a_command_that_fails_names_its_package(importable, trimtab):
    code = "def register(parser): raise RuntimeError('no paint')"
    importable.add("acme", entries="[trimtab.commands]\npaint = acme_p:register\n", acme_p=code)

    done = trimtab("paint")

    assert (done.returncode, "Traceback" in done.stderr) == (2, False)
    assert "'paint' of acme 1.0 failed: RuntimeError: no paint" in done.stderr
