"""From paths to recordings: folders, sniffing, and an account of what was not read."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import attrs

from trimtab import describe_error
from trimtab_replay.recording import Entry, Recording, ReplayError, Skipped, TranscriptReader
from trimtab_replay.source import Source

READER_FAULTS = (Exception, SystemExit)
"""What a reader may raise: it is a plugin, so its faults stay its own."""


@attrs.frozen
class Found:
    """A file to read.

    Args:
        file: where it lies.
        path: how it is named in what is shown, as walked from the argument.
        named: the user named it, so that it must be a transcript; else it lay in a folder.
    """

    file: Path
    path: str
    named: bool


def find(arguments: Iterable[str | os.PathLike[str]]) -> Iterator[Found]:
    """Yield the files that the arguments name, folders walked by name; links may form loops."""
    for argument in arguments:
        path = Path(argument)
        if stat.S_ISDIR(_mode(path)):
            yield from _walked(path, set())
        else:
            yield Found(path, str(path), named=True)


def _walked(folder: Path, seen: set[tuple[int, int]]) -> Iterator[Found]:
    stack = [folder]
    while stack:
        path = stack.pop()
        if not stat.S_ISDIR(_mode(path)):
            yield Found(path, str(path), named=False)
        elif _is_new(path, seen):
            stack += sorted(_listed(path), reverse=True)


def _mode(path: Path) -> int:
    """Return what `path` is, as `os.stat` tells it; 0 where it can't be told."""
    try:
        return path.stat().st_mode
    except (OSError, ValueError):
        return 0


def _is_new(folder: Path, seen: set[tuple[int, int]]) -> bool:
    status = folder.stat()
    identity = (status.st_dev, status.st_ino)
    is_new = identity not in seen
    seen.add(identity)
    return is_new


def _listed(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except OSError:
        return [folder / "?"]


def chosen(readers: Iterable[TranscriptReader], name: str) -> TranscriptReader:
    """Return the reader of that name.

    Raises:
        ReplayError: there is none.
    """
    by_name = {reader.name: reader for reader in readers}
    if name not in by_name:
        raise ReplayError(f"no reader {name!r}; there are {', '.join(sorted(by_name))}")
    return by_name[name]


@attrs.define
class Corpus:
    """Reads files one after the other and keeps the account.

    Args:
        readers: what may be in the files; the surest wins, among equals the first.
        forced: reads every file, unasked.
    """

    readers: Sequence[TranscriptReader]
    forced: TranscriptReader | None = None
    files: int = 0
    other_files: int = 0
    skipped: list[Skipped] = attrs.field(factory=list)

    def recordings(self, arguments: Iterable[str | os.PathLike[str]]) -> Iterator[Recording]:
        """Yield every recording under `arguments`, in a stable order."""
        for found in find(arguments):
            yield from self.read(found)

    def read(self, found: Found) -> Iterator[Recording]:
        """Yield the recordings of one file. What an earlier one left unread is read first."""
        if not stat.S_ISREG(_mode(found.file)) or not os.access(found.file, os.R_OK):
            self._refuse(found)
            return
        source = Source(found.file, found.path, self.skipped.append)
        reader = self.forced or self._sniffed(source)
        if reader is None:
            self._pass_over(found, source)
        else:
            self.files += 1
            yield from self._read(source, reader)
        source.finish()

    def _refuse(self, found: Found) -> None:
        mode = _mode(found.file)
        is_other = mode != 0 and not stat.S_ISREG(mode)
        if is_other and not found.named:
            self.other_files += 1
            return
        what = "no regular file" if is_other else "no such file, or no access"
        self.skipped.append(Skipped(found.path, None, what))

    def _pass_over(self, found: Found, source: Source) -> None:
        if source.damage:
            source.skip(source.damage)
        elif not found.named or source.has_skipped:
            self.other_files += not source.has_skipped
        elif not source.head:
            source.skip("it is empty")
        else:
            names = ", ".join(sorted(reader.name for reader in self.readers))
            source.skip(f"no reader knows this format; force one with --reader: {names}")

    def _sniffed(self, source: Source) -> TranscriptReader | None:
        scores = [(self._score(reader, source), reader) for reader in self.readers]
        score, reader = max(scores, key=lambda each: each[0], default=(0.0, None))
        return reader if score > 0 else None

    def _score(self, reader: TranscriptReader, source: Source) -> float:
        try:
            return float(reader.sniff(source))
        except READER_FAULTS as error:
            source.skip(f"reader {reader.name} failed to look at it: {describe_error(error)}")
            return 0.0

    def _read(self, source: Source, reader: TranscriptReader) -> Iterator[Recording]:
        guard = _Guard(source)
        try:
            for recording in reader.read(source):
                entries = guard.over(recording.entries)
                yield attrs.evolve(recording, entries=entries)
                for _ in entries:
                    pass
        except READER_FAULTS as error:
            source.skip(f"reader {reader.name} failed: {describe_error(error)}")
        if self.forced and not guard.entries and not source.has_skipped:
            what = f"reader {reader.name} finds nothing in it that it knows"
            source.skip(source.damage or (what if source.head else "it is empty"))


@attrs.define
class _Guard:
    """Hands on and counts what a reader yields, and keeps its faults from spreading."""

    source: Source
    entries: int = 0

    def over(self, entries: Iterable[Entry]) -> Iterator[Entry]:
        try:
            for entry in entries:
                self.entries += 1
                yield entry
        except READER_FAULTS as error:
            self.source.skip(f"read up to here, then: {describe_error(error)}")
