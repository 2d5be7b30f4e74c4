"""Distributions made by hand, and the command line run in a process of its own."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import attrs
import pytest

from trimtab._cli import main
from trimtab._plugins.discovery import forget
from trimtab.inspection import Registry, discover

VARIABLES = ("TRIMTAB_CONFIG", "TRIMTAB_DISABLE", "TRIMTAB_HOME", "TRIMTAB_PLUGINS")


@attrs.frozen
class Site:
    """A folder in which distributions are installed."""

    path: Path

    def add(
        self,
        name: str,
        version: str = "1.0",
        *,
        entries: str | bytes | None = "",
        requires: tuple[str, ...] = ("trimtab>=0.1,<0.2",),
        metadata: str | bytes | None = None,
        folder: str = "",
        **modules: str,
    ) -> Path:
        """Install a distribution as an installer would, or worse; return its metadata folder.

        `entries` and `metadata` are the files' content, None leaves them out; `modules` become
        source files.
        """
        info = self.path / (folder or f"{name.replace('-', '_')}-{version}.dist-info")
        info.mkdir(parents=True)
        lines = [f"Name: {name}", f"Version: {version}", f"Summary: About {name}"]
        lines += [f"Requires-Dist: {requirement}" for requirement in requires]
        text = "Metadata-Version: 2.1\n" + "\n".join(lines) + "\n\nVersion: of the description\n"
        _write(info / "METADATA", text if metadata is None else metadata)
        if entries is not None:
            _write(info / "entry_points.txt", entries)
        for module, source in modules.items():
            _write(self.path / f"{module}.py", source)
        return info

    def registry(self) -> Registry:
        """What a scan of this folder alone finds."""
        return discover([str(self.path)])


def _write(path: Path, content: str | bytes) -> None:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())


@pytest.fixture(autouse=True)
def _undisturbed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run each test in an empty folder, with none of trimtab's variables set."""
    for variable in VARIABLES:
        monkeypatch.delenv(variable, raising=False)
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)


@pytest.fixture
def site(tmp_path: Path) -> Site:
    """An empty folder to install into; nothing imports from it."""
    path = tmp_path / "site"
    path.mkdir()
    return Site(path)


@pytest.fixture
def importable(site: Site, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    """The same folder, first on `sys.path`; call `refresh` after installing."""
    monkeypatch.syspath_prepend(str(site.path))
    yield site
    monkeypatch.undo()
    for name, module in list(sys.modules.items()):
        if str(getattr(module, "__file__", "")).startswith(str(site.path)):
            del sys.modules[name]
    forget()


Command = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def trimtab(
    importable: Site, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Command:
    """Run a command line in this process, with what the folder now holds installed."""

    def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        forget()
        with monkeypatch.context() as patch:
            for name, value in environment.items():
                patch.setenv(name, value)
            try:
                status = main(arguments)
            except SystemExit as stop:
                status = int(stop.code or 0)
        printed = capsys.readouterr()
        return subprocess.CompletedProcess(arguments, status, printed.out, printed.err)

    return run


@pytest.fixture
def python(site: Site, unmeasured: dict[str, str]) -> Command:
    """Run a Python of its own with the folder first on its path."""

    def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, *arguments],
            check=False,
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=60,
            env={**unmeasured, "PYTHONPATH": str(site.path), **environment},
        )

    return run
