"""The changelog is made of files, one an entry."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

NEXT = {"0.1.1": ">=0.1,<0.2", "0.2.0": ">=0.2,<0.3", "1.0.0rc1": ">=1.0,<1.1"}


@pytest.fixture(scope="module")
def kinds_and_topics(root: Path) -> tuple[set[str], set[str]]:
    towncrier = tomllib.loads((root / "pyproject.toml").read_text())["tool"]["towncrier"]
    kinds = {kind["directory"] for kind in towncrier["type"]}
    return kinds, {section["path"] for section in towncrier["section"]}


def test_every_entry_has_a_known_topic_and_kind_and_is_a_list_item(
    root: Path, kinds_and_topics: tuple[set[str], set[str]]
) -> None:
    kinds, topics = kinds_and_topics
    entries = [path for path in (root / "changes").rglob("*") if path.is_file()]
    for path in entries:
        if path.parent == root / "changes":
            assert path.name in ("README.md", "template.md"), f"{path}: put it in a topic's folder"
            continue
        parts = path.name.split(".")
        lines = path.read_text().splitlines()

        assert path.parent.name in topics, f"{path}: topics are {sorted(topics)}"
        assert len(parts) == 3, f"{path}: name it NAME.KIND.md"
        assert parts[1] in kinds, f"{path}: kinds are {sorted(kinds)}"
        assert lines[0].startswith("- "), f"{path}: begin with '- '"
        assert [line for line in lines if not line.startswith(("- ", "  "))] == []


def test_the_page_for_authors_names_all_topics_and_kinds(
    root: Path, kinds_and_topics: tuple[set[str], set[str]]
) -> None:
    page = (root / "changes/README.md").read_text()

    assert [name for names in kinds_and_topics for name in names if f"`{name}`" not in page] == []


@pytest.mark.slow
@pytest.mark.parametrize("version", NEXT)
def test_a_release_dates_the_entries_and_moves_all_ranges(
    root: Path, tmp_path: Path, version: str
) -> None:
    for name in ("CHANGELOG.md", "pyproject.toml", "dev.py", "release.py"):
        shutil.copy(root / name, tmp_path)
    shutil.copytree(root / "changes", tmp_path / "changes")
    for path in [*root.glob("core/pyproject.toml"), *root.glob("plugins/*/pyproject.toml")]:
        folder = tmp_path / path.parent.relative_to(root)
        folder.mkdir(parents=True)
        shutil.copy(path, folder)
    source = Path("core/src/trimtab/_version.py")
    (tmp_path / source).parent.mkdir(parents=True)
    shutil.copy(root / source, tmp_path / source)
    subprocess.run([sys.executable, "release.py", "version", version], cwd=tmp_path, check=True)
    changelog = (tmp_path / "CHANGELOG.md").read_text()
    left = [path.name for path in (tmp_path / "changes").rglob("*.md")]
    declared = [path.read_text() for path in tmp_path.glob("plugins/*/pyproject.toml")]

    assert f"<!-- releases -->\n\n## {version} - 20" in changelog
    assert "`trimtab-doom-loop`" in changelog
    assert sorted(left) == ["README.md", "template.md"]
    assert f'__version__ = "{version}"' in (tmp_path / source).read_text()
    assert all(f'"trimtab{NEXT[version]}"' in text for text in declared)
