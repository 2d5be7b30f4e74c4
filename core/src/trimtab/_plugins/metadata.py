"""Lenient readers of a distribution's metadata folder; they import nothing."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from typing import Protocol

import attrs

from trimtab._plugins.registry import normalise_name

_LARGEST = 4_000_000
_DOTTED = r"[^\W\d]\w*(?:\.[^\W\d]\w*)*"
TARGET = re.compile(rf"(?P<module>{_DOTTED})\s*:\s*(?P<attr>{_DOTTED})")
_REQUIREMENT_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?")


class Readable(Protocol):
    """The part of an installed distribution that is looked at."""

    def read_text(self, filename: str, /) -> str | None:
        """Return the text of a file of the metadata folder or None."""
        ...


def read_bounded(distribution: Readable, filename: str) -> str:
    """Return the text of a metadata file; empty if there is none.

    Args:
        distribution: an installed distribution.
        filename: a file of its metadata folder.

    Raises:
        ValueError: it is not a regular file, which might never end, or is larger than 4 MB.
    """
    folder = getattr(distribution, "_path", None)
    if folder is not None:
        try:
            found = os.stat(os.path.join(str(folder), filename))  # noqa: PTH116, PTH118
        except FileNotFoundError:
            return ""
        except (OSError, ValueError):
            pass  # inside an archive, or where the finder keeps it
        else:
            if not stat.S_ISREG(found.st_mode):
                raise ValueError(f"{filename} is not a regular file")
            if found.st_size > _LARGEST:
                raise ValueError(f"{filename} is larger than {_LARGEST // 1_000_000} MB")
    return distribution.read_text(filename) or ""


@attrs.frozen
class Headers:
    """The fields of a METADATA or PKG-INFO file that matter here."""

    name: str
    version: str
    summary: str = ""
    requires: tuple[str, ...] = ()

    def requirements_on(self, name: str) -> tuple[str, ...]:
        """Return the Requires-Dist lines about one distribution."""
        return tuple(line for line in self.requires if requirement_name(line) == name)


def read_headers(distribution: Readable) -> Headers | None:
    """Read a distribution's core metadata; None if it has no name and version.

    A scan of the first lines: `importlib.metadata` would parse all of it as a mail.
    """
    text = read_bounded(distribution, "METADATA") or read_bounded(distribution, "PKG-INFO")
    fields: dict[str, list[str]] = {}
    for key, value in _header_lines(text):
        fields.setdefault(key, []).append(value)
    if "name" not in fields or "version" not in fields:
        return None
    summary = fields.get("summary", [""])[0]
    requires = tuple(fields.get("requires-dist", ()))
    return Headers(fields["name"][0], fields["version"][0], summary, requires)


def _header_lines(text: str) -> Iterator[tuple[str, str]]:
    for line in text.splitlines():
        if not line.strip():
            return
        key, colon, value = line.partition(":")
        if colon and value.strip() and not line[0].isspace():
            yield key.lower(), value.strip()


def requirement_name(requirement: str) -> str:
    """Return the normalised name at the start of a requirement; empty if there is none."""
    match = _REQUIREMENT_NAME.match(requirement.strip())
    return normalise_name(match[0]) if match else ""


@attrs.frozen
class Line:
    """One line of an entry_points.txt; `value` is None if it is not ``name = value``."""

    group: str
    name: str
    value: str | None


def entry_lines(text: str) -> Iterator[Line]:
    """Read an entry_points.txt line by line, whatever is in it."""
    group = ""
    for raw in text.splitlines():
        line = raw.strip()
        if line.startswith("["):
            group = line.strip("[]").strip()
        elif line and line[0] not in "#;":
            name, equals, value = line.partition("=")
            yield Line(group, name.strip(), value.strip() if equals else None)
