"""Ask another process about code of other packages: it may raise, exit, crash or hang there."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from typing import IO, Any

import attrs

from trimtab._plugins.registry import PluginInfo
from trimtab._types.text import sanitize

_CODE = "from trimtab._cli.probe_jobs import main; main()"
_TAIL = 300
"""What a plugin printed last before it ended the process: its error, not its log."""


@attrs.frozen
class Answers:
    """What the other process said.

    Args:
        values: its answers, in order.
        failure: how it ended before it was done; empty if it was done.
        hung: whether that was because of the time.
    """

    values: tuple[Any, ...] = ()
    failure: str = ""
    hung: bool = False


def ask(job: str, *arguments: str, timeout: float) -> Answers:
    """Run a job of `probe_jobs` in another process.

    Args:
        job: its name.
        arguments: those of the job.
        timeout: seconds that it may take.
    """
    command = [sys.executable, "-P", "-c", _CODE, job, *arguments]
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
    """Load and validate an entry elsewhere.

    Args:
        entry: what to load.
        timeout: seconds that it may take.

    Returns:
        What is wrong with it; None if it loads and is valid.
    """
    answers = ask("load", entry.group, entry.full_name, timeout=timeout)
    if answers.hung:
        return f"{entry.full_name} hangs while it is loaded: {answers.failure}"
    if answers.failure:
        return f"{entry.full_name} can't be loaded: {answers.failure}"
    wrong: str | None = answers.values[0]
    return wrong


def probe_options(entry: PluginInfo, timeout: float) -> tuple[list[dict[str, Any]], str]:
    """Read the options of an entry elsewhere.

    Args:
        entry: whose.
        timeout: seconds that it may take.

    Returns:
        The options as JSON has them, and what is wrong if they can't be read.
    """
    answers = ask("options", entry.group, entry.full_name, timeout=timeout)
    if answers.failure:
        return [], f"{entry.full_name} can't be loaded: {answers.failure}"
    found: dict[str, Any] = answers.values[0]
    return found["options"], found["wrong"]
