#!/usr/bin/env python3
"""Set up, show and check trimtab from a fresh clone: needs Python 3.11+ and a package registry.

python3 dev.py demo               set up .venv, then replay a recorded agent run
python3 dev.py test [TOX OPTION]  set up .venv, then run every check (tox, in parallel)
python3 dev.py setup              set up .venv for work on the code, with all tools
python3 dev.py install [FOLDER]   put wheels of all distributions, or these, into the running Python
python3 dev.py solo [PLUGIN ...]  test core alone, and each plugin with nothing else
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import venv
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent
VENV = ROOT / ".venv"
WHEELS = ROOT / ".dev" / "wheels"
CORE = ROOT / "core"
TESTING = ROOT / "plugins" / "testing"
TEST_SERVERS = ROOT / "tests" / "servers"
RECORDED_RUN = Path("tests/data/claude-code-loop.jsonl")
# Heavy, and needed by the tests marked e2e alone.
CLIENTS = (
    "celery",
    "claude-agent-sdk",
    "google-adk",
    "langchain",
    "litellm",
    "openai",
    "openai-agents",
    "pydantic-ai-slim",
    "strands-agents",
    "temporalio",
)
NO_TESTS = 5
UV = "uv>=0.9.8"
UV_BUILD = ("-m", "uv", "build", "--quiet")
PROVIDERS = {"trimtab.guidance", "trimtab.feedback", "trimtab.completion"}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one of the commands that the module's docstring lists; return its exit status."""
    if sys.version_info < (3, 11):  # noqa: UP036 - the one file that meets an older Python
        sys.exit(f"trimtab needs Python 3.11 or newer; this is {sys.version.split()[0]}.")
    os.chdir(ROOT)
    options, rest = parser().parse_known_args(arguments)
    if rest and options.run not in (check, solo):
        parser().error(f"unrecognized arguments: {' '.join(rest)}")
    options.rest = rest
    try:
        return int(options.run(options))
    except subprocess.CalledProcessError as error:
        return error.returncode or 1


def parser() -> argparse.ArgumentParser:
    """The command line."""
    top = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = top.add_subparsers(required=True, metavar="COMMAND")
    commands.add_parser("demo").set_defaults(run=demo)
    commands.add_parser("test", add_help=False).set_defaults(run=check)
    commands.add_parser("setup").set_defaults(run=setup)
    wheels = commands.add_parser("install")
    wheels.add_argument("folders", nargs="*", type=Path, metavar="FOLDER")
    wheels.add_argument("--clients", action="store_true", help="the plugins' heavy clients too")
    wheels.add_argument("--editable", action="store_true", help="the sources, not wheels of them")
    wheels.add_argument("--lowest", action="store_true", help="the lowest allowed dependencies")
    wheels.set_defaults(run=install)
    alone = commands.add_parser("solo")
    alone.add_argument("plugins", nargs="*", metavar="PLUGIN")
    alone.set_defaults(run=solo)
    return top


def demo(_: argparse.Namespace) -> int:
    """Replay a recorded run of Claude Code through every provider in the checkout."""
    make_venv()
    offering = (f for f in distributions() if PROVIDERS & {*declared(f).get("entry-points", ())})
    named = [ROOT / "plugins" / "replay", *offering]
    shown = list(dict.fromkeys([CORE, *(f for one in named for f in (*siblings(one), one))]))
    dependencies(shown, python=venv_python())
    add(*editable(shown), python=venv_python())
    command = ["trimtab", "replay", str(RECORDED_RUN), "--all"]
    print("$", *command, flush=True)
    return run([str(scripts() / command[0]), *command[1:]], check=False)


def check(options: argparse.Namespace) -> int:
    """Run tox: every environment, or what its options name. In CI no interpreter may be missing.

    Unless the options name environments, one more runs at a time than there are cores, for many
    tests wait for processes; what they print is shown where they fail. What was skipped is said at
    the end.
    """
    make_venv()
    uv("install", "--quiet", "--group", "tox", python=venv_python())
    strict = ["--skip-missing-interpreters", "false"] if os.environ.get("CI") else []
    several = str((os.cpu_count() or 1) + 1)
    everything = ["run-parallel", "--parallel", several, "--parallel-no-spinner"]
    how = [] if "-e" in options.rest else everything
    with tempfile.TemporaryDirectory() as folder:
        told = Path(folder) / "skipped"
        os.environ["TRIMTAB_SKIPPED"] = str(told)
        status = run([str(venv_python()), "-m", "tox", *how, *strict, *options.rest], check=False)
        skipped = told.read_text(encoding="utf-8").splitlines() if told.exists() else []
    for line in sorted(set(skipped)):
        print(f"skipped in {line}", flush=True)
    return status


def setup(_: argparse.Namespace) -> int:
    """Make .venv an environment for work: the distributions editable, their clients, all tools."""
    make_venv()
    everything = [*distributions(), TEST_SERVERS]
    dependencies(everything, group="dev", python=venv_python())
    add(*editable(everything), python=venv_python())
    print(f"Ready: {VENV}")
    return 0


def install(options: argparse.Namespace) -> int:
    """Put wheels, or with --editable the sources, and what they need into the running Python."""
    if importlib.util.find_spec("uv") is None:
        sys.exit(f"This needs uv beside the running Python: {sys.executable} -m pip install '{UV}'")
    folders = [ROOT / folder for folder in options.folders] or [*distributions(), TEST_SERVERS]
    left_out = () if options.clients else CLIENTS
    lowest = "lowest-direct" if options.lowest else "highest"
    dependencies(folders, left_out=left_out, resolution=lowest)
    if options.editable:
        add(*editable(folders))
        return 0
    add("--no-index", f"--find-links={wheels()}", *map(distribution_name, folders))
    return 0


def solo(options: argparse.Namespace) -> int:
    """Install core, then core and one plugin after another as a user would; run their tests.

    The tests are those of the source archive, with what it holds and nothing of the repository. A
    plugin whose tests need another one says so in its dependencies.
    """
    plugins = [ROOT / "plugins" / name for name in options.plugins] or distributions()[1:]
    failed = []
    for folder in [CORE, *plugins] if not options.plugins else plugins:
        remove_ours()
        folders = dict.fromkeys([CORE, TESTING, *siblings(folder), folder, TEST_SERVERS])
        install(argparse.Namespace(folders=folders, clients=True, lowest=False, editable=False))
        with tempfile.TemporaryDirectory() as temporary:
            run([sys.executable, *UV_BUILD, "--sdist", "--out-dir", temporary, str(folder)])
            (sdist,) = Path(temporary).glob("*.tar.gz")
            if not try_sdist(unpacked(sdist, Path(temporary)), Path(sys.executable), options.rest):
                failed.append(folder.name)
    print(f"Failed alone: {', '.join(failed)}" if failed else "Each passed alone.")
    return int(bool(failed))


def unpacked(sdist: Path, into: Path) -> Path:
    """Unpack a source archive; return its folder."""
    with tarfile.open(sdist) as archive:
        archive.extractall(into, filter="data")
    return into / sdist.name.removesuffix(".tar.gz")


def try_sdist(folder: Path, python: Path, options: Sequence[str] = ()) -> bool:
    """Run all but the slow tests of an unpacked source archive; return whether none failed."""
    pytest = [str(python), "-m", "pytest", "-q", "-m", "not e2e and not slow", *options, "tests"]
    return run(pytest, check=False, folder=folder) in (0, NO_TESTS)


def remove_ours() -> None:
    """Uninstall the project's distributions from the running Python."""
    names = [distribution_name(folder) for folder in distributions()]
    uv("uninstall", "--quiet", *names)


def distributions() -> list[Path]:
    """The folders of all published distributions."""
    return [CORE, *sorted(path.parent for path in ROOT.glob("plugins/*/pyproject.toml"))]


def siblings(folder: Path) -> list[Path]:
    """The folders of the other plugins that one depends on, and of those that these need."""
    needed = " ".join(declared(folder)["dependencies"])
    direct = [ROOT / "plugins" / name for name in re.findall(r"\btrimtab-([a-z-]+)\b", needed)]
    return [*direct, *(further for one in direct for further in siblings(one))]


def distribution_name(folder: Path) -> str:
    """The name of a folder's distribution."""
    return str(declared(folder)["name"])


def declared(folder: Path) -> dict[str, Any]:
    """The table `project` of a folder's pyproject.toml."""
    import tomllib  # not at the top: an older Python gets as far as the message in `main`

    table: dict[str, Any] = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
    return table


def dependencies(
    folders: Iterable[Path],
    *,
    left_out: Iterable[str] = (),
    resolution: str = "highest",
    group: str = "",
    python: Path | None = None,
) -> None:
    """Install what distributions depend on, apart from each other and from names left out.

    With what a group of pyproject.toml adds, if one is named.

    Resolved from their pyproject.toml, so that "lowest-direct" bounds what these declare; and no
    name of this project is ever asked of a registry.
    """
    required = [f"--requirements={folder / 'pyproject.toml'}" for folder in folders]
    # With "--upgrade" the lowest versions replace newer ones that the tools for tests have brought.
    limits = ("--excludes", excludes(left_out), "--resolution", resolution, "--upgrade")
    grouped = ["--group", group] if group else []
    uv("install", "--quiet", *limits, *grouped, *required, python=python)


def add(*distribution: str, python: Path | None = None) -> None:
    """Install distributions of this project, whose dependencies are there already."""
    uv("install", "--quiet", "--no-deps", "--reinstall", *distribution, python=python)


def editable(folders: Iterable[Path]) -> list[str]:
    """Arguments that install distributions from their sources."""
    return [part for folder in folders for part in ("--editable", str(folder))]


def excludes(left_out: Iterable[str]) -> str:
    """The path of a file of names that no resolution may take from a registry."""
    ours = [distribution_name(folder) for folder in [*distributions(), TEST_SERVERS]]
    lines = "".join(f"{name}\n" for name in sorted({*ours, *left_out}))
    path = WHEELS.parent / f"excludes-{hashlib.sha256(lines.encode()).hexdigest()[:12]}.txt"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(lines)
    return str(path)


def wheels() -> Path:
    """The folder of the wheels of all distributions, built anew if a source has changed."""
    target = WHEELS / digest()
    if not target.exists():
        WHEELS.mkdir(parents=True, exist_ok=True)
        built = tempfile.mkdtemp(dir=WHEELS)
        run([sys.executable, *UV_BUILD, "--wheel", "--all-packages", "--out-dir", built])
        try:
            Path(built).rename(target)
        except OSError:  # another environment of tox was quicker
            shutil.rmtree(built)
    return target


def digest() -> str:
    """A short digest of all that goes into the wheels."""
    total = hashlib.sha256()
    for folder in [*distributions(), TEST_SERVERS]:
        named = (folder / name for name in ("pyproject.toml", "README.md", "LICENSE"))
        for path in [*named, *folder.glob("src/**/*")]:
            if path.is_file() and path.suffix != ".pyc":
                total.update(f"{path.relative_to(ROOT)}\0{path.stat().st_size}\0".encode())
                total.update(path.read_bytes())
    return total.hexdigest()[:12]


def make_venv() -> None:
    """Make .venv with uv, anew where it is another Python's or was moved here."""
    written = VENV / "pyvenv.cfg"
    text = written.read_text() if written.exists() else ""
    version = ".".join(map(str, sys.version_info[:3]))
    if f"version = {version}\n" not in text or str(VENV) not in text:
        venv.create(VENV, clear=True, with_pip=True)
    pip = [str(venv_python()), "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
    if run([*pip, UV], check=False):
        sys.exit(f"pip could not install {UV}, see above: dev.py needs a package registry.")


def scripts() -> Path:
    """The folder of .venv's programs."""
    return VENV / ("Scripts" if os.name == "nt" else "bin")


def venv_python() -> Path:
    """The interpreter of .venv."""
    return scripts() / "python"


def uv(command: str, *arguments: str, python: Path | None = None) -> None:
    """Run `uv pip COMMAND` for a Python, by default the running one."""
    interpreter = str(python or sys.executable)
    run([interpreter, "-m", "uv", "pip", command, "--python", interpreter, *arguments])


def run(command: Sequence[str], *, check: bool = True, folder: Path | None = None) -> int:
    """Run a command; return its exit status, or with `check` raise where it isn't 0."""
    environment = {**os.environ, "UV_PYTHON_DOWNLOADS": "never"}
    return subprocess.run(command, check=check, env=environment, cwd=folder).returncode


if __name__ == "__main__":
    sys.exit(main())
