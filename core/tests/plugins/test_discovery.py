"""A listing reads metadata, imports nothing, and survives whatever is installed."""

from __future__ import annotations

import os
import random
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from trimtab._plugins import GROUPS
from trimtab.inspection import PluginInfo, discover, installed_version, refresh

LOOP = "[trimtab.guidance]\nloop = acme_loop:Loop\n"


def names(site) -> list[str]:
    return [entry.full_name for entry in site.registry().entries]


def whats(site) -> list[str]:
    return [problem.message for problem in site.registry().problems]


def test_an_entry_tells_what_metadata_tells(site):
    info = site.add("Acme_Loop", "2.0", entries=LOOP, requires=("attrs", "trimtab >=0.1"))

    assert site.registry().entries == (
        PluginInfo(
            group="guidance",
            name="loop",
            distribution="acme-loop",
            version="2.0",
            module="acme_loop",
            attr="Loop",
            where=str(info),
            summary="About Acme_Loop",
            requires=("trimtab >=0.1",),
        ),
    )
    assert site.registry().problems == ()


@pytest.mark.parametrize("group", GROUPS)
def test_every_group_is_found_and_told_apart(site, group):
    site.add("acme", entries=f"[console_scripts]\nx = a:b\n[trimtab.{group}]\nthing = acme:Thing\n")

    assert [entry.name for entry in site.registry().of(group)] == ["thing"]
    assert len(site.registry().entries) == 1


def test_names_are_normalised_and_extras_dropped(site):
    site.add("acme", entries="[trimtab.guidance]\nMy_Loop = acme . x : Loop [fast]\n")
    site.add("other", entries="[trimtab.guidance]\nMy_Loop = acme.x:Outer.Loop [fast]\n")

    (entry,) = site.registry().entries
    assert (entry.name, entry.target) == ("my-loop", "acme.x:Outer.Loop")


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("just words", "not an entry point: 'just words' in [trimtab.guidance]"),
        ("2 bad = m:n", "bad name '2 bad' in [trimtab.guidance]"),
        (f"{'x' * 41} = m:n", "bad name"),
        ("loop = m n", "bad target 'm n' of 'loop'; it must be 'module:attribute'"),
        ("loop = module", "bad target 'module' of 'loop'"),
        ("loop =", "bad target '' of 'loop'"),
        ("good = m:again", "offers guidance 'good' twice; the first line counts"),
        (
            "[trimtab.guidence]\nx = m:n",
            "unknown group 'trimtab.guidence'. Did you mean 'guidance'",
        ),
        ("\x1b[31mred = m:n", r"bad name '\\x1b[31mred'"),
    ],
)
def test_a_malformed_line_is_a_problem_and_its_neighbours_stand(site, line, what):
    site.add("acme", entries=f"[trimtab.guidance]\ngood = m:Good\n# = ;\n{line}\n")

    assert names(site) == ["acme:good"]
    (problem,) = site.registry().problems
    assert problem.message.startswith(what)
    assert (problem.distribution, problem.severity) == ("acme", "error")


def test_a_stranger_s_malformed_lines_are_not_ours_to_judge(site):
    site.add("stranger", entries="[other]\nbad = not a valid reference!\n????\n")

    assert site.registry().problems == ()


def test_an_undecodable_file_is_a_problem_even_of_a_stranger(site):
    site.add("latin", entries=b"[console_scripts]\nna\xefve = m:n\n")
    site.add("acme-loop", entries=LOOP)

    assert names(site) == ["acme-loop:loop"]
    (problem,) = site.registry().problems
    assert problem.distribution == "latin"
    assert problem.message.startswith("entry_points.txt can't be read: UnicodeDecodeError")


@pytest.mark.parametrize(
    ("metadata", "what"),
    [
        ("", "no METADATA with a name and a version"),
        ("Name: acme-loop\n", "no METADATA with a name and a version"),
        (b"Name: \xff\nVersion: 1\n", "METADATA can't be read: UnicodeDecodeError"),
    ],
)
def test_entries_without_usable_metadata_have_no_owner(site, metadata, what):
    site.add("acme-loop", entries=LOOP, metadata=metadata)

    assert names(site) == []
    assert [text.startswith(what) for text in whats(site)] == [True]


def test_a_stale_empty_folder_hides_nothing(site, tmp_path):
    first = type(site)(tmp_path / "first")
    stale = first.path / "acme_loop-0.9.dist-info"
    stale.mkdir(parents=True)
    site.add("acme-loop", "1.1", entries=LOOP)

    registry = discover([str(first.path), str(site.path)])

    assert [entry.version for entry in registry.entries] == ["1.1"]
    assert [(p.where, p.distribution) for p in registry.problems] == [(str(stale), "acme-loop")]


def test_of_two_copies_the_first_counts_as_a_whole(site, tmp_path):
    first = type(site)(tmp_path / "first")
    first.path.mkdir()
    first.add("acme-loop", "0.9", entries="[trimtab.guidance]\nloop = acme_loop:Old\n")
    site.add("acme-loop", "1.1", entries=LOOP + "extra = acme_loop:Extra\n")

    registry = discover([str(first.path), str(site.path)])

    assert [(entry.name, entry.version) for entry in registry.entries] == [("loop", "0.9")]
    (problem,) = registry.problems
    assert problem.message.startswith("version 1.1 is hidden by version 0.9")
    assert problem.is_error


@pytest.mark.parametrize("source_first", [True, False])
@pytest.mark.parametrize(("version", "problems"), [("1.0", 0), ("1.1", 1)])
def test_what_setuptools_leaves_beside_a_source_is_no_second_copy(
    site, tmp_path, source_first, version, problems
):
    source = type(site)(tmp_path / "src")
    source.path.mkdir()
    info = source.add("acme-loop", version, entries=LOOP, folder="acme_loop.egg-info")
    (info / "METADATA").rename(info / "PKG-INFO")
    site.add("acme-loop", "1.0", entries=LOOP)
    paths = [str(source.path), str(site.path)]

    registry = discover(paths if source_first else paths[::-1])

    assert [entry.name for entry in registry.entries] == ["loop"]
    assert len(registry.problems) == problems


def test_a_first_copy_that_offers_nothing_hides_a_second_that_does(site, tmp_path):
    first = type(site)(tmp_path / "first")
    first.path.mkdir()
    first.add("acme-loop", "0.1", entries=None)
    site.add("acme-loop", "1.1", entries=LOOP)

    registry = discover([str(first.path), str(site.path)])

    assert registry.entries == ()
    assert registry.problems[0].message.startswith("version 1.1 is hidden by version 0.1")


@pytest.mark.skipif(os.name == "nt", reason="links need a privilege there")
def test_one_folder_that_the_path_names_twice_is_one_copy(site, tmp_path):
    site.add("acme-loop", entries=LOOP)
    (tmp_path / "lib64").symlink_to(site.path, target_is_directory=True)

    registry = discover([str(site.path), str(site.path), str(tmp_path / "lib64")])

    assert [entry.full_name for entry in registry.entries] == ["acme-loop:loop"]
    assert registry.problems == ()


def test_metadata_can_not_paint_the_terminal(site):
    metadata = "Name: acme\nVersion: 1\x1b[2J\nSummary: a\tb\x1b[31m" + "x" * 999 + "\n"
    site.add("acme", entries=LOOP, metadata=metadata)

    (entry,) = site.registry().entries

    assert entry.version == "1\\x1b[2J"
    assert entry.summary.isprintable()
    assert len(entry.summary) == 200


def test_the_order_of_folders_does_not_show(site, monkeypatch):
    for name in ("b-dist", "a-dist", "c-dist"):
        site.add(name, entries=f"[trimtab.feedback]\nsame = m:n\n{name} = m:n\n")
    expected = site.registry()
    real = os.listdir

    def shuffled(path="."):
        found = real(path)
        random.Random(7).shuffle(found)
        return found

    monkeypatch.setattr(os, "listdir", shuffled)
    os.utime(site.path, (1, 1))

    assert site.registry() == expected
    assert [entry.name for entry in expected.entries][:2] == ["a-dist", "b-dist"]


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(entries=st.binary(max_size=200), metadata=st.binary(max_size=200))
def test_no_bytes_of_a_stranger_change_what_we_find(site, entries, metadata):
    info = site.path / "stranger-1.0.dist-info"
    if not info.exists():
        site.add("acme-loop", entries=LOOP)
        site.add("stranger")
    (info / "entry_points.txt").write_bytes(b"[trimtab.guidance]\n" * (len(entries) % 2) + entries)
    (info / "METADATA").write_bytes(metadata)

    ours = [entry for entry in site.registry().entries if entry.distribution == "acme-loop"]

    assert [entry.target for entry in ours] == ["acme_loop:Loop"]
    assert all(text.isprintable() for text in whats(site))


def test_a_process_scans_once_until_told(importable):
    before = refresh()
    importable.add("acme-loop", entries=LOOP)

    assert discover() is before
    assert [e for e in refresh().entries if e.distribution == "acme-loop"]


def test_the_version_of_a_distribution_is_that_of_its_first_whole_copy(importable):
    (importable.path / "acme_loop-0.1.dist-info").mkdir()
    importable.add("acme-loop", "1.1", entries=LOOP)
    refresh()

    assert installed_version("acme-loop") == "1.1"
    assert installed_version("acme-nothing") is None


@pytest.mark.waits
def test_a_scan_imports_no_provider(site, python):
    site.add("acme-loop", entries=LOOP, acme_loop="raise SystemExit(3)")
    code = (
        "import sys; from trimtab.inspection import discover; "
        "assert [e for e in discover().entries if e.name == 'loop']; "
        "print([m for m in ('acme_loop', 'pluggy') if m in sys.modules])"
    )

    done = python("-c", code)

    assert (done.stdout, done.returncode) == ("[]\n", 0)


def test_a_path_that_is_not_there_is_empty(tmp_path):
    assert discover([str(tmp_path / "nothing"), str(Path(sys.executable))]).entries == ()


@pytest.mark.parametrize("name", ["entry_points.txt", "METADATA"])
@pytest.mark.parametrize("kind", ["fifo", "huge"])
def test_metadata_that_never_ends_is_a_problem_of_its_package(site, name, kind):
    site.add("good", entries=LOOP)
    site.add("acme", entries=LOOP)
    path = next(site.path.glob("acme-*.dist-info")) / name
    path.unlink()
    if kind == "fifo":
        os.mkfifo(path)
    else:
        with path.open("wb") as file:
            file.truncate(50_000_000)

    found = site.registry()

    assert [entry.distribution for entry in found.entries] == ["good"]
    assert "regular file" in found.problems[0].message or "larger" in found.problems[0].message
