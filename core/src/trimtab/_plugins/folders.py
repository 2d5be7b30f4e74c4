"""The metadata of installed distributions, in the order of finders and of the path.

Folders on the path are listed and read here, not by `importlib_metadata`. Importing that takes
twice as long as starting Python (55 ms against 20 to 27), and its public interface can't keep a
file that never ends (a pipe, a device) from being read. A scan of 300 distributions takes as long
either way, 0.7 of `importlib.metadata.entry_points()`. Tests hold the two to the same findings.
The library reads archives, and what other finders know.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from trimtab._plugins.registry import normalise_name

_SUFFIXES = (".dist-info", ".egg-info")
_EGG = ".egg"
_INSIDE_EGG = "egg-info"
_PATH_FINDERS = frozenset({"_frozen_importlib_external", "importlib_metadata"})
_ABSENT = (FileNotFoundError, IsADirectoryError, NotADirectoryError, PermissionError)
_LARGEST = 4_000_000
"""Bytes; metadata of the largest real distributions takes some 100 KB, and is read whole."""


class MetadataFolder:
    """The metadata of one distribution, as installers write it.

    Args:
        where: a folder, or the single file that old installers left.
        name: the distribution's name, as far as its folder tells it, normalised.
    """

    __slots__ = ("name", "where")

    def __init__(self, where: str, name: str) -> None:
        self.where = where
        self.name = name

    def read(self, filename: str) -> str:
        """Return the text of a file in it; empty if there is none that may be read.

        Raises:
            ValueError: it is not a regular file, is too large, or is not UTF-8.
            OSError: the disk fails.
        """
        path = f"{self.where}{os.sep}{filename}"
        try:
            _check(os.stat(path), filename)  # noqa: PTH116
            with open(path, "rb", buffering=0) as file:  # noqa: PTH123
                text = file.read().decode()
        except _ABSENT:
            return ""
        return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


class ForeignMetadata(MetadataFolder):
    """What another finder or the library knows of a distribution.

    Args:
        distribution: an `importlib_metadata.Distribution`, or one of the standard library.
    """

    __slots__ = ("_distribution", "_has_folder")

    def __init__(self, distribution: Any) -> None:
        path = getattr(distribution, "_path", None)  # it has no public name
        where = os.curdir if path is None else str(path)
        above, _, folder = where.replace(os.sep, "/").rstrip("/").rpartition("/")
        super().__init__(where, _name_in(above, folder))
        self._distribution = distribution
        self._has_folder = path is not None

    def read(self, filename: str) -> str:
        if self._has_folder:
            try:
                found = os.stat(f"{self.where}{os.sep}{filename}")  # noqa: PTH116
            except (OSError, ValueError):
                pass  # inside an archive, or where the finder keeps it
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
    """Yield what `importlib_metadata.distributions` finds.

    Args:
        path: where to look; `sys.path` if None.
    """
    # Taken before one is asked: importing `importlib_metadata` changes what the finders offer.
    offers = [(each, getattr(each, "find_distributions", None)) for each in sys.meta_path]
    find: Any
    for finder, find in offers:
        if find is None:
            continue
        if getattr(finder, "__module__", "") in _PATH_FINDERS:
            yield from _on_path(sys.path if path is None else path)
        else:
            yield from map(ForeignMetadata, find(_context(path)))


def _on_path(path: Iterable[str]) -> Iterator[MetadataFolder]:
    for entry in map(os.fsdecode, path):
        try:
            children = os.listdir(entry or os.curdir)  # noqa: PTH208
        except NotADirectoryError:
            yield from map(ForeignMetadata, _in_archive(entry))
        except (OSError, ValueError):
            continue
        else:
            yield from _among(entry, children)


def _among(entry: str, children: Iterable[str]) -> Iterator[MetadataFolder]:
    prefix = os.path.join(entry, "")  # noqa: PTH118
    in_egg = entry.lower().endswith(_EGG)
    for child in children:
        low = child.lower()
        if low.endswith(_SUFFIXES) or (in_egg and low == _INSIDE_EGG):
            yield MetadataFolder(prefix + child, _name_in(entry, low))


def _name_in(above: str, folder: str) -> str:
    """Return the name in ``name-version.dist-info``, or in the path above ``EGG-INFO``."""
    if folder.lower() == _INSIDE_EGG:
        folder = os.path.basename(above)  # noqa: PTH119
    return normalise_name(folder.rpartition(".")[0].partition("-")[0])


def _in_archive(path: str) -> Iterable[Any]:
    from importlib_metadata import MetadataPathFinder

    return MetadataPathFinder.find_distributions(_context([path]))


def _context(path: Sequence[str] | None) -> Any:
    from importlib_metadata import DistributionFinder

    make: Any = DistributionFinder.Context
    return make() if path is None else make(path=list(path))
