"""A settings file: read strictly, written at once and whole, never guessed at."""

from __future__ import annotations

import codecs
import json
import os
import re
import shutil
import stat
import tempfile
from pathlib import Path
from typing import Any, NoReturn

import attrs

from trimtab import TrimtabError

_INDENT = re.compile(r"^\{\r?\n([ \t]+)\"")
_BOMS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)


class SettingsError(TrimtabError):
    """A settings file can't be edited safely; it was left untouched."""


@attrs.frozen
class Document:
    """A settings file as it is now.

    Args:
        path: the file itself, links followed.
        raw: its bytes; None if there is no file.
        data: what it says.
    """

    path: Path
    raw: bytes | None
    data: dict[str, Any]

    def render(self, data: dict[str, Any]) -> bytes:
        """Return the file's bytes with other data, in its own style of indent and line end.

        Raises:
            SettingsError: the data can't be written as UTF-8.
        """
        old = (self.raw or b"").decode("utf-8")
        indent = _INDENT.match(old.removeprefix("\ufeff"))
        try:
            text = json.dumps(
                data, indent=indent[1] if indent else 2, ensure_ascii=False, allow_nan=False
            )
            text = f"{text}\n".replace("\n", "\r\n") if "\r\n" in old else f"{text}\n"
            return ("\ufeff" * old.startswith("\ufeff") + text).encode("utf-8")
        except ValueError as error:
            raise _untouched(self.path, f"it holds a value that can't be kept: {error}") from error

    def write(self, content: bytes | None) -> None:
        """Put `content` in the file's place; None removes the file.

        Raises:
            SettingsError: it is read-only, has changed since it was read, or can't be written.
        """
        _check_writable(self.path)
        if _bytes_of(self.path) != self.raw:
            raise _untouched(self.path, "it was changed just now by another program; try again")
        try:
            if content is None:
                self.path.unlink(missing_ok=True)
            else:
                _replace(self.path, content)
        except OSError as error:
            raise _untouched(self.path, f"it can't be written: {error.strerror}") from error


def read_document(path: Path) -> Document:
    """Read a settings file; one that does not exist is an empty one.

    Raises:
        SettingsError: it can't be read, is no plain JSON object in UTF-8, or would lose
            something if it were written again.
    """
    real = Path(os.path.realpath(path))
    raw = _bytes_of(real)
    if raw is None or not raw.strip():
        return Document(real, raw, {})
    if raw.startswith(_BOMS):
        raise _untouched(real, "it is not in UTF-8; save it as UTF-8")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise _untouched(real, f"byte {error.start} is not UTF-8; save it as UTF-8") from error
    return Document(real, raw, _parse(real, text))


def _bytes_of(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _untouched(path, f"it can't be read: {error.strerror}") from error


def _parse(path: Path, text: str) -> dict[str, Any]:
    try:
        data = json.loads(text, object_pairs_hook=_distinct, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        comment = "//" in error.doc or "/*" in error.doc
        hint = " Comments and trailing commas can't be kept: take them out." if comment else ""
        raise _untouched(
            path, f"line {error.lineno}, column {error.colno} is no JSON ({error.msg}).{hint}"
        ) from error
    except (ValueError, RecursionError) as error:
        raise _untouched(path, str(error)) from error
    if not isinstance(data, dict):
        raise _untouched(path, "it must hold a JSON object")
    return data


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the key {twice!r} stands there twice, and one would be lost")
    return found


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")


def _check_writable(path: Path) -> None:
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        return
    # Asked of the mode: root may write everything, and should not where the owner said no.
    if not mode & (stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH) or not os.access(path, os.W_OK):
        raise _untouched(path, "it is read-only; make it writable first, or name another file")


def _replace(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    fresh = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if path.exists():
            shutil.copymode(path, fresh)
        fresh.replace(path)
    except BaseException as error:
        fresh.unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise _untouched(path, f"it can't be written: {error.strerror}") from None
        raise


def _untouched(path: Path, what: str) -> SettingsError:
    return SettingsError(f"{path} was left untouched: {what.rstrip('.')}.")
