"""The counts of a loop."""

from __future__ import annotations

import attrs


@attrs.frozen
class LoopSummary:
    """What a loop did.

    Args:
        received: messages that were received.
        done: of these, processed and acknowledged.
        failed: given back to be tried again.
        buried: given up.
        abandoned: not delivered: lost to another worker, or to a mailbox that can't be reached.
        returned: given back when the loop stopped, their work unfinished.
        crashed: how often a thread of the loop ended by itself, and was replaced.
    """

    received: int = 0
    done: int = 0
    failed: int = 0
    buried: int = 0
    abandoned: int = 0
    returned: int = 0
    crashed: int = 0
