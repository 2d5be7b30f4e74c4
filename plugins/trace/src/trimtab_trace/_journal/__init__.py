"""Journals: one file a session on every host, where they lie, how each begins."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import datetime
from hashlib import blake2b
from pathlib import Path
from typing import Any

import attrs

from trimtab import SYSTEM_CLOCK, Usage
from trimtab.inspection import did_you_mean, state_home

_LARGEST = 1_000_000
_MOST_ENTRIES = 50
_LONGEST_ENTRY = 100


@attrs.frozen(kw_only=True)
class JournalSettings:
    """How journals are kept.

    Args:
        enabled: whether they are written at all.
        keep_days: days after the last event, at which a journal is removed.
        max_megabytes: size of all journals of a folder; the oldest are removed first.
    """

    enabled: bool = True
    keep_days: float = 30.0
    max_megabytes: float = 100.0

    @classmethod
    def read(cls, value: Any) -> JournalSettings:
        """Return the settings that a configuration gives.

        Args:
            value: true, false, or a table with the names of the arguments above.

        Raises:
            ValueError: it is something else; the message says all that is wrong.
        """
        if isinstance(value, bool):
            return cls(enabled=value)
        if not isinstance(value, Mapping):
            raise ValueError("journal must be a table, or false.")
        known = [field.name for field in attrs.fields(cls)]
        found: list[str] = []
        for key, given in value.items():
            if key not in known:
                found.append(f"unknown key {f'journal.{key}'!r}.{did_you_mean(key, known)}")
            elif key != "enabled" and not _is_size(given):
                found.append(_wrong_size(f"journal.{key}"))
            elif key == "enabled" and not isinstance(given, bool):
                found.append("journal.enabled must be true or false.")
        if found:
            raise ValueError(" ".join(found))
        return cls(**value)


def check_size(value: Any, what: str) -> float:
    """Return a number of days or megabytes."""
    if not _is_size(value):
        raise ValueError(_wrong_size(what))
    return float(value)


def _is_size(value: Any) -> bool:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return number and 0 < value <= _LARGEST


def _wrong_size(what: str) -> str:
    return f"{what} must be a number above 0, and {_LARGEST:,} at most."


def read_redact(value: Any) -> tuple[str, ...]:
    """Return the names and beginnings of further secrets that a configuration gives.

    Raises:
        ValueError: it is no list of short texts.
    """
    fine = isinstance(value, list | tuple) and all(
        isinstance(each, str) and 0 < len(each) <= _LONGEST_ENTRY for each in value
    )
    if not fine or len(value) > _MOST_ENTRIES:
        raise ValueError(
            f"redact must be an array of at most {_MOST_ENTRIES} texts with which secrets "
            f"begin, each of 1 to {_LONGEST_ENTRY} characters."
        )
    return tuple(value)


@attrs.frozen(kw_only=True)
class JournalOpened:
    """What a journal is about: its first event.

    Args:
        host: name of the runtime.
        project: the folder in which the session began.
        program: what runs there, where the host serves several programs.
        session: the program's own id of the session; empty if it has none.
        process: the process that writes.
    """

    host: str = ""
    project: str = ""
    program: str = ""
    session: str = ""
    process: int = 0


@attrs.frozen(kw_only=True)
class JournalFull:
    """A journal has reached its largest size: only decisions are written from here on.

    Args:
        megabytes: its size.
    """

    megabytes: float = 0.0


@attrs.frozen(kw_only=True)
class GuidanceStopped:
    """No provider is asked any more in the rest of a session: they have made its agent wait.

    Args:
        seconds: how long in all.
        providers: seconds by provider, as far as they are known.
    """

    seconds: float = 0.0
    providers: Mapping[str, float] = attrs.field(factory=dict)


@attrs.frozen(kw_only=True)
class ResponseMeasured:
    """What a program's own record says of one response of its model.

    For hosts that are not told of responses, e.g. hooks: it opens no turn, and may come after the
    calls that the response asked for.

    Args:
        response_id: the service's own id of it.
        model: which model answered; empty if unknown.
        provider: whose service it is; empty if unknown.
        started: when the request was sent, aware UTC; None if unknown.
        ended: when the response was whole.
        usage: its tokens; None if unknown.
        stop_reason: why the service ended it, in the service's words; None if unknown.
        call_ids: ids of the calls that it asked for.
        agent: the subagent; empty for the main agent.
    """

    response_id: str
    model: str = ""
    provider: str = ""
    started: datetime | None = None
    ended: datetime | None = None
    usage: Usage | None = None
    stop_reason: str | None = None
    call_ids: tuple[str, ...] = ()
    agent: str = ""


SUFFIX = ".jsonl"
_SAFE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}")


def journal_folder(state: Path | None = None) -> Path:
    """Return the folder of all journals of this user; it may not exist yet.

    Args:
        state: the user's state folder; the usual one if None.
    """
    return (state or state_home()) / "journals"


def file_stem(name: str) -> str:
    """Return a name as that of a file, whatever it holds."""
    if _SAFE.fullmatch(name):
        return name
    return f"id-{blake2b(name.encode('utf-8', 'surrogatepass'), digest_size=16).hexdigest()}"


def make_folder(folder: Path) -> None:
    """Make a folder that only the user can enter."""
    if not folder.is_dir():
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if os.name != "nt" and folder.stat().st_mode & 0o077:
        folder.chmod(0o700)


def journals(folder: Path) -> list[Path]:
    """Return the journals of a folder, the newest first."""
    try:
        return [path for path, _ in _found(folder, (SUFFIX,))]
    except OSError:
        return []


def journals_of(host: str, folder: Path) -> list[Path]:
    """Return the journals of one host, the newest first.

    Args:
        host: its name.
        folder: as `journal_folder` returns it.
    """
    return [path for path in journals(folder) if path.name.startswith(f"{host}-")]


def remove_old_journals(
    folder: Path, settings: JournalSettings, suffixes: tuple[str, ...] = (SUFFIX,)
) -> None:
    """Remove journals that are too old, and the oldest of those that are too large together.

    Args:
        folder: in which they lie.
        settings: the limits.
        suffixes: of the names of files that count.

    Raises:
        OSError: the folder can't be read, or one can't be removed.
    """
    oldest = SYSTEM_CLOCK.now().timestamp() - settings.keep_days * 86_400
    room = settings.max_megabytes * 1e6
    for path, found in _found(folder, suffixes):
        room -= found.st_size
        if found.st_mtime < oldest or room < 0:
            path.unlink(missing_ok=True)


def _found(folder: Path, suffixes: tuple[str, ...]) -> Iterator[tuple[Path, os.stat_result]]:
    """Yield the journals of a folder with their status, the newest first."""
    found = []
    for entry in os.scandir(folder):
        if entry.name.endswith(suffixes) and entry.is_file(follow_symlinks=False):
            with suppress(FileNotFoundError):  # another process has removed it
                found.append((Path(entry.path), entry.stat()))
    yield from sorted(found, key=lambda each: -each[1].st_mtime)
