"""For hosts that ask providers in a process of its own, which another process can end.

The process that asks keeps a `CallBoard`. When it hangs or dies, the one that starts it again
reads there whose code was running, and keeps that provider out by `SetAside` until the user brings
it back.
"""

from __future__ import annotations

import json
import mmap
import os
import struct
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from threading import get_ident
from typing import Any

import attrs

from trimtab import SYSTEM_CLOCK
from trimtab.hosting import watch_calls

_SLOTS = 64
"""Threads that can be told apart at once; further ones share a slot."""
_SLOT = struct.Struct("=d120s")
_HEAD = struct.Struct("=q")
_NAME_BYTES = 120
"""What the text of a slot has room for."""
_MOST_SET_ASIDE = 100
"""Providers in the file of those that are left out; nobody enables more."""


@attrs.frozen
class Call:
    """A call into a provider that had not returned.

    Args:
        provider: its name.
        began: reading of `time.monotonic` at its beginning.
        pid: the process.
    """

    provider: str
    began: float
    pid: int


class CallBoard:
    """Says in a file which provider each thread is calling; readable when the process is gone.

    Args:
        path: the file; it is replaced.

    Raises:
        OSError: it can't be made.
    """

    def __init__(self, path: Path) -> None:
        size = _HEAD.size + _SLOTS * _SLOT.size
        fresh = path.with_name(f"{path.name}.{os.getpid()}")
        handle = os.open(fresh, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600)
        try:
            os.write(handle, bytes(size))
            self._map = mmap.mmap(handle, size)
            fresh.replace(path)
        except BaseException:
            fresh.unlink(missing_ok=True)
            raise
        finally:
            os.close(handle)
        self._slots: dict[int, int] = {}
        _HEAD.pack_into(self._map, 0, os.getpid())

    def watch(self) -> None:
        """Note every call into a provider of this process from now on."""
        watch_calls(self.tell)

    def tell(self, name: str) -> None:
        """Note that this thread calls a provider, or with an empty name that it has returned."""
        thread = get_ident()
        slot = self._slots.get(thread)
        if slot is None:
            slot = self._slots[thread] = _HEAD.size + len(self._slots) % _SLOTS * _SLOT.size
        began = SYSTEM_CLOCK.monotonic() if name else 0.0
        _SLOT.pack_into(self._map, slot, began, name.encode()[:_NAME_BYTES])


def last_call(path: Path) -> Call | None:
    """Return the call on a board that began last and had not returned; None if there is none.

    Nothing can begin while a call holds the interpreter's lock, so that is the one that did.

    Args:
        path: the file of the board.
    """
    try:
        raw = path.read_bytes()
    except OSError:
        return None
    if len(raw) != _HEAD.size + _SLOTS * _SLOT.size:
        return None
    (pid,) = _HEAD.unpack_from(raw)
    slots = (_SLOT.unpack_from(raw, _HEAD.size + n * _SLOT.size) for n in range(_SLOTS))
    calls = [(began, name) for began, name in slots if name[:1] != b"\0"]
    if not calls:
        return None
    began, name = max(calls)
    return Call(name.rstrip(b"\0").decode("utf-8", "replace"), began, pid)


class SetAside:
    """The providers that ended or held a process of a host; they stay out until brought back.

    Args:
        folder: the user's state folder.
    """

    def __init__(self, folder: Path) -> None:
        self._file = folder / "set-aside.json"

    def read(self) -> dict[str, dict[str, str]]:
        """Return the providers by name: when (ISO 8601), on which host, and why."""
        try:
            found = json.loads(self._file.read_bytes())
            return {str(name): dict(about) for name, about in found.items()}
        except (OSError, ValueError, AttributeError, TypeError):
            return {}

    def add(self, name: str, *, host: str, reason: str) -> str:
        """Set a provider aside, unless the disk is full; return what to tell the user.

        Args:
            name: the provider's.
            host: name of the runtime.
            reason: what it did, e.g. ``"ended the hook server"``.
        """
        kept = [*self.read().items()][1 - _MOST_SET_ASIDE :]
        at = SYSTEM_CLOCK.now().isoformat(timespec="seconds")
        with suppress(OSError):
            self._write({**dict(kept), name: {"at": at, "host": host, "reason": reason}})
        return f"{name} {reason}, and stays out until you run: trimtab status --bring-back {name}"

    def bring_back(self, name: str) -> bool:
        """Let a provider take part again; return whether it was set aside.

        Args:
            name: the provider's.

        Raises:
            OSError: it can't be stored.
        """
        found = self.read()
        if found.pop(name, None) is None:
            return False
        self._write(found)
        return True

    def environment(self, environment: Mapping[str, str]) -> dict[str, str]:
        """Return variables in which `TRIMTAB_DISABLE` names the providers that are set aside.

        Args:
            environment: the variables to begin with.
        """
        names = [*filter(None, environment.get("TRIMTAB_DISABLE", "").split(",")), *self.read()]
        return {**environment, **({"TRIMTAB_DISABLE": ",".join(names)} if names else {})}

    def _write(self, found: Mapping[str, Any]) -> None:
        self._file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        fresh = self._file.with_name(f"{self._file.name}.{os.getpid()}")
        try:
            with open(fresh, "w", encoding="utf-8", opener=partial(os.open, mode=0o600)) as file:
                json.dump(found, file)
            fresh.replace(self._file)
        except BaseException:
            with suppress(OSError):
                fresh.unlink()
            raise
