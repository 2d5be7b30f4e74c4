"""The commands for work on the code say what they lack."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest


def test_install_says_that_it_needs_uv(dev: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dev.importlib.util, "find_spec", lambda name: None)

    with pytest.raises(SystemExit, match=r"needs uv beside the running Python: .* -m pip install"):
        dev.main(["install"])


def test_a_registry_that_is_out_of_reach_is_said(
    dev: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(dev, "VENV", tmp_path / "venv")
    monkeypatch.setattr(dev.venv, "create", lambda *_, **__: None)
    monkeypatch.setattr(dev, "run", lambda command, **_: 1)

    with pytest.raises(SystemExit, match=r"could not install uv>=.*needs a package registry"):
        dev.main(["setup"])
