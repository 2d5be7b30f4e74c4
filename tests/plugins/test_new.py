"""What `trimtab new` writes can be installed, type-checked, tested and heard as it is."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from trimtab._cli import main
from trimtab_testing._commands import KINDS

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]


def run(*command, cwd, environment=None):
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        *((kind, "look-first") for kind in KINDS),
        *((kind, "tests-green") for kind in KINDS if kind not in {"command", "mailbox"}),
        ("command", "install-acme"),
        ("command", "status-acme"),
    ],
)
def test_a_new_package_passes_its_own_tests(kind, name, tmp_path, monkeypatch):
    folder = tmp_path / "made"
    assert main(["new", kind, name, "--to", str(folder)]) == 0
    built = tmp_path / "dist"
    run(sys.executable, "-m", "uv", "build", "-q", "--wheel", "-o", str(built), cwd=folder)
    (wheel,) = built.glob("*.whl")
    site = tmp_path / "site"
    install = ["pip", "install", "-q", "--no-deps", "--target", str(site), str(wheel)]
    run(sys.executable, "-m", "uv", *install, cwd=tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(site))
    python = [sys.executable, "-m"]

    strict = ["-q", "-W", "error", "--strict-markers", "-p", "no:asyncio", "-p", "no:cacheprovider"]
    assert "passed" in run(*python, "pytest", *strict, "tests", cwd=folder)
    if kind == "command":
        (told,) = re.findall("Then run `trimtab (.+)`", (folder / "README.md").read_text())
        assert run(*python, "trimtab", *told.split(), cwd=tmp_path) == f"{name}\n"
    else:
        assert "valid" in run(*python, "trimtab", "plugins", "doctor", name, cwd=tmp_path)


@pytest.mark.parametrize("kind", KINDS)
def test_a_new_package_is_typed(kind, tmp_path):
    pytest.importorskip("mypy")
    folder = tmp_path / "made"
    assert main(["new", kind, "test-first", "--to", str(folder)]) == 0

    run(sys.executable, "-m", "mypy", cwd=folder)


@pytest.mark.parametrize("name", ["Look", "look_first", "-look", "look--first", "", "a" * 61])
def test_a_name_that_is_none_is_refused_and_nothing_is_written(name, tmp_path, capsys):
    assert main(["new", "guidance", "--to", str(tmp_path / "made"), "--", name]) == 2
    assert "lower-case letters" in capsys.readouterr().err
    assert not (tmp_path / "made").exists()


def test_an_installed_package_is_not_written_anew(tmp_path, capsys):
    assert main(["new", "guidance", "doom-loop", "--to", str(tmp_path / "made")]) == 2
    assert "trimtab-doom-loop 0.1.0 is installed" in capsys.readouterr().err
    assert not (tmp_path / "made").exists()


@pytest.mark.parametrize("name", ["plugins", "doctor", "help"])
def test_a_command_that_could_never_run_is_refused(name, tmp_path, capsys):
    assert main(["new", "command", name, "--to", str(tmp_path / "made")]) == 2
    assert f"`trimtab {name}` is trimtab's own" in capsys.readouterr().err
    assert not (tmp_path / "made").exists()
    assert main(["new", "guidance", name, "--to", str(tmp_path / "made")]) == 0
