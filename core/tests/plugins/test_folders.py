"""Folders, archives and what other finders know: what the library finds, read with care."""

from __future__ import annotations

import importlib.metadata
import os
import re
import sys
import zipfile
from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path, PurePath

import attrs
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from trimtab._plugins.discovery import installed_metadata
from trimtab.inspection import Registry, discover, installed_version, refresh

ENTRIES = "[console_scripts]\nx = a:b\n\n[trimtab.guidance]\nloop = acme.loop:Loop\n"
_numbers = count()

names = st.sampled_from(["acme", "Acme", "acme_loop", "acme.loop", "ACME_Loop", "other"])
versions = st.sampled_from(["1.0", "2.0", "0.1.dev3"])
forms = st.sampled_from(
    ["{}-{}.dist-info", "{}-{}.egg-info", "{}.egg-info", "{}-{}.DIST-INFO", "{}-{}.egg/EGG-INFO"]
)
texts = st.sampled_from(["", ENTRIES, ENTRIES.replace("\n", "\r\n"), "[other]\nx = y:z\n", "\r"])


@attrs.frozen
class Made:
    """One metadata folder of a made-up environment; `entries` is None for a folder without."""

    name: str
    version: str
    form: str
    entries: str | None
    whole: bool
    is_file: bool

    @property
    def path(self) -> str:
        return self.form.format(self.name, self.version)

    def install(self, folder: Path) -> Iterator[str]:
        """Write it; yield what must be on the path for it."""
        where = folder / self.path
        if where.exists():
            return
        head = f"Metadata-Version: 2.1\nName: {self.name}\n"
        text = f"{head}Version: {self.version}\n\nWords\n" if self.whole else head
        where.parent.mkdir(parents=True, exist_ok=True)
        if self.is_file:
            where.write_text(text)
        else:
            where.mkdir()
            (where / ("PKG-INFO" if "egg" in self.form else "METADATA")).write_text(text)
            if self.entries is not None:
                (where / "entry_points.txt").write_bytes(self.entries.encode())
        if where.parent != folder:
            yield str(where.parent)


made = st.builds(Made, names, versions, forms, st.none() | texts, st.booleans(), st.booleans())
environments = st.lists(st.lists(made, max_size=5), min_size=1, max_size=4)


def install(root: Path, folders: Sequence[Sequence[Made]]) -> list[str]:
    path = []
    for number, distributions in enumerate(folders):
        folder = root / f"{number}"
        folder.mkdir(parents=True)
        path.append(str(folder))
        for one in distributions:
            path += one.install(folder)
    return [*path, path[0], str(root / "nothing")]


@settings(
    max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(environments)
def test_a_package_offers_what_its_first_whole_copy_does(tmp_path, folders):
    path = install(tmp_path / f"{next(_numbers)}", folders)
    first: dict[str, str] = {}
    for one in importlib.metadata.distributions(path=path):
        text = one.read_text("METADATA") or one.read_text("PKG-INFO") or ""
        if "\nVersion:" in text:
            name = text.split("Name: ")[1].split("\n")[0]
            name = re.sub("[_.]", "-", name).lower()
            first.setdefault(name, one.read_text("entry_points.txt") or "")

    found = discover(path)

    assert {entry.distribution for entry in found.entries} == {
        name for name, entries in first.items() if entries == ENTRIES
    }


def archive(path: Path) -> Path:
    with zipfile.ZipFile(path, "w") as file:
        for folder in ("acme_loop-1.0.dist-info", "Other.Name-2.0.egg-info"):
            name = folder.partition("-")[0]
            file.writestr(f"{folder}/METADATA", f"Name: {name}\nVersion: 3\n")
            file.writestr(f"{folder}/entry_points.txt", ENTRIES)
    return path


def test_an_archive_on_the_path_is_read_by_the_library(tmp_path):
    path = [str(archive(tmp_path / "all.zip")), str(archive(tmp_path / "again.zip"))]

    found = discover(path)

    assert [entry.full_name for entry in found.entries] == ["acme-loop:loop", "other-name:loop"]
    assert {PurePath(entry.where).parent for entry in found.entries} == {tmp_path / "all.zip"}
    assert [problem.severity for problem in found.problems] == ["note", "note"]


def test_two_eggs_are_two_packages(tmp_path):
    path = []
    for name in ("acme", "other"):
        info = tmp_path / f"{name}-1.0-py3.11.egg" / "EGG-INFO"
        info.mkdir(parents=True)
        (info / "PKG-INFO").write_text(f"Name: {name}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(ENTRIES)
        path.append(str(info.parent))

    found = discover(path)

    assert [entry.full_name for entry in found.entries] == ["acme:loop", "other:loop"]
    assert found.problems == ()


class Elsewhere:
    """A finder of distributions that lie in no folder."""

    def find_spec(self, *_: object) -> None:
        return None

    def find_distributions(self, context: importlib.metadata.DistributionFinder.Context) -> object:
        self.path = context.path
        return [self]

    def read_text(self, filename: str) -> str | None:
        return {"METADATA": "Name: far\nVersion: 9\n", "entry_points.txt": ENTRIES}.get(filename)


def test_other_finders_are_asked_in_their_order(site, monkeypatch):
    site.add("acme", entries=ENTRIES)
    finder = Elsewhere()
    monkeypatch.setattr(sys, "meta_path", [finder, *sys.meta_path])

    found = discover([str(site.path)])

    assert [entry.full_name for entry in found.entries] == ["acme:loop", "far:loop"]
    assert finder.path == [str(site.path)]
    assert next(iter(installed_metadata([str(site.path)]))).where == os.curdir


@pytest.mark.waits
def test_a_finder_before_that_of_the_path_hides_nothing_on_it(site, python):
    site.add("acme", entries=ENTRIES)
    code = (
        "import sys; from types import SimpleNamespace; from trimtab.inspection import discover;"
        "finder = SimpleNamespace(find_spec=lambda *_: None, find_distributions=lambda _: []);"
        "sys.meta_path.insert(0, finder);"
        f"assert [entry.full_name for entry in discover([{str(site.path)!r}]).entries];"
        "print([entry.full_name for entry in discover().entries if entry.name == 'loop'])"
    )

    assert (
        python("-S", "-c", code, PYTHONPATH=os.pathsep.join([str(site.path), *sys.path])).stdout
        == "['acme:loop']\n"
    )


def test_what_can_not_be_listed_is_left_out(site):
    site.add("acme", entries=ENTRIES)
    plain = site.path / "plain"
    plain.write_text("no archive")

    path = [str(plain), str(plain / "below"), str(site.path)]

    assert [entry.name for entry in discover(path).entries] == ["loop"]


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="needs another user's files")
def test_a_file_that_may_not_be_read_is_none(site):
    info = site.add("acme", entries=ENTRIES)
    (info / "entry_points.txt").chmod(0)

    assert site.registry() == Registry()


def test_the_version_of_a_package_is_looked_for_by_any_spelling(importable):
    importable.add("Acme_Loop", "1.1", entries=None)
    refresh()

    assert {installed_version(name) for name in ("acme-loop", "ACME.loop", "Acme_Loop")} == {"1.1"}
