"""``trimtab completion``: what a shell is offered, command by command."""

from __future__ import annotations

import shutil
import subprocess
import sys

import pytest

from trimtab._cli import main

COMPLETES = """
shopt -s expand_aliases
trimtab() {{ "{python}" -m trimtab "$@"; }}
eval "$(trimtab completion bash)"
for COMP_LINE in "trimtab plug" "trimtab plugins s" "trimtab plugins list --ki" "trimtab cou"; do
    COMP_POINT=${{#COMP_LINE}}; COMP_TYPE=9; COMP_WORDBREAKS=" "; COMPREPLY=()
    _python_argcomplete trimtab
    echo "$COMP_LINE: ${{COMPREPLY[*]}}"
done
"""
OFFERED = """\
trimtab plug: plugins
trimtab plugins s: show
trimtab plugins list --ki: --kind
trimtab cou: count
"""


@pytest.mark.slow
def test_a_shell_completes_commands_of_packages_too(site, monkeypatch):
    pytest.importorskip("argcomplete")
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("bash is not here")
    site.add("acme", entries="[trimtab.commands]\ncount = acme:register\n", acme="1 / 0")
    monkeypatch.setenv("PYTHONPATH", str(site.path))
    code = COMPLETES.format(python=sys.executable)
    done = subprocess.run([bash, "-c", code], capture_output=True, text=True, timeout=60)

    shown = "".join(f"{line.rstrip()}\n" for line in done.stdout.splitlines())
    assert shown == OFFERED, done.stderr


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_has_its_code(shell, capsys):
    pytest.importorskip("argcomplete")

    assert main(["completion", shell]) == 0
    assert "trimtab" in capsys.readouterr().out


def test_without_argcomplete_the_command_says_what_to_install(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "argcomplete", None)

    assert main(["completion", "bash"]) == 2
    assert "install trimtab[completion]" in capsys.readouterr().err


@pytest.mark.parametrize("words", [[], ["plugins"], ["help"], ["help", "plugins"]])
def test_a_command_without_what_it_needs_shows_its_help(words, capsys):
    with pytest.raises(SystemExit, match=r"^(0|None)$"):
        main(words)
    assert capsys.readouterr().out.startswith("usage: trimtab")


def test_the_version_has_a_short_option(capsys):
    assert main(["-V"]) == 0
    assert capsys.readouterr().out.startswith("trimtab ")
