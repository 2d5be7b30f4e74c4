"""Pages show what their readers can see and what the commands print."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

CODE_BLOCK = re.compile(r"^```[^\n]*\n(.*?)^```$", re.DOTALL | re.MULTILINE)
COLUMN = 88
"""Characters of code that the text column shows in a window of 1280 pixels."""


def pages(root: Path) -> Iterator[Path]:
    yield from sorted(root.glob("*.md"))
    yield from sorted((root / "docs").rglob("*.md"))
    yield from sorted(root.glob("plugins/*/README.md"))


def test_no_line_of_code_is_wider_than_the_column(root: Path) -> None:
    wide = [
        f"{page.relative_to(root)}: {line}"
        for page in pages(root)
        for block in CODE_BLOCK.findall(page.read_text(encoding="utf-8"))
        for line in block.splitlines()
        if len(line) > COLUMN and not line.startswith(":")  # options of a directive
    ]

    assert wide == []


@pytest.mark.slow
@pytest.mark.parametrize("name", ["timeline.svg", "watch.svg"])
def test_a_picture_shows_what_the_command_prints(name: str, root: Path) -> None:
    """Where it does not: ``python docs/pictures.py``."""
    pytest.importorskip("rich")
    pytest.importorskip("trimtab_replay")
    spec = importlib.util.spec_from_file_location("pictures", root / "docs" / "pictures.py")
    pictures = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(pictures)
    kept = (root / "docs" / "how-to" / name).read_text(encoding="utf-8")

    assert pictures.words_in(kept) == pictures.words_in(pictures.PICTURES[name]())


HOOKS = "plugins/claude-code/README.md"
PROXY = "docs/how-to/proxy.md"
SAID = "docs/how-to/said.md"
COST = "docs/explanation/cost.md"
LIMITS: list[tuple[str, str, str, float]] = [
    (HOOKS, "waits {} seconds for its", "_claude_code._breaker.EVENT_SECONDS", 1.7),
    (HOOKS, "without guidance for {} seconds", "_claude_code._client.RETRY_AFTER", 30),
    (HOOKS, "taken more than a second", "_claude_code._guided_session.MOST_SECONDS", 1),
    (HOOKS, "has waited {} seconds in all", "_claude_code._breaker.SESSION_SECONDS", 3),
    (HOOKS, "a second each time that", "_claude_code._guided_session.LOAD_SECONDS", 1),
    (HOOKS, "the first 20 milliseconds", "_claude_code._guided_session.FREE_SECONDS", 0.02),
    (HOOKS, "an hour after the last event", "_claude_code._server.IDLE_TIMEOUT", 3600),
    (HOOKS, "are cut to 8,000 characters", "_trace._secrets.LONGEST_TEXT", 8_000),
    (PROXY, "waits longer than {} seconds", "_proxy._guidance.DECISION_SECONDS", 5),
    (PROXY, "waits {} seconds for checkers", "_proxy._guidance.JUDGE_SECONDS", 60),
    (PROXY, "are limited to 64 MB", "_proxy._upstreams.MOST_BODY_BYTES", 64 * 1024 * 1024),
    (PROXY, "Up to 16 MB of the messages", "_proxy._reader.MOST_CHARACTERS", 16_000_000),
    (PROXY, "of the last {} requests stay", "_proxy._reader.MOST_KEPT", 8),
    (PROXY, "{} conversations are followed", "_proxy._threads.MOST_THREADS", 64),
    (SAID, "beyond 20 MB (or half of", "_trace._journal.recorder.LARGEST_BYTES", 20_000_000),
    (COST, "arguments up to {} characters", "._session._KEPT_PARAMS", 256),
]


@pytest.mark.parametrize(("page", "words", "limit", "value"), LIMITS)
def test_a_limit_in_a_page_is_the_one_that_holds(
    page: str, words: str, limit: str, value: float, root: Path
) -> None:
    """That each of them holds is tested with its package."""
    module, _, name = f"trimtab{limit}".rpartition(".")
    pytest.importorskip(module.partition(".")[0])
    text = " ".join((root / page).read_text(encoding="utf-8").split())

    assert words.format(f"{value:g}") in text
    assert getattr(importlib.import_module(module), name) == value


def test_no_page_holds_the_marks_of_a_merge(root: Path) -> None:
    marks = re.compile(r"^(?:<{7} |>{7} )", re.MULTILINE)

    assert [page for page in pages(root) if marks.search(page.read_text(encoding="utf-8"))] == []
