"""Find what is installed from metadata, without importing any package.

Distributions are found by `importlib.metadata`. Its `entry_points()` raises if the file of a single
distribution is damaged, and would wait for one that never ends; so the files are read here, one by
one.
"""

from __future__ import annotations

import functools
import importlib
import operator
import os
import re
import stat
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import attrs

from trimtab._plugins import (
    GROUP_PREFIX,
    GROUPS,
    LEVEL_GROUP,
    LEVEL_NAME,
    PROVIDER_NAME,
    PluginInfo,
    Problem,
    Registry,
    Severity,
    normalise_name,
)
from trimtab._types.text import describe_error, did_you_mean, sanitize

if TYPE_CHECKING:
    from importlib.metadata import Distribution

_INSIDE_EGG = "egg-info"
_LARGEST = 4_000_000
"""Bytes; metadata of the largest real distributions takes some 100 KB, and is read whole."""


class MetadataFolder:
    """The metadata of one distribution, as a finder knows it.

    The path has no public name. What other finders make has none, and is read as it is. For its
    name, the library would parse the whole file as a mail.
    """

    __slots__ = ("_distribution", "_has_folder", "name", "where")

    def __init__(self, distribution: Distribution) -> None:
        path = getattr(distribution, "_path", None)
        self.where = os.curdir if path is None else str(path)
        above, _, folder = self.where.replace(os.sep, "/").rstrip("/").rpartition("/")
        self.name = _name_in(above, folder)
        self._distribution = distribution
        self._has_folder = path is not None

    def read(self, filename: str) -> str:
        """Return the text of a file in it; empty if there is none that may be read."""
        if self._has_folder:
            try:
                found = os.stat(f"{self.where}{os.sep}{filename}")  # noqa: PTH116
            except (OSError, ValueError):
                pass  # it is not there, or inside an archive
            else:
                _check(found, filename)
        return self._distribution.read_text(filename) or ""


def _check(found: os.stat_result, filename: str) -> None:
    """Refuse what might never end."""
    if not stat.S_ISREG(found.st_mode):
        raise ValueError(f"{filename} is not a regular file")
    if found.st_size > _LARGEST:
        raise ValueError(f"{filename} is larger than {_LARGEST // 1_000_000} MB")


def installed_metadata(path: Sequence[str] | None = None) -> Iterator[MetadataFolder]:
    from importlib.metadata import distributions

    return map(MetadataFolder, distributions() if path is None else distributions(path=[*path]))


def _name_in(above: str, folder: str) -> str:
    """Return the name in ``name-version.dist-info``, or in the path above ``EGG-INFO``."""
    if folder.lower() == _INSIDE_EGG:
        folder = os.path.basename(above)  # noqa: PTH119
    return normalise_name(folder.rpartition(".")[0].partition("-")[0])


_DOTTED = r"[^\W\d]\w*(?:\.[^\W\d]\w*)*"
TARGET = re.compile(rf"(?P<module>{_DOTTED})\s*:\s*(?P<attr>{_DOTTED})")
_REQUIREMENT_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?")


@attrs.frozen
class Headers:
    name: str
    version: str
    summary: str = ""
    requires: tuple[str, ...] = ()


def read_headers(folder: MetadataFolder) -> Headers | None:
    """Read a distribution's core metadata; None if it has no name and version."""
    from email.parser import HeaderParser

    text = folder.read("METADATA") or folder.read("PKG-INFO")
    head = HeaderParser().parsestr(text.partition("\n\n")[0])  # what follows may be a readme
    name, version = (head.get(key, "").strip() for key in ("Name", "Version"))
    if not name or not version:
        return None
    return Headers(name, version, head.get("Summary", ""), tuple(head.get_all("Requires-Dist", ())))


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


_MENTION = f"[{GROUP_PREFIX}"
_ORDER = operator.attrgetter("group", "name", "distribution", "version", "module", "attr", "where")
_ByName = Mapping[str, Sequence[MetadataFolder]]


def discover(path: Sequence[str] | None = None) -> Registry:
    """Return what is installed; scanned once per process, see `refresh`.

    Args:
        path: folders to look in, without a cache; `sys.path` and its finders if None.
    """
    if path is None:
        return _installed()
    return _scan(_grouped(installed_metadata(path)))


def refresh() -> Registry:
    """Scan again, after something was installed or removed while this process ran."""
    forget()
    return _installed()


def forget() -> None:
    """Scan again when something is asked for."""
    importlib.invalidate_caches()  # of folders, which finders of distributions keep too
    _installed.cache_clear()
    _all_by_name.cache_clear()


@functools.cache
def _installed() -> Registry:
    return _scan(_all_by_name())


def entry_points_of(group: str) -> dict[str, str]:
    """Return what is installed in a group of any name: ``module:attribute`` by name.

    A package whose metadata is damaged is left out; `discover` says what is wrong with it.

    Args:
        group: the whole name of the group.
    """
    found: dict[str, str] = {}
    for folders in _all_by_name().values():
        whole = next((copy for copy in map(_read, folders) if not copy.error), None)
        for line in entry_lines(whole.text) if whole else ():
            if line.group == group and line.value:
                found.setdefault(line.name, line.value)
    return found


def installed_version(name: str) -> str | None:
    """Return the version of the first whole copy of a distribution or None.

    Args:
        name: the distribution, in any spelling.
    """
    headers = _first_headers(name)
    return None if headers is None else sanitize(headers.version, 60)


def installed_requirements(name: str) -> tuple[str, ...]:
    """Return what the first whole copy of a distribution declares to need (PEP 508)."""
    headers = _first_headers(name)
    return () if headers is None else headers.requires


def _first_headers(name: str) -> Headers | None:
    found = map(_headers, _all_by_name().get(normalise_name(name), ()))
    return next((headers for headers in found if isinstance(headers, Headers)), None)


@functools.cache
def _all_by_name() -> _ByName:
    return _grouped(installed_metadata())


def _grouped(folders: Iterable[MetadataFolder]) -> _ByName:
    found: dict[str, list[MetadataFolder]] = {}
    for folder in folders:
        found.setdefault(folder.name, []).append(folder)
    return found


@attrs.frozen
class _Copy:
    """One metadata folder: the text of its entry_points.txt, or why that can't be read."""

    folder: MetadataFolder
    text: str = ""
    error: str = ""

    @property
    def where(self) -> str:
        return self.folder.where

    @property
    def is_egg(self) -> bool:
        return self.where.endswith(".egg-info")


def _scan(found: _ByName) -> Registry:
    settled = [item for name, folders in found.items() for item in _settle(name, folders)]
    entries = (item for item in settled if isinstance(item, PluginInfo))
    problems = (item for item in settled if isinstance(item, Problem))
    return Registry(tuple(sorted(entries, key=_ORDER)), tuple(sorted(problems)))


def _settle(name: str, folders: Iterable[MetadataFolder]) -> Iterator[PluginInfo | Problem]:
    """Yield the entries of the first copy that can be read, and the problems of all copies.

    No more is read of a package if no copy mentions a group of ours.
    """
    copies = [_read(folder) for folder in folders]
    if not any(copy.error or _MENTION in copy.text for copy in copies):
        return
    owner: tuple[_Copy, Headers] | None = None
    for copy in _distinct(copies):
        headers = copy.error or _headers(copy.folder)
        if isinstance(headers, str):
            fix = "reinstall it, or delete the folder if nothing else is left of it"
            yield Problem(sanitize(name, 60), sanitize(copy.where), headers, fix)
        elif owner is None:
            owner = copy, headers
            yield from offers(headers, copy.text, sanitize(copy.where))
        else:
            first, known = owner
            same = (headers.version, copy.text) == (known.version, first.text)
            # Of two equal ones, one is what setuptools leaves beside the source that the other was
            # installed from: so an author's own editable package looks.
            if not (same and (copy.is_egg or first.is_egg)):
                yield _shadowed(copy, headers.version, first, known, "note" if same else "error")


def _read(folder: MetadataFolder) -> _Copy:
    try:
        return _Copy(folder, folder.read("entry_points.txt"))
    except Exception as error:  # noqa: BLE001  # a damaged package must not stop a listing
        return _Copy(folder, error=f"entry_points.txt can't be read: {describe_error(error)}")


def _distinct(copies: Collection[_Copy]) -> Collection[_Copy]:
    """Leave out folders that are on the path twice, also through a link."""
    if len(copies) == 1:
        return copies
    first: dict[str, _Copy] = {}
    for copy in copies:
        first.setdefault(os.path.realpath(copy.where), copy)
    return first.values()


def _headers(folder: MetadataFolder) -> Headers | str:
    """Return the core metadata, or say why there is none."""
    try:
        headers = read_headers(folder)
    except Exception as error:  # noqa: BLE001  # a damaged package must not stop a listing
        return f"METADATA can't be read: {describe_error(error)}"
    return headers or "no METADATA with a name and a version"


def _shadowed(
    copy: _Copy, version: str, first: _Copy, owner: Headers, severity: Severity
) -> Problem:
    return Problem(
        distribution=sanitize(normalise_name(owner.name), 60),
        where=sanitize(copy.where),
        message=f"version {sanitize(version, 60)} is hidden by version "
        f"{sanitize(owner.version, 60)} at {sanitize(first.where)}, which comes first on the path",
        fix="uninstall until none is left, then install the one you want",
        severity=severity,
    )


_REPORT = "ask its authors to correct its entry points"


def offers(headers: Headers, text: str, where: str) -> Iterator[PluginInfo | Problem]:
    """Yield the entries of an entry_points.txt, and a problem for each line that is none."""
    distribution = sanitize(normalise_name(headers.name), 60)
    lines = [line for line in entry_lines(text) if line.group.startswith(GROUP_PREFIX)]
    levels = [line for line in lines if line.group == GROUP_PREFIX + LEVEL_GROUP]
    known = [level for line in levels if (level := LEVEL_NAME.fullmatch(line.name))]
    if len(known) < len(levels):
        what = f"declares an API level that is none: {sanitize(levels[0].name, 60)!r}"
        yield Problem(distribution, where, what, _REPORT)
    make = functools.partial(
        PluginInfo,
        api_level=max((int(level[1]) for level in known), default=None),
        distribution=distribution,
        version=sanitize(headers.version, 60),
        where=where,
        summary=sanitize(headers.summary),
        requires=tuple(sanitize(x) for x in headers.requires if requirement_name(x) == "trimtab"),
    )
    seen: set[tuple[str, str]] = set()
    for line in lines:
        if line in levels:
            continue
        found = _entry_of_line(line, make)
        if isinstance(found, str):
            yield Problem(distribution, where, found, _REPORT)
        elif (found.group, found.name) in seen:
            what = f"offers {found.group} {found.name!r} twice; the first line counts"
            yield Problem(distribution, where, what, _REPORT)
        else:
            seen.add((found.group, found.name))
            yield found


def _entry_of_line(line: Line, make: Callable[..., PluginInfo]) -> PluginInfo | str:
    """Make the entry of a line, or say what is wrong with it."""
    group, name = line.group.removeprefix(GROUP_PREFIX), normalise_name(line.name)
    if group not in GROUPS:
        return f"unknown group {sanitize(line.group, 60)!r}.{did_you_mean(group, GROUPS)}"
    if line.value is None:
        return f"not an entry point: {sanitize(line.name, 60)!r} in [{line.group}]"
    if not PROVIDER_NAME.fullmatch(name):
        return f"bad name {sanitize(line.name, 60)!r} in [{line.group}]"
    target = TARGET.fullmatch(line.value.partition("[")[0].strip())
    if target is None:
        return f"bad target {sanitize(line.value, 60)!r} of {name!r}; it must be 'module:attribute'"
    return make(group=group, name=name, module=target["module"], attr=target["attr"])
