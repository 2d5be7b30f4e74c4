"""The transcript readers that are installed (entry points of group ``trimtab.transcripts``)."""

from __future__ import annotations

from collections.abc import Callable

from trimtab import ProviderError
from trimtab.inspection import PluginInfo, discover, load
from trimtab.text import describe_error
from trimtab_replay._recording import TranscriptReader


def installed_readers(warn: Callable[[str], None]) -> tuple[TranscriptReader, ...]:
    """Return one reader per entry point, in the order of their names.

    Args:
        warn: receives a message about each that can't be loaded; the others are returned.
    """
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
