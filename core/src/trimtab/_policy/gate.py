"""How often the completion gate may send an agent back."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

if TYPE_CHECKING:
    from trimtab._events.providers import CompletionChecked

MAX_BLOCKS_WITHOUT_PROGRESS = 3
"""An agent that was told three times what is open and did none of it can't do it, or won't."""
MAX_BLOCKS = 8
"""In one request of the user, also with progress: what is left is for the user to judge."""


@attrs.define(eq=False, repr=False)
class GateState:
    """Blocks of one run: in all, and since the plan last moved."""

    attempts: int = 0
    blocks: int = 0
    stuck: int = 0
    progress: str | None = None

    def exhausted(self, progress: str | None) -> str | None:
        """Return why one more block is not allowed, None if it is."""
        if self.blocks >= MAX_BLOCKS:
            return f"sent back {self.blocks} times in this request"
        stuck = self.stuck if progress == self.progress else 0
        if stuck >= MAX_BLOCKS_WITHOUT_PROGRESS:
            return f"sent back {stuck} times without progress"
        return None

    def checked(self, event: CompletionChecked) -> None:
        """Count one check."""
        self.attempts += 1
        if event.status.value != "incomplete" or event.final:
            return
        self.stuck = self.stuck + 1 if event.progress == self.progress else 1
        self.progress = event.progress
        self.blocks += 1

    def user_spoke(self) -> None:
        """Reset the counts: a new request of the user is a new piece of work."""
        self.blocks = 0
        self.stuck = 0
        self.progress = None
