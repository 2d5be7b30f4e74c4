"""A sign of life, from the process that serves to the one that watches it. Imports little."""

from __future__ import annotations

import os
import select

from trimtab import SYSTEM_CLOCK

BEAT_SECONDS = 2.0
_SILENT_SECONDS = 5.0
_MOST_SILENCES = 3
"""More than one: where the machine stood still both did, and the next beat is on its way."""


class Pulse:
    """A pipe between the two, made before they part."""

    def __init__(self) -> None:
        self._heard, self._beaten = os.pipe()
        os.set_blocking(self._beaten, False)
        self._next = 0.0

    def keep_end(self, *, beating: bool) -> None:
        """Close the other's end."""
        os.close(self._heard if beating else self._beaten)

    def beat(self) -> None:
        """Show life; costs nothing where it was shown a moment ago."""
        now = SYSTEM_CLOCK.monotonic()
        if now < self._next:
            return
        self._next = now + BEAT_SECONDS
        try:
            os.write(self._beaten, b".")
        except OSError:
            pass  # nobody is there to be told

    def watch(self) -> bool:
        """Wait until the other process ends; return False where it is stuck."""
        silences = 0
        while silences < _MOST_SILENCES:
            if not select.select([self._heard], [], [], _SILENT_SECONDS)[0]:
                silences += 1
            elif os.read(self._heard, 1024):
                silences = 0
            else:
                return True
        return False

    def close(self) -> None:
        """Close the end of whoever listens."""
        os.close(self._heard)
