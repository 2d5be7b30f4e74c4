"""What code of other packages shows: in its source, or asked in a process of its own."""

from __future__ import annotations

import ast
import json
import os
import sys
from collections.abc import Iterable
from importlib import util
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from typing import IO, Any

import attrs

from trimtab._plugins import PluginInfo
from trimtab._types.text import describe_error, sanitize

_CODE = "from trimtab._cli.probe_jobs import main; main()"
_TAIL = 300
"""What a plugin printed last before it ended the process: its error, not its log."""


@attrs.frozen
class Answers:
    values: tuple[Any, ...] = ()
    failure: str = ""
    hung: bool = False


def ask(job: str, *arguments: str, timeout: float) -> Answers:
    """Run a job of `probe_jobs` in another process."""
    command = [sys.executable, "-P", "-c", _CODE, job, *arguments]
    import subprocess  # this and the next are a third of what `trimtab --help` takes
    import tempfile

    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        try:
            done = subprocess.run(
                command,
                check=False,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                timeout=timeout,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            )
        except subprocess.TimeoutExpired:
            return Answers(_values(out)[0], f"it was not done within {timeout:g} seconds", True)
        values, complete = _values(out)
        if complete:
            return Answers(values)
        return Answers(values, f"the process ended with status {done.returncode}. {_tail(err)}")


def _values(file: IO[bytes]) -> tuple[tuple[Any, ...], bool]:
    """Return the answers, and whether the last one says that the job is done."""
    file.seek(0)
    values: list[Any] = []
    for line in file.read().decode("utf-8", "replace").splitlines():
        try:
            values.append(json.loads(line))
        except ValueError:
            return tuple(values), False
    complete = bool(values) and values[-1] == "done"
    return tuple(values[:-1] if complete else values), complete


def _tail(file: IO[bytes]) -> str:
    file.seek(0, os.SEEK_END)
    file.seek(max(0, file.tell() - 10 * _TAIL))
    words = file.read().decode("utf-8", "replace").split()
    return sanitize(" ".join(words)[-_TAIL:], _TAIL)


def probe(entry: PluginInfo, timeout: float) -> str | None:
    """Load and validate an entry elsewhere; return what is wrong with it, or None."""
    answers = ask("load", entry.group, entry.full_name, timeout=timeout)
    if answers.hung:
        return f"{entry.full_name} hangs while it is loaded: {answers.failure}"
    if answers.failure:
        return f"{entry.full_name} can't be loaded: {answers.failure}"
    wrong: str | None = answers.values[0]
    return wrong


def probe_options(entry: PluginInfo, timeout: float) -> tuple[list[dict[str, Any]], str]:
    """Return an entry's options as JSON has them, read elsewhere, and why that failed."""
    answers = ask("options", entry.group, entry.full_name, timeout=timeout)
    if answers.failure:
        return [], f"{entry.full_name} can't be loaded: {answers.failure}"
    found: dict[str, Any] = answers.values[0]
    return found["options"], found["wrong"]


def static_problem(entry: PluginInfo) -> str | None:
    """Say that an entry's module is missing or no Python; None if neither shows."""
    spec = _find_module(entry.module)
    if spec is None:
        return f"{entry.full_name} points to {entry.module}, which is not installed"
    loader = spec.loader
    if not isinstance(loader, SourceFileLoader):
        return None
    try:
        compile(loader.get_data(loader.path), loader.path, "exec", dont_inherit=True)
    except (OSError, SyntaxError, ValueError) as error:
        return (
            f"{entry.full_name} points to {entry.module}, which is damaged: {describe_error(error)}"
        )
    return None


def command_summary(entry: PluginInfo) -> str:
    """Return the help of a command: the first line of its function's docstring.

    Read from the source, importing nothing; the package's summary if there is none.
    """
    spec = _find_module(entry.module)
    loader = spec.loader if spec else None
    if isinstance(loader, SourceFileLoader):
        try:
            tree = ast.parse(loader.get_data(loader.path))
        except (OSError, SyntaxError, ValueError, RecursionError):
            tree = ast.Module([], [])
        for node in tree.body:
            if isinstance(node, ast.FunctionDef) and node.name == entry.attr:
                text = ast.get_docstring(node) or ""
                return sanitize(text.partition("\n")[0], 200).rstrip(".") or entry.summary
    return entry.summary or "a command"


def _find_module(module: str) -> ModuleSpec | None:
    """Find a module's spec; `find_spec` with the dotted name would import the parents."""
    spec: ModuleSpec | None = None
    path: Iterable[str] | None = None
    name = ""
    for part in module.split("."):
        name = f"{name}.{part}" if name else part
        if path is not None:
            spec = PathFinder.find_spec(name, list(path))
        else:  # without a path, a parent is no package
            spec = None if spec else util.find_spec(name)
        if spec is None:
            return None
        path = spec.submodule_search_locations
    return spec
