"""Putting trimtab's hooks into a settings file, and giving it back byte for byte."""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Mapping
from hashlib import blake2b
from pathlib import Path
from typing import Any

import attrs

from trimtab_claude_code._settings.document import Document, SettingsError, read_document
from trimtab_claude_code._settings.entries import with_hooks, without_hooks


def digest(content: bytes) -> str:
    """Return what tells whether a file is still the same."""
    return blake2b(content, digest_size=16).hexdigest()


@attrs.frozen
class Receipt:
    """One file that was written to.

    Args:
        path: the file.
        before: its bytes before; None if there was no file.
        after: digest of what was written.
    """

    path: str
    before: bytes | None
    after: str


class Receipts:
    """The receipts of a user.

    Args:
        folder: the user's own folder.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder / "installed"

    def find(self, path: Path) -> Receipt | None:
        """Return the receipt for a file; None if there is none that can be read."""
        try:
            found = json.loads(self._file(path).read_text(encoding="utf-8"))
            before = found["before"]
            raw = None if before is None else base64.b64decode(before)
            return Receipt(str(found["path"]), raw, str(found["after"]))
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def any(self) -> bool:
        """Return whether there is a receipt for any file."""
        return any(self._folder.glob("*.json"))

    def keep(self, receipt: Receipt) -> None:
        """Write a receipt down, for the user's eyes alone: settings may hold secrets.

        Raises:
            OSError: it can't be written.
        """
        before = None if receipt.before is None else base64.b64encode(receipt.before).decode()
        text = json.dumps({"path": receipt.path, "before": before, "after": receipt.after})
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        fresh = self._file(Path(receipt.path)).with_suffix(".new")
        with open(fresh, "w", encoding="utf-8", opener=_private) as file:
            file.write(text)
        fresh.replace(self._file(Path(receipt.path)))

    def drop(self, path: Path) -> None:
        """Forget a file."""
        self._file(path).unlink(missing_ok=True)

    def _file(self, path: Path) -> Path:
        return self._folder / f"{digest(os.fsencode(path))}.json"


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


@attrs.frozen
class Change:
    """What would become of a settings file.

    Args:
        document: the file as it is.
        content: its bytes afterwards; None if it would be removed.
        before: what `undo` is to give back later; None if there was no file.
    """

    document: Document
    content: bytes | None
    before: bytes | None = None

    @property
    def needed(self) -> bool:
        """Whether anything would change."""
        return self.content != self.document.raw


def read_settings(path: Path) -> Document:
    """Read a settings file in which hooks are what Claude Code takes.

    Raises:
        SettingsError: they are not, or the file can't be edited safely.
    """
    document = read_document(path)
    hooks = document.data.get("hooks", {})
    if isinstance(hooks, dict) and all(isinstance(groups, list) for groups in hooks.values()):
        return document
    what = "'hooks' must be an object of lists, one per event"
    raise SettingsError(f"{document.path} was left untouched: {what}.")


def plan_install(path: Path, table: Mapping[str, list[Any]], receipts: Receipts) -> Change:
    """Say what installing would make of a settings file.

    Raises:
        SettingsError: the file can't be edited safely.
    """
    document = read_settings(path)
    wanted = with_hooks(document.data, table)
    original = _original(document, receipts)
    if wanted == document.data:
        return Change(document, document.raw, original)
    return Change(document, document.render(wanted), original)


def _original(document: Document, receipts: Receipts) -> bytes | None:
    """Return what the file would be without us."""
    receipt = receipts.find(document.path)
    if receipt and document.raw is not None and digest(document.raw) == receipt.after:
        return receipt.before
    rest = without_hooks(document.data)
    return document.raw if rest == document.data else document.render(rest)


def install(change: Change, receipts: Receipts) -> None:
    """Carry out a plan of `plan_install`; the receipt is kept before the file is touched.

    Raises:
        SettingsError: the file can't be written; it is as it was.
        OSError: the receipt can't be kept.
    """
    if change.content is None or not change.needed:
        return
    path = change.document.path
    receipts.keep(Receipt(str(path), change.before, digest(change.content)))
    change.document.write(change.content)


def undo(change: Change, receipts: Receipts) -> None:
    """Take back what `install` has just written.

    Raises:
        SettingsError: the file has been changed since, or can't be written.
    """
    if change.content is None or not change.needed:
        return
    document = change.document
    attrs.evolve(document, raw=change.content).write(document.raw)
    if document.raw is None or document.raw == change.before:
        receipts.drop(document.path)
    else:
        receipts.keep(Receipt(str(document.path), change.before, digest(document.raw)))


def plan_uninstall(path: Path, receipts: Receipts) -> Change:
    """Say what uninstalling would make of a settings file.

    If the file has not been changed since, it gets its earlier bytes back; otherwise only
    trimtab's own entries are removed.

    Raises:
        SettingsError: the file can't be edited safely.
    """
    document = read_settings(path)
    receipt = receipts.find(document.path)
    if document.raw is None:
        return Change(document, None)
    if receipt and digest(document.raw) == receipt.after:
        return Change(document, receipt.before)
    rest = without_hooks(document.data)
    if rest == document.data:
        return Change(document, document.raw)
    if receipt and receipt.before is None and not rest:
        return Change(document, None)
    return Change(document, document.render(_with_empty(rest, receipt)))


def _with_empty(rest: dict[str, Any], receipt: Receipt | None) -> dict[str, Any]:
    """Return settings with the empty lists of events that the user had before us."""
    before = _hooks_of(receipt.before) if receipt and receipt.before else None
    found = before if isinstance(before, dict) else None
    empty: dict[str, Any] = {event: [] for event, groups in (found or {}).items() if groups == []}
    if not empty and found != {}:
        return rest
    return {**rest, "hooks": {**empty, **rest.get("hooks", {})}}


def _hooks_of(raw: bytes) -> Any:
    try:
        return json.loads(raw.decode("utf-8-sig")).get("hooks")
    except (ValueError, AttributeError):
        return None


def uninstall(change: Change, receipts: Receipts) -> None:
    """Carry out a plan of `plan_uninstall`.

    Raises:
        SettingsError: the file can't be written; it is as it was.
    """
    if change.needed:
        change.document.write(change.content)
    receipts.drop(change.document.path)
