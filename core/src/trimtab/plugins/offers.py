"""What one distribution offers: its lines in trimtab's groups, checked."""

from __future__ import annotations

from collections.abc import Iterator

from trimtab.plugins.advice import did_you_mean
from trimtab.plugins.inventory import GROUP_PREFIX, GROUPS, Entry, Problem
from trimtab.plugins.metadata import TARGET, Headers, Line, entry_lines
from trimtab.plugins.names import PROVIDER_NAME, normalise, plain

_REPORT = "ask its authors to correct its entry points"


def offers(headers: Headers, text: str, where: str) -> Iterator[Entry | Problem]:
    """Yield the entries of an entry_points.txt, and a problem for each line that is none."""
    distribution = plain(normalise(headers.name), 60)
    seen: set[tuple[str, str]] = set()
    for line in entry_lines(text):
        if not line.group.startswith(GROUP_PREFIX):
            continue
        found = _entry(headers, line, where)
        if isinstance(found, str):
            yield Problem(distribution, where, found, _REPORT)
        elif (found.group, found.name) in seen:
            what = f"offers {found.group} {found.name!r} twice; the first line counts"
            yield Problem(distribution, where, what, _REPORT)
        else:
            seen.add((found.group, found.name))
            yield found


def _entry(headers: Headers, line: Line, where: str) -> Entry | str:
    """Make the entry of a line, or say what is wrong with it."""
    group, name = line.group.removeprefix(GROUP_PREFIX), normalise(line.name)
    if group not in GROUPS:
        return f"unknown group {plain(line.group, 60)!r}.{did_you_mean(group, GROUPS)}"
    if line.value is None:
        return f"not an entry point: {plain(line.name, 60)!r} in [{line.group}]"
    if not PROVIDER_NAME.fullmatch(name):
        return f"bad name {plain(line.name, 60)!r} in [{line.group}]"
    target = TARGET.fullmatch(line.value.partition("[")[0].strip())
    if target is None:
        return f"bad target {plain(line.value, 60)!r} of {name!r}; it must be 'module:attribute'"
    return Entry(
        group=group,
        name=name,
        distribution=plain(normalise(headers.name), 60),
        version=plain(headers.version, 60),
        module=target["module"],
        attr=target["attr"],
        where=where,
        summary=plain(headers.summary),
        requires=tuple(plain(line) for line in headers.requirements_on("trimtab")),
    )
