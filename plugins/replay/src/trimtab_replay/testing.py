"""What every transcript reader must hold to, as a test class that a package's own tests inherit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar

from trimtab import ToolInvoked
from trimtab.events import CallOrigin, ModelResponded
from trimtab_replay._corpus import Corpus
from trimtab_replay._recording import RecordedItem
from trimtab_replay._transcript import Skipped, Transcript

__all__ = ["ReaderConformance"]

_FOREIGN = (
    b"",
    b"Hello.\n",
    b"{}",
    b"[]",
    b"[1, null]\n",
    b'{"text": "Hello."}',
    b"\xff\xfe\x00",
    b"\x00" * 200,
)
_CUTS = 25


class ReaderConformance:
    """The tests of a reader; inherit it and set `reader` and `sample`.

    Attributes:
        reader: the class or function that the entry point names.
        sample: the content of a file that it reads without a problem, with at least one call.
        file: the name of such a file.
    """

    reader: ClassVar[Callable[[], Any]]
    sample: ClassVar[str | bytes]
    file: ClassVar[str] = "run.jsonl"

    def read(
        self, folder: Path, content: bytes
    ) -> tuple[list[tuple[str, list[RecordedItem]]], Sequence[Skipped]]:
        """Return the recordings of a file by their ids, and what was skipped.

        Args:
            folder: where to write the file.
            content: what is in it.
        """
        path = folder / self.file
        path.write_bytes(content)
        corpus = Corpus([self._made()], faults="raise")
        found = [(one.id, [*one.entries]) for one in corpus.recordings([path])]
        return found, corpus.skipped

    def _made(self) -> Any:
        kind: Any = type(self)
        reader = kind.__dict__.get("reader") or kind.reader
        return reader.__func__() if isinstance(reader, staticmethod) else reader()

    def _content(self) -> bytes:
        sample = self.sample
        return sample.encode() if isinstance(sample, str) else sample

    def _sniffed(self, folder: Path, content: bytes) -> float:
        path = folder / self.file
        path.write_bytes(content)
        return float(self._made().sniff(Transcript(path, str(path), lambda _: None)))

    def test_it_reads_its_sample(self, tmp_path: Path) -> None:
        found, skipped = self.read(tmp_path, self._content())
        assert not skipped, f"it skips line {skipped[0].line} of the sample: {skipped[0].message}"
        calls = [one for _, run in found for one in run if isinstance(one.item, ToolInvoked)]
        assert calls, f"it finds no call in the sample, in {len(found)} recordings"

    def test_it_reads_the_same_twice(self, tmp_path: Path) -> None:
        first, second = (self.read(tmp_path, self._content()) for _ in range(2))
        assert first == second, "a second reading of the same file brings something else"

    def test_it_is_surest_of_its_own_format(self, tmp_path: Path) -> None:
        sure = self._sniffed(tmp_path, self._content())
        assert 0 < sure <= 1, f"sniff returns {sure:g} for the sample: not above 0, or above 1"
        for content in _FOREIGN:
            other = self._sniffed(tmp_path, content)
            assert 0 <= other < sure, f"sniff returns {other:g} for a file with {content[:60]!r}"

    def test_a_file_that_was_cut_off_is_read_as_far_as_it_goes(self, tmp_path: Path) -> None:
        content = self._content()
        for cut in range(0, len(content), max(1, len(content) // _CUTS)):
            try:
                self.read(tmp_path, content[:cut] + b"\n\xff{nonsense\n")
            except Exception as error:
                raise AssertionError(f"cut off after {cut} bytes: {error!r}") from error

    def test_calls_are_numbered_and_were_asked_for(self, tmp_path: Path) -> None:
        for _, run in self.read(tmp_path, self._content())[0]:
            numbers = [entry.call for entry in run]
            assert numbers == sorted(numbers), f"call numbers go back: {numbers}; see RecordedItem"
            asked: set[str] = set()
            for entry in run:
                if isinstance(entry.item, ModelResponded):
                    asked |= {call.call_id for call in entry.item.tool_calls}
                elif isinstance(entry.item, ToolInvoked) and entry.item.caller is CallOrigin.MODEL:
                    assert entry.item.call_id in asked, (
                        f"no response asked for the call of {entry.item.tool!r}: yield a "
                        "ModelResponded that holds it first, as the Assembler does"
                    )
