"""A release up to the upload: built, checked, sent to an index on loopback, installed, heard."""

from __future__ import annotations

import importlib.util
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from trimtab._cli import main

# It builds each distribution in an environment of its own.
pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]

ROOT = Path(__file__).parents[2]
SPEAKS = """
from trimtab import DecisionPoint, MarkdownSection, Prompt, Session
run = Session().open_run(
    Prompt("a", "b", [MarkdownSection(title="T", key="t", template="x")],
           guidance_providers=["doom-loop"])
)
for number in range(3):
    run.model_responded()
    run.tool_started("Bash", {"command": "make"}, f"c{number}")
    run.tool_finished(f"c{number}", "no rule to make target")
print(run.guide(DecisionPoint.PRE_TOOL_SELECTION).text)
"""


@pytest.fixture(scope="module")
def release() -> ModuleType:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT))
        spec = importlib.util.spec_from_file_location("release", ROOT / "release.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        yield module


@pytest.fixture(scope="module")
def built(release: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("release")
    assert release.main(["build", str(folder)]) == 0
    return folder


@pytest.fixture
def index(tmp_path: Path) -> Iterator[str]:
    """The URL of an empty package index."""
    pytest.importorskip("pypiserver")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    packages = tmp_path / "packages"
    packages.mkdir()
    options = ["-i", "127.0.0.1", "-p", str(port), "-P", ".", "-a", ".", "--disable-fallback"]
    command = [sys.executable, "-m", "pypiserver", "run", *options, str(packages)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as server:
        url = f"http://127.0.0.1:{port}"
        for _ in range(100):
            try:
                urllib.request.urlopen(url, timeout=1).close()
                break
            except OSError:
                time.sleep(0.1)
        yield url
        server.terminate()


def test_what_is_released_is_in_order(release: ModuleType, built: Path) -> None:
    assert release.main(["check", str(built)]) == 0


@pytest.mark.timeout(300)
def test_a_release_can_be_installed_and_speaks(
    release: ModuleType, built: Path, index: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TWINE_USERNAME", "any")
    monkeypatch.setenv("TWINE_PASSWORD", "any")
    assert release.main(["upload", str(built), "--to", f"{index}/"]) == 0

    python = tmp_path / "fresh" / "bin" / "python"
    uv = [sys.executable, "-m", "uv"]
    subprocess.run([*uv, "venv", "-q", "-p", sys.executable, str(tmp_path / "fresh")], check=True)
    install = [*uv, "pip", "install", "-q", "--index", f"{index}/simple/", "-p", str(python)]
    subprocess.run([*install, "trimtab-doom-loop"], check=True)
    said = subprocess.run([python, "-c", SPEAKS], capture_output=True, text=True, check=True)

    assert said.stdout.startswith('<guidance source="doom-loop">')


NEXT = """
import warnings
from trimtab import Prompt, TrimtabDeprecationWarning, __version__
with warnings.catch_warnings(record=True) as noted:
    warnings.simplefilter("always")
    prompt = Prompt("a", "b", config=None, guidance_providers=["look-first"])
print(__version__, [str(one.message) for one in noted if one.category is TrimtabDeprecationWarning])
from trimtab import DecisionPoint, Outcome, Session
run = Session().open_run(prompt)
for number in range(5):
    run.model_responded()
    run.tool_started("shell", {"command": "make"}, f"c{number}")
    run.tool_finished(f"c{number}", "1 error", outcome=Outcome.ERROR)
print(run.guide(DecisionPoint.PRE_TOOL_SELECTION).text)
"""


def test_a_plugin_of_today_works_with_the_next_minor_version_and_another_level(
    tmp_path: Path,
) -> None:
    core, plugin, site = tmp_path / "core", tmp_path / "plugin", tmp_path / "site"
    shutil.copytree(ROOT / "core", core, ignore=shutil.ignore_patterns("tests", "__pycache__"))
    for name, old, new in (
        ("_version.py", '"0.1.0"', '"0.2.0"'),
        ("_plugins/__init__.py", "LEVEL = 1", "LEVEL = 2"),
    ):
        path = core / "src" / "trimtab" / name
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new, 1))
    assert main(["new", "guidance", "look-first", "--to", str(plugin)]) == 0
    uv = [sys.executable, "-m", "uv"]
    for folder in (core, plugin):
        build = [*uv, "build", "-q", "--wheel", "-o", str(tmp_path / "dist"), str(folder)]
        subprocess.run(build, check=True)
    wheels = [*map(str, (tmp_path / "dist").glob("*.whl"))]
    install = [*uv, "pip", "install", "-q", "--no-deps", "--target", str(site), *wheels]
    subprocess.run(install, check=True)
    environment = {**os.environ, "PYTHONPATH": str(site)}
    python = [sys.executable, "-c", NEXT]
    done = subprocess.run(python, capture_output=True, text=True, env=environment, cwd=tmp_path)

    assert done.returncode == 0, done.stderr
    version, _, text = done.stdout.partition("\n")
    assert version.startswith("0.2.0 ['trimtab-look-first 0.1.0 was written for API level 1")
    assert "5 calls in a row failed" in text


def test_nothing_goes_to_a_public_index_before_the_project_has_a_home(
    release: ModuleType, built: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert release.main(["upload", str(built)]) == 2
    assert "release.py home URL" in capsys.readouterr().err


def test_a_folder_that_lacks_a_distribution_is_refused(
    release: ModuleType, built: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for path in built.glob("trimtab-[0-9]*"):
        (tmp_path / path.name).write_bytes(path.read_bytes())

    assert release.main(["check", str(tmp_path)]) == 1
    assert "has 1 wheels" in capsys.readouterr().err


def test_the_same_sources_give_the_same_bytes(release: ModuleType, built: Path) -> None:
    """A sample, with and without data files; the workflow of a release compares all."""
    assert release.main(["again", str(built), "trimtab", "trimtab-replay"]) == 0


def test_other_sources_are_told_apart(
    release: ModuleType, built: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for path in built.glob("trimtab_reminder-*"):
        (tmp_path / path.name).write_bytes(path.read_bytes() + b"\n")

    assert release.main(["again", str(tmp_path), "trimtab-reminder"]) == 1
    assert "Other bytes: trimtab_reminder-" in capsys.readouterr().out


def test_the_tests_of_a_source_archive_run_with_what_it_declares(
    release: ModuleType, built: Path
) -> None:
    """A sample; `dev.py solo` runs those of all, in an environment that has more."""
    assert release.main(["test", str(built), "trimtab-reminder"]) == 0


def test_a_name_that_no_distribution_has_is_refused(release: ModuleType, tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="'doom-loop'; there are trimtab, "):
        release.main(["test", str(tmp_path), "doom-loop"])


def test_core_is_uploaded_before_the_plugins(release: ModuleType) -> None:
    names = [folder.name for folder in release.in_order()]

    assert names[0] == "core"
    assert names.index("worker") < names.index("redis")
