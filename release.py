#!/usr/bin/env python3
"""Build, check and upload all distributions: RELEASING.md says when and how.

python3 release.py home URL               write the project's address into every pyproject.toml
python3 release.py version VERSION        set it, and build CHANGELOG.md of the files in changes/
python3 release.py build FOLDER           build sdists and wheels, in the order of dependencies
python3 release.py check FOLDER           check what `build` made, as a package index would
python3 release.py upload FOLDER --to URL upload it, core first; for PyPI leave out --to
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterable, Sequence
from graphlib import TopologicalSorter
from pathlib import Path

import dev

PLACEHOLDER = "https://trimtab.example"
"""Stands in the project's URLs until it has a home; `upload` refuses it for a public index."""
CHANGELOG = dev.ROOT / "CHANGELOG.md"
ASSIGNED = re.compile(r'^__version__ = "(.+)"$', re.MULTILINE)
LOOPBACK = re.compile(r"https?://(?:127\.0\.0\.1|localhost|\[::1\])[:/]")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one of the commands that the module's docstring lists; return its exit status."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND", dest="command")
    commands.add_parser("home").add_argument("url")
    commands.add_parser("version").add_argument("version", type=version_number)
    commands.add_parser("build").add_argument("folder", type=Path)
    commands.add_parser("check").add_argument("folder", type=Path)
    upload_parser = commands.add_parser("upload")
    upload_parser.add_argument("folder", type=Path)
    upload_parser.add_argument("--to", metavar="URL", help="another index than PyPI")
    options = parser.parse_args(arguments)
    if options.command == "home":
        return home(options.url)
    if options.command == "version":
        return set_version(options.version)
    if options.command == "build":
        return build(options.folder)
    problems = [*check(options.folder)]
    if options.command == "upload" and not problems:
        return upload(options.folder, options.to)
    for problem in problems:
        print(problem, file=sys.stderr)
    return int(bool(problems))


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
    folders = dev.distributions()
    needs = {f: {*dev.siblings(f)} | ({dev.CORE} if f != dev.CORE else set()) for f in folders}
    return [*TopologicalSorter(needs).static_order()]


def build(folder: Path) -> int:
    """Build a sdist and from it a wheel of each distribution into an empty folder."""
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()):
        print(f"{folder} is not empty: give a new folder.", file=sys.stderr)
        return 2
    uv_build = [sys.executable, "-m", "uv", "build", "--quiet", "--out-dir", str(folder.resolve())]
    for distribution in in_order():
        dev.run([*uv_build, str(distribution)])
        print("built", dev.distribution_name(distribution), flush=True)
    (folder / ".gitignore").unlink(missing_ok=True)
    return 0


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
    twine = [sys.executable, "-m", "twine", "check", "--strict", *map(str, [*wheels, *sdists])]
    done = subprocess.run(twine, capture_output=True, text=True, check=False)
    if done.returncode:
        yield done.stdout + done.stderr


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
    for distribution in in_order():
        name = dev.distribution_name(distribution).replace("-", "_")
        files = sorted(folder.glob(f"{name}-[0-9]*"))
        twine = [sys.executable, "-m", "twine", "upload", "--non-interactive", *index]
        if subprocess.run([*twine, *map(str, files)], check=False).returncode:
            print(f"{name} was not uploaded; run this again to go on.", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
