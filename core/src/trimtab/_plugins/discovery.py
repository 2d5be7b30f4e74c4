"""Find what is installed from metadata, without importing any package.

`importlib.metadata.entry_points()` raises if the file of a single distribution is damaged, so
the text of each distribution is read here on its own.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import PurePath

import attrs
import importlib_metadata

from trimtab._plugins.metadata import (
    TARGET,
    Headers,
    Line,
    Readable,
    entry_lines,
    read_bounded,
    read_headers,
)
from trimtab._plugins.registry import (
    GROUP_PREFIX,
    GROUPS,
    PROVIDER_NAME,
    PluginInfo,
    Problem,
    Registry,
    did_you_mean,
    normalise_name,
)
from trimtab._types.text import describe_error, sanitize

_MENTION = f"[{GROUP_PREFIX}"
_NOWHERE = PurePath()


def discover(path: Sequence[str] | None = None) -> Registry:
    """Return what is installed; scanned once per process, see `refresh`.

    Args:
        path: folders to look in, without a cache; `sys.path` and its finders if None.
    """
    if path is None:
        return _installed()
    return _scan(importlib_metadata.distributions(path=list(path)))


def refresh() -> Registry:
    """Scan again, after something was installed or removed while this process ran."""
    _installed.cache_clear()
    installed_version.cache_clear()
    return _installed()


@functools.cache
def _installed() -> Registry:
    return _scan(importlib_metadata.distributions())


@functools.cache
def installed_version(name: str) -> str | None:
    """Return the version of the first whole copy of a distribution or None."""
    for distribution in importlib_metadata.distributions(name=name):
        headers = _headers(distribution)
        if isinstance(headers, Headers):
            return sanitize(headers.version, 60)
    return None


@attrs.frozen
class _Copy:
    """One metadata folder: the text of its entry_points.txt, or why that can't be read."""

    distribution: Readable
    text: str = ""
    error: str = ""

    @property
    def where(self) -> str:
        return str(_folder(self.distribution))


def _scan(distributions: Iterable[Readable]) -> Registry:
    copies: dict[str, list[_Copy]] = {}
    ours: set[str] = set()
    for distribution in distributions:
        copy = _read(distribution)
        name = _name_of(distribution)
        copies.setdefault(name, []).append(copy)
        if copy.error or _MENTION in copy.text:
            ours.add(name)
    found = [item for name in ours for item in _settle(name, copies[name])]
    return Registry(
        tuple(sorted(item for item in found if isinstance(item, PluginInfo))),
        tuple(sorted(item for item in found if isinstance(item, Problem))),
    )


def _read(distribution: Readable) -> _Copy:
    try:
        return _Copy(distribution, read_bounded(distribution, "entry_points.txt"))
    except Exception as error:  # noqa: BLE001  # a damaged package must not stop a listing
        return _Copy(distribution, error=f"entry_points.txt can't be read: {describe_error(error)}")


def _folder(distribution: Readable) -> PurePath:
    """Return the metadata folder, which has no public name; `.` if a finder has none."""
    return getattr(distribution, "_path", _NOWHERE)


def _name_of(distribution: Readable) -> str:
    """Return the name in a folder's name, ``name-version.dist-info``."""
    stem = _folder(distribution).name.rpartition(".")[0]
    return normalise_name(stem.partition("-")[0])


def _settle(name: str, copies: Iterable[_Copy]) -> Iterator[PluginInfo | Problem]:
    """Yield the entries of the first copy that can be read, and the problems of all copies."""
    owner: tuple[_Copy, Headers] | None = None
    for copy in _distinct(copies):
        headers = copy.error or _headers(copy.distribution)
        if isinstance(headers, str):
            yield _damaged(name, copy, headers)
        elif owner is None:
            owner = copy, headers
            yield from offers(headers, copy.text, sanitize(copy.where))
        else:
            yield _shadowed(copy, headers, *owner)


def _distinct(copies: Iterable[_Copy]) -> Collection[_Copy]:
    """Leave out folders that are on the path twice, also through a link."""
    first: dict[str, _Copy] = {}
    for copy in copies:
        first.setdefault(os.path.realpath(copy.where), copy)
    return first.values()


def _headers(distribution: Readable) -> Headers | str:
    """Return the core metadata, or say why there is none."""
    try:
        headers = read_headers(distribution)
    except Exception as error:  # noqa: BLE001  # a damaged package must not stop a listing
        return f"METADATA can't be read: {describe_error(error)}"
    return headers or "no METADATA with a name and a version"


def _damaged(name: str, copy: _Copy, what: str) -> Problem:
    fix = "reinstall it, or delete the folder if nothing else is left of it"
    return Problem(sanitize(name, 60), sanitize(copy.where), what, fix)


def _shadowed(copy: _Copy, headers: Headers, first: _Copy, owner: Headers) -> Problem:
    same = (headers.version, copy.text) == (owner.version, first.text)
    return Problem(
        distribution=sanitize(normalise_name(owner.name), 60),
        where=sanitize(copy.where),
        message=f"version {sanitize(headers.version, 60)} is hidden by version "
        f"{sanitize(owner.version, 60)} at {sanitize(first.where)}, which comes first on the path",
        fix="uninstall until none is left, then install the one you want",
        severity="note" if same else "error",
    )


_REPORT = "ask its authors to correct its entry points"


def offers(headers: Headers, text: str, where: str) -> Iterator[PluginInfo | Problem]:
    """Yield the entries of an entry_points.txt, and a problem for each line that is none."""
    distribution = sanitize(normalise_name(headers.name), 60)
    seen: set[tuple[str, str]] = set()
    for line in entry_lines(text):
        if not line.group.startswith(GROUP_PREFIX):
            continue
        found = _entry_of_line(headers, line, where)
        if isinstance(found, str):
            yield Problem(distribution, where, found, _REPORT)
        elif (found.group, found.name) in seen:
            what = f"offers {found.group} {found.name!r} twice; the first line counts"
            yield Problem(distribution, where, what, _REPORT)
        else:
            seen.add((found.group, found.name))
            yield found


def _entry_of_line(headers: Headers, line: Line, where: str) -> PluginInfo | str:
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
    return PluginInfo(
        group=group,
        name=name,
        distribution=sanitize(normalise_name(headers.name), 60),
        version=sanitize(headers.version, 60),
        module=target["module"],
        attr=target["attr"],
        where=where,
        summary=sanitize(headers.summary),
        requires=tuple(sanitize(line) for line in headers.requirements_on("trimtab")),
    )
