"""From a name to one installed entry that may be loaded."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase

from trimtab._plugins.discovery import installed_version
from trimtab._plugins.registry import (
    WORDS,
    PluginInfo,
    Registry,
    did_you_mean,
    normalise_full_name,
    normalise_name,
    pip_install,
    quoted_list,
)
from trimtab._plugins.requirements import admits, level_problem, parse_requirement, plainly_admits
from trimtab._types.errors import (
    AmbiguousProvider,
    IncompatibleProvider,
    ProviderNotAllowed,
    UnknownProvider,
)
from trimtab._types.text import sanitize


def select(group: str, wanted: str, registry: Registry) -> PluginInfo:
    """Find the one entry that is meant.

    Args:
        group: e.g. ``"guidance"``.
        wanted: a name, or ``distribution:name``; ``-``, ``_``, ``.`` and case don't matter.
        registry: what is installed.

    Raises:
        UnknownProvider: there is none; names the nearest, and what is installed.
        AmbiguousProvider: several distributions offer it; names the long forms.
    """
    found = matching(wanted, registry.of(group))
    if not found:
        raise UnknownProvider(_unknown(group, wanted, registry))
    entry, *others = found
    if others:
        choices = quoted_list(entry.full_name for entry in found)
        raise AmbiguousProvider(
            f"Several distributions offer a {WORDS[group]} {entry.name!r}: write one of {choices}."
        )
    return entry


def matching(wanted: str, entries: Iterable[PluginInfo]) -> tuple[PluginInfo, ...]:
    """Return the entries that a name can mean.

    Args:
        wanted: entry name, or ``distribution:name``.
        entries: all of one kind.
    """
    name = normalise_full_name(wanted)
    return tuple(entry for entry in entries if name in (entry.name, entry.full_name))


def named(name: str, registry: Registry) -> tuple[PluginInfo, ...]:
    """Return all entries that a name may mean, of every kind.

    Raises:
        UnknownProvider: there is none.
    """
    found = matching(name, registry.entries)
    if found:
        return found
    known = dict.fromkeys(entry.name for entry in registry.entries)
    shown = sanitize(normalise_full_name(name), 80)
    raise UnknownProvider(
        f"Nothing called {shown!r} is installed.{did_you_mean(shown, known)} "
        f"Installed: {quoted_list(known)}."
    )


def _unknown(group: str, wanted: str, registry: Registry) -> str:
    entries = registry.of(group)
    shown = sanitize(wanted, 80)
    known = [*(entry.name for entry in entries), *(entry.full_name for entry in entries)]
    hint = _other_group(group, wanted, registry) or did_you_mean(normalise_full_name(shown), known)
    return (
        f"No {WORDS[group]} {shown!r} is installed.{hint} "
        f"Installed: {quoted_list(shortest_names(entries))}.{_damage(registry)}"
        f"{'' if hint else ' Install the package that offers it, or correct the name.'}"
    )


def _other_group(group: str, wanted: str, registry: Registry) -> str:
    others = [entry for entry in matching(wanted, registry.entries) if entry.group != group]
    return f" It is a {WORDS[others[0].group]}." if others else ""


def shortest_names(entries: Sequence[PluginInfo]) -> list[str]:
    """Return the names to type: bare, or the long form where one group has it twice."""
    names = [entry.name for entry in entries]
    return [entry.name if names.count(entry.name) == 1 else entry.full_name for entry in entries]


def _damage(registry: Registry) -> str:
    damaged = [problem for problem in registry.problems if problem.is_error]
    if not damaged:
        return ""
    return " Some installed packages are damaged: `trimtab plugins doctor` names them."


def check_allowed(entry: PluginInfo, allow: Sequence[str] | None) -> None:
    """Check an entry against the allow-list.

    Args:
        entry: the entry.
        allow: patterns of distributions; None allows all.

    Raises:
        ProviderNotAllowed: no pattern fits its distribution.
    """
    if allow is None or any(
        fnmatchcase(entry.distribution, normalise_name(pattern)) for pattern in allow
    ):
        return
    raise ProviderNotAllowed(
        f"The {WORDS[entry.group]} {entry.full_name!r} may not be loaded: the configuration's "
        f"'allow' does not name {entry.distribution!r}. It names {quoted_list(allow)}."
    )


_CORE = "trimtab"


def mismatch(entry: PluginInfo) -> str | None:
    """Say why the installed trimtab is not what the entry's package declares, or return None.

    A requirement with a marker is left to the installer, who knows its environment; so is a
    package that declares nothing.
    """
    wrong = level_problem(entry)
    if wrong:
        return wrong
    version = installed_version(_CORE)
    for text in entry.requires:
        if version and plainly_admits(text, version):
            continue
        requirement = parse_requirement(text)
        if requirement is None:
            return f"{entry.package} declares {text!r}, which is not a requirement"
        if version and not requirement.marker and not admits(requirement, version):
            return f"{entry.package} asks for {text!r}, and trimtab {version} is installed"
    return None


def check_compatible(entry: PluginInfo) -> None:
    """Compare the installed trimtab with what the entry's package declares.

    Raises:
        IncompatibleProvider: they don't fit, or the declaration can't be read.
    """
    wrong = mismatch(entry)
    if wrong:
        raise IncompatibleProvider(
            f"The provider {entry.full_name!r} can't be used: {wrong}. Install versions that fit: "
            f"{pip_install(entry.distribution, _CORE, how='upgrade')}"
        )


def check_required(require: Iterable[str]) -> None:
    """Hold the configuration's require-list against what is installed.

    Args:
        require: e.g. ``"acme-nudges>=0.1"``, well-formed.

    Raises:
        ProviderNotAllowed: one is missing, or installed in a version that won't do.
    """
    for text in require:
        requirement = parse_requirement(text)
        version = installed_version(requirement.name) if requirement else None
        if requirement is None or version is None or not admits(requirement, version):
            found = f"version {version} is installed" if version else "it is not installed"
            raise ProviderNotAllowed(
                f"The configuration requires {text!r}, and {found}: {pip_install(text)}"
            )
