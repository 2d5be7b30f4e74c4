"""From paths to recordings: installed readers, folders, and an account of what was not read."""

from __future__ import annotations

import codecs
import os
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Literal

import attrs

from trimtab import ProviderError, ToolInvoked
from trimtab.events import ModelResponded
from trimtab.inspection import PluginInfo, did_you_mean, discover, load
from trimtab.text import describe_error
from trimtab_replay._recording import (
    RecordedItem,
    Recording,
    ReplayError,
    TranscriptReader,
)
from trimtab_replay._transcript import Skipped, Transcript


def installed_readers(warn: Callable[[str], None]) -> tuple[TranscriptReader, ...]:
    """Return one reader per entry point, in the order of their names."""
    found = (_reader(entry, warn) for entry in discover().of("transcripts"))
    return tuple(reader for reader in found if reader is not None)


def _reader(entry: PluginInfo, warn: Callable[[str], None]) -> TranscriptReader | None:
    try:
        target = load(entry)
        reader = target() if isinstance(target, type) else target
    except ProviderError as error:
        warn(str(error))
    except Exception as error:  # noqa: BLE001 - a reader is a plugin: its faults stay its own
        warn(f"Can't make the transcript reader {entry.full_name}: {describe_error(error)}")
    else:
        if isinstance(reader, TranscriptReader):
            return reader
        warn(f"{entry.full_name} is not a transcript reader: it needs name, sniff() and read()")
    return None


READER_FAILURES = (Exception, SystemExit)
"""What a reader may raise: it is a plugin, so its faults stay its own."""


_OTHER_ENCODINGS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, codecs.BOM_UTF32_BE)
"""How what some shells redirect begins; little-endian UTF-32 begins as UTF-16 does."""
_FEW = 20
_SPEAKERS = ("role", "from", "speaker", "author", "sender", "source")
_AGENTS = {"assistant", "ai", "agent", "model", "gpt", "bot", "claude", "tool"}
_CONTENTS = ("content", "value", "text", "parts", "message", "body", "tool_calls")


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


Argument = str | os.PathLike[str] | Found
"""What names files to read: a path, or a file that was found already."""


def find(arguments: Iterable[Argument]) -> Iterator[Found]:
    """Yield the files that the arguments name, folders walked by name; links may form loops."""
    for argument in arguments:
        if isinstance(argument, Found):
            yield argument
            continue
        path = Path(argument)
        if stat.S_ISDIR(_mode(path)):
            found = None
            for found in _walked(path, set()):
                yield found
            if found is not None:
                continue
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
    """Return the reader of that name."""
    by_name = {reader.name: reader for reader in readers}
    if name not in by_name:
        hint = did_you_mean(name, by_name)
        raise ReplayError(f"no reader {name!r:.60}.{hint} Readers: {', '.join(sorted(by_name))}")
    return by_name[name]


def holds_messages(value: Any) -> bool:
    """Whether a JSON value looks like the messages or events of an agent, whatever the format."""
    if isinstance(value, dict):
        inner = [each for each in value.values() if isinstance(each, list)]
        return _is_message(value) or any(holds_messages(each) for each in inner[:_FEW])
    return isinstance(value, list) and any(map(_is_message, value[:_FEW]))


def _is_message(value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    speaker = next((value[key] for key in _SPEAKERS if isinstance(value.get(key), str)), "")
    return speaker.lower() in _AGENTS and any(key in value for key in _CONTENTS)


@attrs.define
class Corpus:
    """Reads files one after the other and counts what it reads.

    Args:
        readers: what may be in the files; the surest one reads a file, the first among equals.
        forced: reads every file; None chooses among `readers`.
        faults: what to do when a reader fails: "record" it in `skipped`, or "raise" what it raised,
            for tests of a reader.
        files, other_files, without_calls, skipped: as in `ReadStats`.
    """

    readers: Sequence[TranscriptReader]
    forced: TranscriptReader | None = None
    faults: Literal["raise", "record"] = attrs.field(default="record", kw_only=True)
    files: int = 0
    other_files: int = 0
    without_calls: int = 0
    skipped: list[Skipped] = attrs.field(factory=list)

    def recordings(self, arguments: Iterable[Argument]) -> Iterator[Recording]:
        """Yield every recording under `arguments`, in a stable order."""
        for found in find(arguments):
            yield from self.read(found)

    def read(self, found: Found) -> Iterator[Recording]:
        """Yield the recordings of one file, after what is left of an earlier one.

        Args:
            found: the file.
        """
        if not stat.S_ISREG(_mode(found.file)) or not os.access(found.file, os.R_OK):
            self._refuse(found)
            return
        source = Transcript(found.file, found.path, self.skipped.append)
        certainty, reader = (0.0, self.forced) if self.forced else self._surest(source)
        if reader is None:
            self._pass_over(found, source)
        else:
            self.files += 1
            yield from self._read(source, reader, certainty)
        source.finish()

    def _refuse(self, found: Found) -> None:
        mode = _mode(found.file)
        is_other = mode != 0 and not stat.S_ISREG(mode)
        if is_other and not found.named:
            self.other_files += 1
            return
        what = "no regular file" if is_other else "no such file, or no access"
        what = "the folder holds no file" if stat.S_ISDIR(mode) else what
        self.skipped.append(Skipped(found.path, None, what))

    def _pass_over(self, found: Found, source: Transcript) -> None:
        if source.damage:
            source.skip(source.damage)
        elif source.has_skipped:
            pass
        elif holds_messages(source.sample):
            source.skip(f"it holds messages in a format that no reader knows; {self._remedy()}")
        elif not found.named:
            self.other_files += 1
        elif not source.head.strip():
            source.skip("it is empty")
        elif source.head.startswith(_OTHER_ENCODINGS):
            source.skip("it is in UTF-16 or UTF-32; save it as UTF-8")
        elif source.fault:
            source.skip(*source.fault)
        else:
            source.skip(f"no reader knows this format; {self._remedy()}")

    def _remedy(self) -> str:
        names = ", ".join(sorted(reader.name for reader in self.readers))
        return f"if it is a recording, try --reader NAME, or install a reader for it. NAME: {names}"

    def _surest(self, source: Transcript) -> tuple[float, TranscriptReader | None]:
        """Return the reader that is surest of the file, the first among equals."""
        best: tuple[float, TranscriptReader | None] = (0.0, None)
        for reader in self.readers:
            score = self._score(reader, source)
            if score > best[0]:
                best = (score, reader)
            if score >= 1:
                break
        return best

    def _score(self, reader: TranscriptReader, source: Transcript) -> float:
        try:
            score = reader.sniff(source)
            if not isinstance(score, int | float):
                raise TypeError(f"its sniff() returns {score!r:.40}, not a number from 0 to 1")
            return float(score)
        except READER_FAILURES as error:
            self._failed(source, f"reader {reader.name} failed to look at it", error)
            return 0.0

    def _failed(self, source: Transcript, what: str, error: BaseException) -> None:
        """Record what a reader raised, or raise it."""
        if self.faults == "raise":
            raise error
        source.skip(f"{what}: {describe_error(error)}")

    def _read(
        self, source: Transcript, reader: TranscriptReader, certainty: float
    ) -> Iterator[Recording]:
        guard = _Guard(partial(self._failed, source, "read up to here, then"))
        try:
            found = reader.read(source)
            if not isinstance(found, Iterable):
                raise TypeError(f"its read() returns {found!r:.40}, not recordings")
            for recording in found:
                if not isinstance(recording, Recording):
                    raise TypeError(f"its read() gives {recording!r:.40}, not a Recording")
                entries = _Entries(guard, recording)
                yield attrs.evolve(recording, entries=entries.read())
                entries.leave()
        except READER_FAILURES as error:
            self._failed(source, f"reader {reader.name} failed", error)
        if self.forced and not guard.entries and not source.has_skipped:
            what = f"reader {reader.name} finds nothing in it that it knows"
            source.skip(source.damage or (what if source.head else "it is empty"))
        elif guard.responses and not guard.has_calls and not source.has_skipped:
            self._doubt(source, reader, certainty, guard.responses)

    def _doubt(
        self, source: Transcript, reader: TranscriptReader, certainty: float, responses: int
    ) -> None:
        """A file without a single call is a chat, or its calls were not understood."""
        if certainty >= 1:
            self.without_calls += 1
            return
        source.skip(
            f"no tool call found in {responses} responses, read as {reader.name}: its calls may be "
            f"in a form that this reader does not know"
        )


class _Entries:
    """The entries of one recording, which can be read while the walk stands at it.

    Args:
        guard: what looks at each.
        recording: whose.

    Raises:
        ReplayError: from the iterator, where the walk went on and left entries unread.
    """

    def __init__(self, guard: _Guard, recording: Recording) -> None:
        self._following = guard.over(recording.entries)
        self._name = recording.id
        self._left = False

    def read(self) -> Iterator[RecordedItem]:
        yield from self._following
        if self._left:
            raise ReplayError(
                f"the entries of {self._name!r:.100} are gone: read them in the loop over the "
                f"recordings, before the next one; list(recordings) keeps no entries"
            )

    def leave(self) -> None:
        """Read what was not read, so that the walk can go on."""
        for _ in self._following:
            self._left = True


@attrs.define
class _Guard:
    """Hands on what a reader yields, and keeps its faults from spreading.

    It counts up to the first call: after that, nothing more is asked than that there was one.
    """

    failed: Callable[[BaseException], None]
    entries: int = 0
    responses: int = 0
    has_calls: bool = False

    def over(self, entries: Iterable[RecordedItem]) -> Iterator[RecordedItem]:
        try:
            following = iter(entries)
            for entry in following:
                self.entries += 1
                kind = type(getattr(entry, "item", None))
                self.responses += kind is ModelResponded
                self.has_calls |= kind is ToolInvoked
                yield entry
                if self.has_calls:
                    break
            yield from following
        except READER_FAILURES as error:
            self.failed(error)
