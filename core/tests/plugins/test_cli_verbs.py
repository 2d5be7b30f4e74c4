"""Verbs of other packages: listed without import, loaded when called."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

REGISTER = """
def register(parser):
    parser.add_argument("number", type=int)
    parser.set_defaults(run=lambda options: options.number)
"""


def install(site, module: str, source: str, *, name: str = "acme", verb: str = "count") -> None:
    entries = f"[trimtab.commands]\n{verb} = {module}:register\n"
    site.add(name, entries=entries, **{module: source})


def test_help_lists_every_verb_and_imports_none(site, trimtab):
    install(site, "acme_verb", "raise SystemExit(3)")

    done = trimtab("--help")

    assert done.returncode == 0
    for words in ("plugins ", "explain ", "count ", "About acme (acme 1.0)"):
        assert words in done.stdout


@pytest.mark.parametrize("number", [0, 5])
def test_a_verb_runs_and_gives_its_exit_status(site, trimtab, number):
    install(site, "acme_verb", REGISTER)

    assert trimtab("count", str(number)).returncode == number
    assert trimtab("count", "x").returncode == 2
    assert "number" in trimtab("count", "--help").stdout


def test_a_verb_that_returns_nothing_has_succeeded(site, trimtab):
    install(site, "acme_verb", "def register(p): p.set_defaults(run=lambda o: None)")

    assert trimtab("count").returncode == 0


@pytest.mark.parametrize(
    ("source", "what"),
    [
        ("raise RuntimeError('broken')", "Can't load the command 'count' of acme 1.0: "),
        ("raise SystemExit(0)", "Can't load the command 'count' of acme 1.0: "),
        ("register = 3", "The command 'count' of acme 1.0 is not callable: acme_verb:register"),
    ],
)
def test_a_broken_verb_stops_itself_alone(site, trimtab, source, what):
    install(site, "acme_verb", source)

    done = trimtab("count")

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"trimtab: {what}")
    assert trimtab("plugins", "list").returncode == 0


def test_an_error_of_trimtab_s_own_is_a_message(site, trimtab):
    source = (
        "from trimtab import SessionError\n"
        "def run(options): raise SessionError('no such run')\n"
        "def register(p): p.set_defaults(run=run)\n"
    )
    install(site, "acme_verb", source)

    assert (trimtab("count").returncode, trimtab("count").stderr) == (2, "trimtab: no such run\n")


def test_an_error_keeps_its_lines_and_gives_the_terminal_no_orders(site, trimtab):
    source = (
        "from trimtab import SessionError\n"
        "def run(options): raise SessionError('no run \\x1b[2Jred\\x07:\\n  give one')\n"
        "def register(p): p.set_defaults(run=run)\n"
    )
    install(site, "acme_verb", source)

    assert trimtab("count").stderr == "trimtab: no run \\x1b[2Jred\\x07:\n  give one\n"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
@pytest.mark.parametrize("words", [["plugins", "list"], ["--version"]])
def test_a_full_disk_is_a_message(site, words):
    with Path("/dev/full").open("w") as full:
        command = [sys.executable, "-m", "trimtab", *words]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)

    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert done.stderr.startswith("trimtab: [Errno 28]")
    assert "'standard output'" in done.stderr


@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-"])
def test_a_closed_channel_stops_nothing(site, closed):
    command = ["sh", "-c", f'"$0" -m trimtab plugins list {closed}', sys.executable]
    done = subprocess.run(command, capture_output=True, text=True, check=False)

    assert (done.returncode, done.stderr) == (0, "")


def test_a_verb_that_two_packages_offer_needs_the_long_form(site, trimtab):
    install(site, "acme_verb", REGISTER)
    install(site, "acme_other", REGISTER, name="other")

    done = trimtab("count", "3")

    assert done.returncode == 2
    assert "write one of 'acme:count', 'other:count'" in done.stderr
    assert trimtab("other:count", "3").returncode == 3


@pytest.mark.parametrize(
    ("source", "what"),
    [
        (
            "def register(p): pass",
            "The command 'count' of acme 1.0 has nothing to run: acme_verb:register must call p",
        ),
        (
            "async def run(options): return 0\ndef register(p): p.set_defaults(run=run)",
            "What `trimtab count` runs returned coroutine; it must return its exit status",
        ),
        (
            "def register(p): p.set_defaults(run=lambda options: 'done')",
            "What `trimtab count` runs returned str; it must return its exit status",
        ),
    ],
)
def test_a_verb_without_a_run_that_gives_a_status_says_what_it_lacks(site, trimtab, source, what):
    install(site, "acme_verb", source)

    done = trimtab("count")

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"trimtab: {what}")
    assert "Traceback" not in done.stderr and "never awaited" not in done.stderr


def test_a_mistyped_option_of_a_verb_is_answered_with_its_usage_and_the_nearest(site, trimtab):
    source = (
        "def register(p):\n"
        "    one = p.add_subparsers().add_parser('one')\n"
        "    one.add_argument('--slowly', action='store_true')\n"
        "    one.set_defaults(run=lambda options: 0)\n"
    )
    install(site, "acme_verb", source)

    for words in (("count", "one", "--slwoly"), ("count", "one", "--slwoly=3")):
        done = trimtab(*words)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.startswith("usage: trimtab count one [-h] [--slowly]\n")
        assert f"unrecognized arguments: {words[-1]}. Did you mean '--slowly'?" in done.stderr
    assert "usage: trimtab count one" in trimtab("count", "one", "two").stderr
    assert "unrecognized argument: ''" in trimtab("count", "one", "").stderr


@pytest.mark.parametrize("verb", ["plugins", "install", "help"])
def test_trimtab_s_own_verbs_can_not_be_taken(site, trimtab, verb):
    install(site, "acme_verb", "raise SystemExit(3)", verb=verb)

    assert trimtab("plugins", "list", "--kind", "commands").returncode == 0
    assert "acme" not in trimtab("--help").stdout
    done = trimtab("plugins", "doctor")
    assert f"acme:{verb} can't be called: `trimtab {verb}` is trimtab's own" in done.stdout
    assert done.returncode == 1
