"""Fixtures for the tests of every distribution; examples in pages and docstrings as tests.

In a page, a `python` block runs in the page's namespace. A block with a caption, or a `py` or
`toml` block whose first line is `# FILE`, is written to a file of that name. A `console` block runs
its `$` lines beside these files and compares what they print; a last line `[N]` stands for exit
status N. A `sh` block is for the reader's own shell and not run.
"""

from __future__ import annotations

import doctest
import functools
import os
import re
import shlex
import signal
import subprocess
import sys
import sysconfig
import time
import timeit
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

os.environ["HYPOTHESIS_NO_PLUGINS"] = "1"  # those that come with clients: one imports trio
from hypothesis import settings
from sybil import Document, Example, Region, Sybil
from sybil.document import PythonDocStringDocument
from sybil.parsers import myst, rest
from sybil.parsers.markdown.lexers import FencedCodeBlockLexer
from sybil.parsers.myst.lexers import DirectiveLexer

ROOT = Path(__file__).parent

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # So a shell starts what runs in the background, and the programs of tests would inherit it.
    signal.signal(signal.SIGINT, signal.default_int_handler)

# In CI the same examples each time, as in Hypothesis's own profile: a change fails by what it does.
settings.register_profile("trimtab", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("trimtab")

INTO_SITE = "--quiet --no-deps --target site"
FILE_NAME = re.compile(r"# ([\w./-]+\.(?:py|toml))\n")
NOT_QUICK = re.compile(r"^pytestmark = pytest\.mark\.(?:e2e|slow|waits)\b", re.MULTILINE)
FAILURE = re.compile(r"The [a-z ]+ '[^']*' failed in ")
PROVIDERS = re.compile(r'entry-points\."trimtab\.(?:guidance|feedback|completion)"')
STATUS = re.compile(r"^\[(\d+)\]\s*\Z", re.MULTILINE)
LENIENT = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark as quick what a contributor runs after each change: the tests of core and the providers.

    Without those that are slow, wait or are e2e, and without property tests.
    """
    for item in items:
        if "tests" not in item.path.parts:
            continue  # the suite of `pytest --trimtab`, where the sources are installed
        if "chaos" in item.name:
            item.add_marker(pytest.mark.timeout(1800))  # as many messages as the user asks for
        marked = any(map(item.get_closest_marker, ("e2e", "slow", "waits")))
        if not marked and not _is_property(item) and _is_of_the_engine(_part(item.path)):
            item.add_marker("quick")


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Leave the reasons of skipped tests to `dev.py test`, which says them at its end."""
    file = os.environ.get("TRIMTAB_SKIPPED")
    reports = terminalreporter.stats.get("skipped", ())
    if file and reports:
        name = os.environ.get("TOX_ENV_NAME", "pytest")
        reasons = {str(report.longrepr[2]).removeprefix("Skipped: ") for report in reports}
        with Path(file).open("a", encoding="utf-8") as told:
            told.writelines(f"{name}: {' '.join(reason.split())}\n" for reason in sorted(reasons))


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out what can't be quick where only that is wanted: reading all tests takes longer."""
    if config.option.markexpr != "quick" or collection_path == ROOT:
        return None
    part = _part(collection_path)
    if part != "plugins" and not _is_of_the_engine(part):
        return True
    if collection_path.suffix != ".py":
        return None
    return True if NOT_QUICK.search(collection_path.read_text(encoding="utf-8")) else None


def _is_property(item: pytest.Item) -> bool:
    return getattr(getattr(item, "function", None), "is_hypothesis_test", False)


def _part(path: Path) -> str:
    """Return the part of the repository that has a path: ``core``, ``plugins/NAME``, ``tests``."""
    folder, *rest = path.relative_to(ROOT).parts
    return "/".join((folder, *rest[:1])) if folder == "plugins" else folder


@functools.cache
def _is_of_the_engine(part: str) -> bool:
    project = ROOT / part / "pyproject.toml"
    if not part.startswith("plugins/") or not project.exists():
        return part == "core"
    if part in ("plugins/signals", "plugins/testing"):  # what the providers have in common
        return True
    return PROVIDERS.search(project.read_text()) is not None


@pytest.fixture(scope="session")
def corpus() -> Path:
    """The folder of recorded runs that stays outside the repository; without it the test skips."""
    folder = os.environ.get("TRIMTAB_CORPUS")
    if not folder:
        pytest.skip("TRIMTAB_CORPUS names no folder of recorded runs")
    return Path(folder)


@pytest.fixture(scope="session", autouse=True)
def _user_state(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep what tests record out of the folder of the user who runs them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        yield


@pytest.fixture(autouse=True)
def _no_provider_fails(request: pytest.FixtureRequest) -> Iterator[None]:
    """Let no test of a provider pass by a failure of it, which a run contains and warns of.

    A test that wants one takes the warnings away: ``caplog.clear()``.
    """
    part = _part(request.path)
    of_a_provider = (
        part not in ("core", "plugins/testing")
        and "tests" in request.path.parts
        and _is_of_the_engine(part)
    )
    if not of_a_provider or request.node.get_closest_marker("e2e"):
        yield
        return
    caplog = request.getfixturevalue("caplog")
    yield
    told = [record.getMessage() for record in caplog.get_records("call")]
    assert [message for message in told if FAILURE.match(message)] == []


@pytest.fixture(scope="session")
def seconds() -> Callable[[Callable[[], object]], float]:
    """Measure what a piece of work takes of the CPU: the quickest of three times.

    One time alone may hold a collection of all garbage, which takes longer after many tests.
    """
    return lambda work: min(timeit.repeat(work, timer=time.thread_time, number=1, repeat=3))


@pytest.fixture
def unmeasured() -> dict[str, str]:
    """The environment for a child process whose imports count: without coverage's own."""
    return {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE_")}


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """An empty folder where the examples of one page run, with its `site` importable."""
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("desk")
        patch.chdir(folder)
        patch.setenv("TRIMTAB_HOME", str(folder / ".trimtab"))
        patch.setenv("PYTHONPATH", str(folder / "site"))
        patch.setenv("PATH", sysconfig.get_path("scripts") + os.pathsep + os.environ["PATH"])
        patch.syspath_prepend(str(folder / "site"))
        yield folder


def run_console(example: Example) -> str | None:
    """Run each `$` line of a block; return the differences to what the block shows, or None."""
    text = "\n" + example.parsed.replace("\\\n", "")  # a command may go on in the next line
    steps = [step.partition("\n") for step in text.split("\n$ ")[1:]]
    differences = (_difference(command, expected) for command, _, expected in steps)
    return "\n".join(filter(None, differences)) or None


def _difference(command: str, expected: str) -> str | None:
    if command.startswith("pip install "):
        command = f"{shlex.quote(sys.executable)} -m uv {command} {INTO_SITE}"
    done = subprocess.run(
        ["/bin/sh", "-c", command], text=True, capture_output=True, check=False, timeout=100
    )
    printed = done.stdout + done.stderr
    shown, status = STATUS.sub("", expected), STATUS.search(expected)
    alike = doctest.OutputChecker().check_output(f"{shown}\n", f"{printed}\n", LENIENT)
    if alike and done.returncode == (int(status[1]) if status else 0):
        return None
    return f"$ {command}\nprinted, with exit status {done.returncode}:\n{printed}"


def write_captioned(document: Document) -> Iterable[Region]:
    """Find blocks with a caption: evaluated, they become files."""
    for region in DirectiveLexer(directive="code-block")(document):
        if "caption" in region.lexemes.get("options", {}):
            region.parsed = region.lexemes["options"]["caption"], region.lexemes["source"]
            region.evaluator = _write
            yield region


def write_named(document: Document) -> Iterable[Region]:
    """Find plain `py` and `toml` blocks that begin with a file's name: every site shows them."""
    for region in FencedCodeBlockLexer("py|toml")(document):
        name = FILE_NAME.match(region.lexemes["source"])
        if name:
            region.parsed = name[1], region.lexemes["source"]
            region.evaluator = _write
            yield region


def _write(example: Example) -> None:
    name, text = example.parsed
    path = Path(example.namespace["desk"], name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


class _Docstrings(PythonDocStringDocument):
    """Docstrings of a source file that isn't imported: examples import what is installed."""

    def __init__(self, text: str, path: str) -> None:
        Document.__init__(self, text, path)


_pages = Sybil(
    name="page",
    parsers=[
        write_captioned,
        write_named,
        myst.PythonCodeBlockParser(doctest_optionflags=LENIENT),
        myst.CodeBlockParser(language="console", evaluator=run_console),
    ],
    pattern="*.md",
    fixtures=["desk"],
)
_docstrings = Sybil(
    name="docstring",
    parsers=[
        rest.PythonCodeBlockParser(),
        rest.DocTestParser(optionflags=LENIENT),
    ],
    patterns=["core/src/**/*.py", "plugins/*/src/**/*.py"],
    document_types={".py": _Docstrings},
)
pytest_collect_file: Callable[[Path, Any], Any] = (_pages + _docstrings).pytest()
