"""Inspect logs: ``.eval`` (a zip with a file a sample) and JSON; the events hold the times."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Iterator
from typing import Any, ClassVar

import attrs

from trimtab import Outcome
from trimtab_replay._assembler import CallResult
from trimtab_replay._readers.openai_chat import Chat, Message, Requested
from trimtab_replay._recording import Recording, RunEnd
from trimtab_replay._transcript import Transcript
from trimtab_replay._values import (
    arguments,
    as_dict,
    as_float,
    as_text,
    as_time,
    dicts,
    flattened,
    named,
    parse,
)

_ZIP = b"PK\x03\x04"
_BROKEN = (OSError, zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, ValueError)
_OUTCOMES = {"parsing": Outcome.INVALID, "approval": Outcome.DENIED}


class Inspect:
    """Reads Inspect's logs."""

    name: ClassVar[str] = "inspect"

    def sniff(self, source: Transcript) -> float:
        """Look for an archive with samples, or for a log with an eval and samples."""
        if source.head.startswith(_ZIP):
            return float(source.file.suffix == ".eval" or b"_journal/" in source.head)
        return float({"eval", "samples", "version"} <= set(as_dict(source.sample)))

    def read(self, source: Transcript) -> Iterator[Recording]:
        """Yield one recording a sample and epoch; its id is ``SAMPLE_epoch_N``."""
        is_archive = source.head.startswith(_ZIP)
        for sample in _archived(source) if is_archive else _logged(source):
            if isinstance(as_dict(sample).get("messages"), list):
                yield self._recording(source, sample)
            else:
                source.skip("sample without messages")

    def _recording(self, source: Transcript, sample: dict[str, Any]) -> Recording:
        scores = as_dict(sample.get("scores")).items()
        chat = Chat(source.skip, _Times.of(sample).answer, calls=_calls)
        limit = as_text(as_dict(sample.get("limit")).get("type"))
        return Recording(
            id=f"{as_text(sample.get('id'))}_epoch_{as_text(sample.get('epoch', 1))}",
            path=source.path,
            reader=self.name,
            entries=chat.entries(sample["messages"], (RunEnd(reason=limit),) if limit else ()),
            profile="inspect",
            parallel_calls=True,
            meta={"scores": {name: as_dict(score).get("value") for name, score in scores}},
        )


def _logged(source: Transcript) -> Iterator[Any]:
    for row in source.documents_with("samples", _has_samples):
        yield from row.value["samples"]


def _has_samples(document: Any) -> bool:
    return isinstance(as_dict(document).get("samples"), list)


def _archived(source: Transcript) -> Iterator[Any]:
    try:
        with zipfile.ZipFile(source.file) as archive:
            names = [name for name in archive.namelist() if name.startswith("samples/")]
            for name in sorted(names, key=_by_epoch):
                yield from _member(source, archive, name)
    except _BROKEN as error:
        source.skip(f"damaged archive: {error}")


def _by_epoch(name: str) -> tuple[str, int, str]:
    sample, _, epoch = name.removesuffix(".json").rpartition("_epoch_")
    return sample, int(epoch) if epoch.isdecimal() else 0, name


def _member(source: Transcript, archive: zipfile.ZipFile, name: str) -> Iterator[Any]:
    try:
        with archive.open(name) as stream:
            data = stream.read(source.max_document + 1)
        if len(data) > source.max_document:
            raise ValueError(f"larger than {source.max_document} bytes")
        yield parse(data).value
    except _BROKEN as error:
        source.skip(f"{name[:200]}: {error}")


def _calls(message: Message) -> Iterator[Requested]:
    for call in dicts(message.get("tool_calls")):
        params = arguments(call.get("arguments"))
        yield named(call.get("function")), params, named(call.get("id"))


@attrs.frozen
class _Times:
    """The tool events of a sample, by call."""

    events: dict[str, dict[str, Any]]

    @classmethod
    def of(cls, sample: dict[str, Any]) -> _Times:
        tools = (event for event in dicts(sample.get("events")) if event.get("event") == "tool")
        return cls({named(event.get("id")): event for event in tools})

    def answer(self, message: Message) -> CallResult:
        event = self.events.get(named(message.get("tool_call_id")), {})
        error = as_dict(message.get("error"))
        content = flattened(message.get("content"))
        failure = _OUTCOMES.get(as_text(error.get("type")), Outcome.ERROR)
        return CallResult(
            result=content or error.get("message", content),
            outcome=failure if error else Outcome.OK,
            at=as_time(event.get("completed")),
            started=as_time(event.get("timestamp")),
            duration=as_float(event.get("working_time")),
        )
