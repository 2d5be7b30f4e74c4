#!/usr/bin/env python3
"""Build, check and upload all distributions: RELEASING.md says when and how.

python3 release.py home URL               write the project's address into every pyproject.toml
python3 release.py version VERSION        set it, and build CHANGELOG.md of the files in changes/
python3 release.py build FOLDER           build sdists and wheels, in the order of dependencies
python3 release.py check FOLDER           check what `build` made, as a package index would
python3 release.py test FOLDER [NAME ...] run the tests of the sdists, each in a fresh environment
python3 release.py again FOLDER [NAME ...] build once more, from copies, and compare the bytes
python3 release.py order                  print the order of an upload, for the workflow
python3 release.py upload FOLDER --to URL upload it, core first; for PyPI leave out --to
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from graphlib import TopologicalSorter
from pathlib import Path

import dev

PLACEHOLDER = "https://trimtab.example"
"""Stands in the project's URLs until it has a home; `upload` refuses it for a public index."""
CHANGELOG = dev.ROOT / "CHANGELOG.md"
TWINE = (sys.executable, "-m", "uv", "tool", "run", "-q", "--from", "twine>=7", "twine")
"""In an environment of its own: what tests install holds twine to versions that know less."""
ASSIGNED = re.compile(r'^__version__ = "(.+)"$', re.MULTILINE)
LOOPBACK = re.compile(r"https?://(?:127\.0\.0\.1|localhost|\[::1\])[:/]")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one of the commands that the module's docstring lists; return its exit status."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def command(name: str, run: Callable[..., int]) -> argparse.ArgumentParser:
        added = commands.add_parser(name)
        added.set_defaults(run=run)
        return added

    command("home", lambda given: home(given.url)).add_argument("url")
    versions = command("version", lambda given: set_version(given.version))
    versions.add_argument("version", type=version_number)
    command("order", lambda _: print_order())
    command("build", lambda given: build(given.folder)).add_argument("folder", type=Path)
    command("check", lambda given: report(given.folder)).add_argument("folder", type=Path)
    for name, run in (("test", test), ("again", again)):
        some = command(name, lambda given, run=run: run(given.folder, chosen(given.names)))
        some.add_argument("folder", type=Path)
        some.add_argument("names", nargs="*", metavar="NAME", help="distributions; default: all")
    uploading = command(
        "upload", lambda given: report(given.folder) or upload(given.folder, given.to)
    )
    uploading.add_argument("folder", type=Path)
    uploading.add_argument("--to", metavar="URL", help="another index than PyPI")
    options = parser.parse_args(arguments)
    return int(options.run(options))


def home(url: str) -> int:
    """Replace the address that every pyproject.toml has now by `url`."""
    old = home_of(dev.CORE)
    for folder in dev.distributions():
        path = folder / "pyproject.toml"
        path.write_text(path.read_text().replace(old, url.rstrip("/")))
    return 0


def home_of(folder: Path) -> str:
    """Return the address that a distribution's URLs begin with."""
    return str(dev.declared(folder)["urls"]["Issues"]).removesuffix("/issues")


def version_number(text: str) -> str:
    """Return a version as it is, or raise ValueError where it is none: 1.2.3, 1.2.3rc1."""
    if not re.fullmatch(r"\d+\.\d+\.\d+((a|b|rc)\d+)?", text):
        raise ValueError(text)
    return text


def set_version(version: str) -> int:
    """Give all distributions a version, and move what changes/ says into CHANGELOG.md, dated."""
    towncrier = [sys.executable, "-m", "towncrier", "build", "--yes", "--dir", str(dev.ROOT)]
    dev.run([*towncrier, "--version", version])
    path = dev.CORE / "src" / "trimtab" / "_version.py"
    (old,) = ASSIGNED.findall(path.read_text())
    path.write_text(ASSIGNED.sub(f'__version__ = "{version}"', path.read_text()))
    for folder in dev.distributions():
        project = folder / "pyproject.toml"
        project.write_text(project.read_text().replace(minor_range(old), minor_range(version)))
    return 0


def minor_range(version: str) -> str:
    """Return the range of versions that work together, in which plugins require each other."""
    major, minor, _ = version.split(".", 2)
    return f">={major}.{minor},<{major}.{int(minor) + 1}"


def in_order() -> list[Path]:
    """Return the folders of all distributions, each after those that it depends on."""
    return [folder for level in levels() for folder in level]


def levels() -> Iterator[list[Path]]:
    """Yield the folders of distributions that depend on those of earlier levels alone."""
    folders = dev.distributions()
    needs = {f: {*dev.siblings(f)} | ({dev.CORE} if f != dev.CORE else set()) for f in folders}
    order = TopologicalSorter(needs)
    order.prepare()
    while order.is_active():
        level = sorted(order.get_ready())
        yield level
        order.done(*level)


def _stem(distribution: Path) -> str:
    """Return what the names of a distribution's files begin with."""
    return dev.distribution_name(distribution).replace("-", "_")


def build(folder: Path) -> int:
    """Build a sdist and from it a wheel of each distribution into an empty folder."""
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()):
        print(f"{folder} is not empty: give a new folder.", file=sys.stderr)
        return 2
    uv_build = [sys.executable, *dev.UV_BUILD, "--out-dir", str(folder.resolve())]
    for distribution in in_order():
        dev.run([*uv_build, str(distribution)])
        print("built", dev.distribution_name(distribution), flush=True)
    (folder / ".gitignore").unlink(missing_ok=True)
    return 0


def print_order() -> int:
    """Print the files of each level as patterns, a JSON list that a workflow can read."""
    print(json.dumps([" ".join(f"{_stem(f)}-[0-9]*" for f in level) for level in levels()]))
    return 0


def report(folder: Path) -> int:
    """Print what `check` finds; return 1 if that is anything."""
    problems = [*check(folder)]
    for problem in problems:
        print(problem, file=sys.stderr)
    return int(bool(problems))


def check(folder: Path) -> Iterable[str]:
    """Yield what a package index or its users would object to."""
    expected = len(dev.distributions())
    wheels, sdists = sorted(folder.glob("*.whl")), sorted(folder.glob("*.tar.gz"))
    for kind, found in (("wheels", wheels), ("sdists", sdists)):
        if len(found) != expected:
            yield f"{folder} has {len(found)} {kind}, but there are {expected} distributions."
    for path in [*wheels, *sdists]:
        if not any(name.endswith("/LICENSE") for name in names_in(path)):
            yield f"{path.name} has no licence text: add LICENSE to its folder."
    twine = [*TWINE, "check", "--strict", *map(str, [*wheels, *sdists])]
    done = subprocess.run(twine, capture_output=True, text=True, check=False)
    if done.returncode:
        yield done.stdout + done.stderr


def chosen(names: Sequence[str]) -> list[Path]:
    """Return the folders of distributions with these names, of all where none is given."""
    found = {dev.distribution_name(folder): folder for folder in in_order()}
    unknown = [name for name in names if name not in found]
    if unknown:
        sys.exit(f"no distribution is called {unknown[0]!r}; there are {', '.join(found)}")
    return [found[name] for name in names or found]


def built_of(distribution: Path, folder: Path, ending: str) -> Path:
    """Return the wheel (``.whl``) or sdist (``.tar.gz``) of a distribution in a folder."""
    return next(folder.resolve().glob(f"{_stem(distribution)}-[0-9]*{ending}"))


def test(folder: Path, distributions: Iterable[Path]) -> int:
    """Run the tests of sdists with nothing but what they declare; name those that fail."""
    failed = []
    for distribution in distributions:
        with tempfile.TemporaryDirectory() as temporary:
            python = Path(temporary) / "venv" / dev.scripts().name / "python"
            uv = [sys.executable, "-m", "uv"]
            dev.run([*uv, "venv", "-q", "-p", sys.executable, str(python.parents[1])])
            source = dev.unpacked(built_of(distribution, folder, ".tar.gz"), Path(temporary))
            needed = dict.fromkeys([dev.CORE, dev.TESTING, *dev.siblings(distribution)])
            wheels = [str(built_of(f, folder, ".whl")) for f in needed if f != distribution]
            group = f"{source / 'pyproject.toml'}:tests"
            install = [*uv, "pip", "install", "-q", "-p", str(python), "--group", group]
            dev.run([*install, str(source), *wheels])
            print(source.name, flush=True)
            if not dev.try_sdist(source, python):
                failed.append(source.name)
    print(f"Failed: {', '.join(failed)}" if failed else "The tests of each sdist pass.")
    return int(bool(failed))


def again(folder: Path, distributions: Iterable[Path]) -> int:
    """Build from copies with other times and permissions; name what has other bytes than before."""
    different = []
    with tempfile.TemporaryDirectory() as temporary:
        source, built = Path(temporary) / "source", Path(temporary) / "built"
        skipped = shutil.ignore_patterns("__pycache__", "dist", ".*_cache")
        for name in ("core", "plugins", "tests"):
            shutil.copytree(
                dev.ROOT / name, source / name, ignore=skipped, copy_function=_copy_of_another_time
            )
        for name in (".gitignore", "conftest.py", "pytest.ini", "pyproject.toml"):
            _copy_of_another_time(dev.ROOT / name, source / name)
        for distribution in distributions:
            path = source / distribution.relative_to(dev.ROOT)
            dev.run([sys.executable, *dev.UV_BUILD, "--out-dir", str(built), str(path)])
            for ending in (".whl", ".tar.gz"):
                one, two = (built_of(distribution, f, ending) for f in (folder, built))
                if one.read_bytes() != two.read_bytes():
                    different.append(one.name)
    print(f"Other bytes: {', '.join(different)}" if different else "The same bytes.")
    return int(bool(different))


def _copy_of_another_time(path: str | Path, to: str | Path) -> None:
    """Copy a file as a stricter user would have checked it out on another day."""
    shutil.copyfile(path, to)
    os.chmod(to, 0o700 if os.access(path, os.X_OK) else 0o600)  # noqa: PTH101 - either is a str
    os.utime(to, (1_700_000_000, 1_700_000_000))


def names_in(path: Path) -> list[str]:
    """Return the names of the files in a wheel or a sdist."""
    if path.suffix == ".whl":
        with zipfile.ZipFile(path) as wheel:
            return wheel.namelist()
    with tarfile.open(path) as sdist:
        return sdist.getnames()


def version_of(folder: Path) -> str:
    """Return the version of what was built."""
    return next(folder.glob("trimtab-[0-9]*.whl")).name.split("-")[1]


def upload(folder: Path, to: str | None) -> int:
    """Upload what was built, core first, so that no plugin is there before what it needs."""
    if home_of(dev.CORE) == PLACEHOLDER and not (to and LOOPBACK.match(to)):
        print(
            f"The project's URLs still begin with {PLACEHOLDER}: give it a home with "
            "`python3 release.py home URL`, commit, and build again.",
            file=sys.stderr,
        )
        return 2
    if not to and f"\n## {version_of(folder)} - " not in CHANGELOG.read_text():
        print(
            "CHANGELOG.md says nothing of this version: run `python3 release.py version VERSION`, "
            "commit, and build again.",
            file=sys.stderr,
        )
        return 2
    # What an interrupted upload left behind is skipped; only PyPI tells twine what it has.
    index = ["--repository-url", to] if to else ["--skip-existing"]
    for level in levels():
        files = [built_of(one, folder, ending) for one in level for ending in (".tar.gz", ".whl")]
        twine = [*TWINE, "upload", "--non-interactive", *index]
        if subprocess.run([*twine, *map(str, files)], check=False).returncode:
            names = ", ".join(one.name for one in level)
            print(f"Not all of {names} were uploaded; run this again to go on.", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
