"""Lenient readers of a distribution's metadata files; they import nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator

import attrs

from trimtab._plugins.folders import MetadataFolder
from trimtab._plugins.registry import normalise_name

_DOTTED = r"[^\W\d]\w*(?:\.[^\W\d]\w*)*"
TARGET = re.compile(rf"(?P<module>{_DOTTED})\s*:\s*(?P<attr>{_DOTTED})")
_REQUIREMENT_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?")


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


def read_headers(folder: MetadataFolder) -> Headers | None:
    """Read a distribution's core metadata; None if it has no name and version.

    A scan of the first lines: `importlib.metadata` would parse all of it as a mail.
    """
    text = folder.read("METADATA") or folder.read("PKG-INFO")
    fields: dict[str, list[str]] = {}
    for key, value in _header_lines(text):
        fields.setdefault(key, []).append(value)
    if "name" not in fields or "version" not in fields:
        return None
    summary = fields.get("summary", [""])[0]
    requires = tuple(fields.get("requires-dist", ()))
    return Headers(fields["name"][0], fields["version"][0], summary, requires)


def _header_lines(text: str) -> Iterator[tuple[str, str]]:
    head = text.partition("\n\n")[0]  # what follows may be a whole readme
    for line in head.splitlines():
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
