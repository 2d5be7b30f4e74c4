"""Putting trimtab's hooks into a settings file, and taking them out again."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import attrs

from trimtab_claude_code._settings.document import Document, SettingsError, read_document
from trimtab_claude_code._settings.entries import with_hooks, without_hooks
from trimtab_claude_code._settings.receipt import Receipt, Receipts, digest


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
