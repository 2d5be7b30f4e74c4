"""What hosts and prompts declare: facts about tools, resources, filesystems among them."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast, runtime_checkable

import attrs

from trimtab._types.errors import ResourceError
from trimtab._types.options import (
    as_frozenset,
    as_mapping,
    as_path,
    as_tuple,
    instance_of,
    items_of,
    names_known,
    yes_or_no,
)

if TYPE_CHECKING:
    from pathlib import Path

Resource = TypeVar("Resource")
# Not `type[Resource]`: type checkers take no protocol there.
Wanted = Callable[..., Resource]


@attrs.frozen
class Resources:
    """A typed container: ``Resources.of(filesystem, client).get(Client)``.

    Args:
        bound: objects by the type under which they are asked for.
    """

    bound: Mapping[Any, Any] = attrs.field(
        factory=dict, converter=as_mapping, validator=instance_of(Mapping)
    )

    @classmethod
    def of(cls, *objects: object) -> Resources:
        """Return a container of `objects`, each under its own class.

        Raises:
            ResourceError: two objects of one class; give a mapping instead.
        """
        bound: dict[type[Any], Any] = {type(item): item for item in objects}
        if len(bound) < len(objects):
            raise ResourceError("two resources of one class; build Resources from a mapping")
        return cls(bound)

    def get_optional(self, wanted: Wanted[Resource]) -> Resource | None:
        """Return the resource bound as `wanted`, else the first that is one, else None.

        A ``runtime_checkable`` protocol matches any object that implements it.
        """
        cls: Any = wanted
        if cls in self.bound:
            return cast("Resource", self.bound[cls])
        return next((item for item in self.bound.values() if isinstance(item, cls)), None)

    def get(self, wanted: Wanted[Resource]) -> Resource:
        """Return the resource bound as `wanted`.

        Raises:
            ResourceError: there is none.
        """
        found = self.get_optional(wanted)
        if found is None:
            raise ResourceError(
                f"no resource of type {wanted!r} is bound; give one to Prompt.bind(resources=…)"
            )
        return found


NO_RESOURCES = Resources()


@runtime_checkable
class Filesystem(Protocol):
    """Read access to the agent's files; paths are relative to its workspace."""

    def exists(self, path: str) -> bool:
        """Return whether there is a file or folder at `path`."""
        ...

    def read_text(self, path: str) -> str:
        """Return the UTF-8 text at `path`."""
        ...

    def glob(self, pattern: str) -> Sequence[str]:
        """Return the paths that match, sorted, relative, with forward slashes.

        Args:
            pattern: as for `pathlib.Path.glob`, e.g. ``"src/**/*.py"``.
        """
        ...


def _unencodable(path: str) -> bool:
    try:
        os.fsencode(path)
    except UnicodeEncodeError:
        return True
    return False


def _real(root: str | os.PathLike[str]) -> Path:
    return as_path("root", os.path.realpath(as_path("root", root)))


@attrs.frozen
class RootedFilesystem:
    """The files below one folder; ``..``, absolute paths and links can't lead out of it.

    Absolute paths are taken where they lie below the root. Links are followed as long as they
    stay there.

    Args:
        root: the folder.

    Raises:
        ResourceError: from every method, for a path that leads out.
    """

    root: Path = attrs.field(converter=_real)

    def exists(self, path: str) -> bool:
        """Return whether there is a file or folder at `path`."""
        real = self._inside(path)
        try:
            return real.exists()
        except OSError:
            return False  # such as a name longer than any file's

    def read_text(self, path: str) -> str:
        """Return the UTF-8 text at `path`; what is no UTF-8 becomes U+FFFD.

        Raises:
            OSError: there is no such file, or it can't be read.
            ResourceError: besides, for what may never end, such as a pipe.
        """
        real = self._inside(path)
        mode = real.stat().st_mode
        if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
            raise ResourceError(f"path {path!r} is not a regular file")
        return real.read_text(encoding="utf-8", errors="replace")

    def glob(self, pattern: str) -> Sequence[str]:
        """Return the paths that match `pattern`, sorted; links that lead out are left out."""
        from pathlib import PurePath

        parts = PurePath(pattern)
        if parts.is_absolute() or ".." in parts.parts or not parts.parts:
            raise ResourceError(f"pattern {pattern!r} must be relative and stay below {self.root}")
        found = (path for path in self.root.glob(pattern) if self._holds(_real(path)))
        return sorted(path.relative_to(self.root).as_posix() for path in found)

    def _inside(self, path: str) -> Path:
        if "\0" in path or _unencodable(path):
            raise ResourceError(f"path {path!r} holds a character that no file's name can hold")
        real = _real(self.root / path)
        if not self._holds(real):
            raise ResourceError(f"path {path!r} leads out of {self.root}")
        return real

    def _holds(self, real: Path) -> bool:
        return real.is_relative_to(self.root)


def _names(value: str | Iterable[str]) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else as_tuple(value)


def _pattern(value: str | re.Pattern[str] | None) -> re.Pattern[str] | None:
    return re.compile(value) if isinstance(value, str) else value


@names_known()
@attrs.frozen(kw_only=True)
class ToolProfile:
    """Facts about one tool, or about several of one kind.

    Args:
        names: exact names, or patterns with ``*`` as in ``mcp__browser__*``.
        read_only: calling it changes nothing; None if unknown.
        writes: a successful call changes something; None if unknown.
        independent: its calls never depend on one another's answers (read-only tools needn't say).
        polling: calling it is waiting.
        polling_params: a call with these arguments is waiting, e.g. ``{"chars": ""}``.
        opaque: its answer doesn't show what the call changed, as with scrolling a page.
        command_params: of a shell, the parameters that may hold a command line; the first that
            is there counts.
        ignored_params: argument fields that never make two calls differ.
        progress: fields whose change alone is progress, e.g. the statuses of a plan; in the
            arguments they count instead of all others.
        result_noise: what is cut from the first 1,000 characters of an answer before it is
            looked at (a pattern).
        error_pattern: an answer is a failure where this is found in it.
        expected_exit_codes: exit statuses that are a result and not a failure, as 1 of grep.
    """

    names: tuple[str, ...] = attrs.field(converter=_names, validator=items_of(str))
    read_only: bool | None = attrs.field(default=None, validator=yes_or_no(optional=True))
    writes: bool | None = attrs.field(default=None, validator=yes_or_no(optional=True))
    independent: bool | None = attrs.field(default=None, validator=yes_or_no(optional=True))
    polling: bool = attrs.field(default=False, validator=yes_or_no())
    polling_params: Mapping[str, Any] | None = attrs.field(
        default=None, validator=instance_of(Mapping, optional=True)
    )
    opaque: bool = attrs.field(default=False, validator=yes_or_no())
    command_params: tuple[str, ...] = attrs.field(
        default=(), converter=_names, validator=items_of(str)
    )
    ignored_params: frozenset[str] = attrs.field(
        default=(), converter=as_frozenset, validator=items_of(str)
    )
    progress: frozenset[str] = attrs.field(
        default=(), converter=as_frozenset, validator=items_of(str)
    )
    result_noise: re.Pattern[str] | None = attrs.field(
        default=None, converter=_pattern, validator=instance_of(re.Pattern, optional=True)
    )
    error_pattern: re.Pattern[str] | None = attrs.field(
        default=None, converter=_pattern, validator=instance_of(re.Pattern, optional=True)
    )
    expected_exit_codes: frozenset[int] = attrs.field(
        default=(), converter=as_frozenset, validator=items_of(int)
    )

    def polls(self, params: Any) -> bool:
        """Tell whether a call with `params` is a declared wait."""
        if self.polling:
            return True
        wanted = self.polling_params
        if wanted is None or type(params) is not dict:
            return False
        return all(params.get(key, "") == value for key, value in wanted.items())

    def command(self, params: Any) -> str | None:
        """Return the command line that `params` hold, None if it is no shell."""
        if not self.command_params or type(params) is not dict:
            return None
        for name in self.command_params:
            value = params.get(name)
            if type(value) is str:
                return value
            if isinstance(value, list | tuple):
                return " ".join(str(word) for word in value)
        return None
