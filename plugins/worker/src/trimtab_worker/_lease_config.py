"""How leases are extended, what is known of them, and what they begin with."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

import attrs

from trimtab_worker._records import MailboxFacts

NEVER = float("inf")


def _positive(_: object, attribute: attrs.Attribute[Any], value: float | None) -> None:
    if value is not None and not 0 < value < NEVER:
        raise ValueError(f"{attribute.name} must be a finite number above 0, not {value}")


class LeaseState(StrEnum):
    """What is known of a lease."""

    HELD = "held"
    SHAKY = "shaky"
    LOST = "lost"
    RELEASED = "released"


@attrs.frozen
class LeaseExtenderConfig:
    """How leases are extended. A lease lasts `extension` seconds from the last beat.

    A declared silent stretch holds it until `interval` and `margin` after the stretch's end.

    Args:
        interval: seconds by which an extension must prolong a lease to be worth a call.
        extension: seconds that a lease lasts after a beat.
        enabled: extend at all.
        margin: seconds before the end at which a lease counts as lost, for the time that messages
            travel; a twentieth of `extension`, 10 at most, where None.
        max_total: seconds after receipt that no extension passes, None: as the engine allows.
        max_extensions: of one delivery, None without limit.
        cap_warning: seconds before a limit at which `LeaseCapNear` is reported, at most a tenth
            of the limit.
        join_timeout: seconds that the end of a block waits for an extension in flight.

    Raises:
        ValueError: a number is not positive, or `interval` is more than a third of `extension`.
    """

    interval: float = attrs.field(default=60.0, validator=_positive)
    extension: float = attrs.field(default=300.0, validator=_positive)
    enabled: bool = True
    margin: float | None = attrs.field(default=None, validator=_positive)
    max_total: float | None = attrs.field(default=None, validator=_positive)
    max_extensions: int | None = attrs.field(default=None, validator=_positive)
    cap_warning: float = attrs.field(default=600.0, validator=_positive)
    join_timeout: float = attrs.field(default=10.0, validator=_positive)

    def __attrs_post_init__(self) -> None:
        if self.interval * 3 > self.extension * (1 + 1e-9):  # 0.1 is a third of 0.3
            raise ValueError(
                f"interval {self.interval:g} s is more than a third of extension "
                f"{self.extension:g} s: two failed calls would lose the lease; "
                f"use interval={self.extension / 3:g} or extension={self.interval * 3:g}"
            )

    @property
    def safety(self) -> float:
        """The margin in seconds."""
        return min(10.0, self.extension / 20) if self.margin is None else self.margin


@attrs.frozen
class LeaseTerms:
    """What a lease begins with.

    Args:
        received: monotonic seconds at which the message was asked for.
        visibility: seconds that the engine granted, None if unknown.
        facts: of the engine.
        message_id, deliveries: for events.
    """

    received: float
    visibility: float | None
    facts: MailboxFacts
    message_id: str = ""
    deliveries: int = 0
