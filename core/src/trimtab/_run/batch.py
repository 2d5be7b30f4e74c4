"""What is delivered at one decision."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

if TYPE_CHECKING:
    from trimtab._events.guidance import GuidanceInjection


@attrs.frozen
class GuidanceBatch:
    """What is delivered at one decision; falsy if nothing is.

    Args:
        injections: in the order in which the agent reads them.
    """

    injections: tuple[GuidanceInjection, ...] = ()

    @property
    def text(self) -> str:
        """The blocks that the agent reads; empty where there are none."""
        from trimtab._events.guidance import format_guidance

        return format_guidance(self.injections)

    def __bool__(self) -> bool:
        return bool(self.injections)


NOTHING = GuidanceBatch()
