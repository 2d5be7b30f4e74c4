"""Installed plugins, what they ask for, and the phrases that messages share.

A package declares its level in its metadata, so that it is known without an import::

    [project.entry-points."trimtab.api"]
    level-1 = "trimtab"

A minor version of trimtab that changes what plugins rely on raises `LEVEL`. It goes on working
with plugins of the levels from `OLDEST`, which is raised two minor versions later.
"""

from __future__ import annotations

import inspect
import operator
import sys
from typing import TYPE_CHECKING, Any, Literal

import attrs

from trimtab._types.text import LazyPattern
from trimtab._version import __version__

if TYPE_CHECKING:
    from packaging.requirements import Requirement

PROVIDER_NAME = LazyPattern(r"[a-z][a-z0-9-]{0,39}")
_SEPARATORS = LazyPattern(r"[-_.]+")


def normalise_name(name: str) -> str:
    """Return `name` in lower case, with every run of ``-``, ``_`` and ``.`` as one ``-``."""
    return _SEPARATORS.sub("-", name).lower()


def normalise_full_name(name: str) -> str:
    """Normalise both parts of ``distribution:name``, or a bare name."""
    return ":".join(normalise_name(part.strip()) for part in name.split(":"))


GROUP_PREFIX = "trimtab."
LEVEL_GROUP = "api"
"""Last part of the group in which a package declares the level of the contract."""
LEVEL_NAME = LazyPattern(r"level-([1-9][0-9]{0,3})")


@attrs.frozen(order=True)
class PluginInfo:
    """One entry point, known from metadata alone.

    Args:
        group: the last part of its group, e.g. ``"guidance"``.
        name: the name to type, normalised.
        distribution: the package that offers it, normalised.
        version: the package's version.
        module: what loading it would import.
        attr: the attribute of that module.
        where: the package's metadata folder.
        summary: the package's own line about itself.
        requires: its requirements on trimtab, as declared.
        api_level: the level of the contract that its package was written for; None if undeclared.
    """

    group: str
    name: str
    distribution: str
    version: str
    module: str
    attr: str
    where: str
    summary: str = ""
    requires: tuple[str, ...] = ()
    api_level: int | None = attrs.field(default=None, order=False)

    @property
    def full_name(self) -> str:
        """The long form ``distribution:name``."""
        return f"{self.distribution}:{self.name}"

    @property
    def target(self) -> str:
        """Module and attribute, ``module:attr``."""
        return f"{self.module}:{self.attr}"

    @property
    def package(self) -> str:
        """Distribution and version, as messages name them."""
        return f"{self.distribution} {self.version}"


Severity = Literal["error", "note"]


@attrs.frozen(order=True)
class Problem:
    """Something wrong with an installed distribution; it stops nothing else.

    Args:
        distribution: the package, as far as it is known.
        where: its metadata folder.
        message: what is wrong.
        fix: what to do about it.
        severity: ``"error"``, or ``"note"`` if everything works all the same.
    """

    distribution: str
    where: str
    message: str
    fix: str
    severity: Severity = "error"

    @property
    def is_error(self) -> bool:
        """Whether something does not work."""
        return self.severity == "error"


@attrs.frozen
class Registry:
    """All entries of trimtab's groups and all problems, sorted."""

    entries: tuple[PluginInfo, ...] = ()
    problems: tuple[Problem, ...] = ()

    def of(self, group: str) -> tuple[PluginInfo, ...]:
        """Return the entries of one group, e.g. ``"guidance"``."""
        return tuple(entry for entry in self.entries if entry.group == group)


def parameters_of(factory: Any) -> tuple[inspect.Parameter, ...] | None:
    """Return the parameters of a factory; None if it hides them."""
    try:
        return tuple(inspect.signature(factory).parameters.values())
    except (TypeError, ValueError):
        return None


def pip_install(*packages: str, how: Literal["", "upgrade", "reinstall"] = "") -> str:
    """Say how to install packages for the running interpreter.

    Returns:
        A command of pip if the interpreter has it, else one of uv if that is there, else words.

    Args:
        packages: requirements, as pip takes them.
        how: ``"upgrade"`` or ``"reinstall"`` where they are installed already.
    """
    import shlex
    import shutil
    from importlib.util import find_spec

    if find_spec("pip") is not None:
        command, again = [sys.executable, "-m", "pip", "install"], "--force-reinstall"
    elif shutil.which("uv"):
        command, again = ["uv", "pip", "install", "--python", sys.executable], "--reinstall"
    else:
        return f"{how or 'install'} {' and '.join(packages)} for {sys.executable}"
    flags = {"": [], "upgrade": ["--upgrade"], "reinstall": [again]}[how]
    return shlex.join([*command, *flags, *packages])


WORDS = {
    "guidance": "guidance provider",
    "feedback": "feedback provider",
    "completion": "completion checker",
    "recorders": "recorder",
    "hosts": "host",
    "tables": "reader of a host's table",
    "mailboxes": "mailbox",
    "transcripts": "transcript reader",
    "events": "record type",
    "commands": "command",
}
"""What messages call the entries of a group."""
GROUPS = tuple(WORDS)
"""Last parts of the entry-point groups."""


def title(entry: PluginInfo) -> str:
    """Name an entry as messages do: what, its name, its package and version."""
    return f"{WORDS[entry.group]} {entry.name!r} of {entry.package}"


LEVEL = 1
OLDEST = 1
"""Both 1 until something changes that plugins rely on."""


def level_problem(entry: PluginInfo) -> str | None:
    """Say why a plugin of its level can't be used with this trimtab; None if it can."""
    level = entry.api_level
    if level is None or OLDEST <= level <= LEVEL:
        return None
    if level > LEVEL:
        return (
            f"{entry.package} was written for API level {level}, and trimtab {__version__} has "
            f"{LEVEL}: {pip_install('trimtab', how='upgrade')}"
        )
    return (
        f"{entry.package} was written for API level {level}, and trimtab {__version__} works with "
        f"{OLDEST} to {LEVEL}: {pip_install(entry.distribution, how='upgrade')}"
    )


def level_note(entry: PluginInfo) -> str | None:
    """Say that a plugin was written for an earlier level that still works; None if it was not."""
    level = entry.api_level
    if level is None or not OLDEST <= level < LEVEL:
        return None
    return (
        f"{entry.package} was written for API level {level}; trimtab {__version__} has {LEVEL} and "
        f"still works with it"
    )


_RELEASE = r"[0-9]{1,9}(?:\.[0-9]{1,9}){0,9}"
_CLAUSE = rf"(?:>=|<=|==|>|<) *{_RELEASE}"
_PLAIN = LazyPattern(
    rf"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])? *(?P<clauses>{_CLAUSE}(?: *, *{_CLAUSE})*)"
)
_PARTS = LazyPattern(rf"(?P<sign>[<=>]{{1,2}}) *(?P<release>{_RELEASE})")
_FINAL = LazyPattern(_RELEASE)
_SIGNS = {
    ">=": operator.ge,
    "<=": operator.le,
    "==": operator.eq,
    ">": operator.gt,
    "<": operator.lt,
}
_LONGEST = 500
"""Characters; the parser takes longer than linear time."""


def parse_requirement(text: str) -> Requirement | None:
    """Return a requirement, or None if `text` is none or is longer than 500 characters."""
    from packaging.requirements import InvalidRequirement, Requirement

    try:
        return Requirement(text) if len(text) <= _LONGEST else None
    except InvalidRequirement:
        return None


def admits(requirement: Requirement, version: str) -> bool:
    """Return whether an installed version will do; pre-releases that are installed count."""
    from packaging.version import InvalidVersion, Version

    try:
        return requirement.specifier.contains(Version(version), prereleases=True)
    except InvalidVersion:
        return False


def plainly_admits(text: str, version: str) -> bool:
    """Return whether a requirement like ``acme>=1,<2`` admits a version like ``1.4``.

    False does not say that it will not do: `packaging`, whose import takes longer than finding all
    plugins, has to be asked then. Where this is true, it agrees.
    """
    plain = _PLAIN.fullmatch(text) if len(text) <= _LONGEST else None
    if plain is None or not _FINAL.fullmatch(version):
        return False
    installed = _numbers(version)
    return all(
        _SIGNS[sign](installed, _numbers(release))
        for sign, release in _PARTS.findall(plain["clauses"])
    )


def _numbers(release: str) -> tuple[int, ...]:
    """Return a release so that 1.0 and 1 are the same and 1.0.1 is above both."""
    numbers = [int(part) for part in release.split(".")]
    while numbers and not numbers[-1]:
        numbers.pop()
    return tuple(numbers)
