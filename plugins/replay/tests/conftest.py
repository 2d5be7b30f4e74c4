"""Fixtures for the tests of replay, backtest and report."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from trimtab._cli import main
from trimtab.inspection import refresh

from .speakers import install

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def speakers(tmp_path: Path) -> Iterator[None]:
    """The providers of `speakers`, installed for one test."""
    site = tmp_path / "site"
    install(site)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(site))
        refresh()
        yield
    refresh()


@pytest.fixture
def run(speakers: None, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run `trimtab` with arguments; return its status and what it printed."""

    def call(*arguments: object) -> tuple[int, str, str]:
        status = main([str(argument) for argument in arguments])
        printed = capsys.readouterr()
        return status, printed.out, printed.err

    return call


def call(tool: str = "ls", result: str = "a b", turn: int | None = None, **facts: Any) -> Any:
    """One call of a case."""
    return {"tool": tool, "args": {}, "result": result, "error": False, "turn": turn, **facts}


@pytest.fixture
def write_cases(tmp_path: Path) -> Callable[..., Path]:
    """Write cases into a file and return it."""

    def write(*cases: dict[str, Any], name: str = "cases.jsonl") -> Path:
        path = tmp_path / name
        rows = [{"expected": "silent", "at": None, **case} for case in cases]
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        return path

    return write
