"""Installed plugins, and the phrases that messages share."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Literal

import attrs

from trimtab._types.text import LazyPattern

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
GROUPS = (
    "guidance",
    "feedback",
    "completion",
    "recorders",
    "hosts",
    "mailboxes",
    "transcripts",
    "events",
    "commands",
)
"""Last parts of the entry-point groups."""


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


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return `` Did you mean 'x'?``, or empty text if no known word is near.

    Args:
        word: what was written.
        known: what could have been meant.
    """
    from difflib import get_close_matches

    near = get_close_matches(word, list(known), n=1, cutoff=0.6)
    return f" Did you mean {near[0]!r}?" if near else ""


def quoted_list(names: Iterable[str]) -> str:
    """Return the names as ``'a', 'b'``, or ``none``."""
    return ", ".join(map(repr, names)) or "none"


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
        flags = {"": (), "upgrade": ("--upgrade",), "reinstall": ("--force-reinstall",)}[how]
        return shlex.join([sys.executable, "-m", "pip", "install", *flags, *packages])
    if shutil.which("uv"):
        flags = {"": (), "upgrade": ("--upgrade",), "reinstall": ("--reinstall",)}[how]
        command = ["uv", "pip", "install", "--python", sys.executable, *flags, *packages]
        return shlex.join(command)
    return f"{how or 'install'} {' and '.join(packages)} for {sys.executable}"


WORDS = {
    "guidance": "guidance provider",
    "feedback": "feedback provider",
    "completion": "completion checker",
    "recorders": "recorder",
    "hosts": "host",
    "mailboxes": "mailbox",
    "transcripts": "transcript reader",
    "events": "record type",
    "commands": "command",
}
"""What messages call the entries of a group."""


def title(entry: PluginInfo) -> str:
    """Name an entry as messages do: what, its name, its package and version."""
    return f"{WORDS[entry.group]} {entry.name!r} of {entry.package}"
