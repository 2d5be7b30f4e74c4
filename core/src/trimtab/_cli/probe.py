"""Load one entry in a process of its own: it may raise, exit, crash or hang there."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from typing import IO, TYPE_CHECKING, Any

from trimtab._events.provenance import ProviderKind
from trimtab._plugins.registry import PluginInfo
from trimtab._types.errors import TrimtabError
from trimtab._types.text import describe_error, sanitize

if TYPE_CHECKING:
    from trimtab._policy.settings import ProviderConfig


_CODE = "from trimtab._cli.probe import main; main()"
_TAIL = 300


def probe(entry: PluginInfo, timeout: float) -> str | None:
    """Load and validate an entry elsewhere.

    Args:
        entry: what to load.
        timeout: seconds that it may take.

    Returns:
        What is wrong with it; None if it loads and is valid.
    """
    command = [sys.executable, "-P", "-c", _CODE, entry.group, entry.full_name]
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
            return f"{entry.full_name} hangs: it was not loaded within {timeout:g} seconds"
        return _verdict(entry, done.returncode, _tail(out), _tail(err))


def _tail(file: IO[bytes]) -> str:
    file.seek(0, os.SEEK_END)
    file.seek(max(0, file.tell() - 10 * _TAIL))
    return file.read().decode("utf-8", "replace")


def _verdict(entry: PluginInfo, status: int, out: str, err: str) -> str | None:
    try:
        answer: Any = json.loads(out)
    except ValueError:
        last = sanitize(" ".join(err.split())[-_TAIL:], _TAIL)
        return f"{entry.full_name} ends the process (status {status}) while it is loaded. {last}"
    wrong: str | None = answer["wrong"]
    return wrong


def main(arguments: Sequence[str] | None = None) -> None:
    """Load the entry, in the other process; write the problem, or null, as JSON to standard output.

    Args:
        arguments: those of the process.
    """
    group, full_name = sys.argv[1:] if arguments is None else arguments
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what the package prints must not mix with the answer
    wrong = _try(group, full_name)
    answers.write(json.dumps({"wrong": wrong}))
    answers.flush()
    os._exit(0)  # a thread that the package left running would keep the process


def _try(group: str, full_name: str) -> str | None:
    from trimtab._plugins.discovery import discover
    from trimtab._plugins.loading import load
    from trimtab._plugins.selection import check_compatible, select

    try:
        entry = select(group, full_name, discover())
        check_compatible(entry)
        _make(entry, load(entry))
    except TrimtabError as error:
        return str(error)
    except BaseException as error:  # noqa: BLE001  # this process is here to see anything happen
        return f"{full_name}: {describe_error(error)}"
    return None


def _make(entry: PluginInfo, factory: Any) -> None:
    """Construct and validate a provider with its default options; other kinds are only loaded."""
    from trimtab._events.provenance import ProviderKind
    from trimtab._plugins.loading import construct, needed_options
    from trimtab._plugins.resolution import source_of_entry
    from trimtab._plugins.validation import validate

    if entry.group not in list(ProviderKind) or needed_options(factory):
        return
    kind = ProviderKind(entry.group)
    instance = construct(entry, factory, {})
    validate(source_of_entry(kind, entry), _settings(kind, instance), instance)


def _settings(kind: ProviderKind, instance: Any) -> ProviderConfig:
    from trimtab._policy import settings

    if kind is ProviderKind.FEEDBACK:
        return settings.FeedbackProviderConfig(instance, settings.FeedbackTrigger(every_n_calls=1))
    if kind is ProviderKind.GUIDANCE:
        return settings.GuidanceProviderConfig(instance)
    if kind is ProviderKind.RECORDER:
        return settings.RecorderConfig(instance)
    return settings.CompletionCheckerConfig(instance)
