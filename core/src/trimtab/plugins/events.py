"""What can happen to a provider."""

from __future__ import annotations

import attrs

from trimtab.plugins.source import Source
from trimtab.session.events import Event


@attrs.frozen(kw_only=True, eq=False, repr=False)
class ProviderEvent(Event):
    """Something about one provider."""

    source: Source
    hook: str = ""


@attrs.frozen(kw_only=True, eq=False, repr=False)
class ProviderSkipped(ProviderEvent):
    """An optional provider could not be had, or a switch turned it off."""

    reason: str


@attrs.frozen(kw_only=True, eq=False, repr=False)
class ProviderFaulted(ProviderEvent):
    """A provider raised, was overdue or returned what its hook doesn't take."""

    error: str
    turn: int = 0
    call_index: int = -1


@attrs.frozen(kw_only=True, eq=False, repr=False)
class ProviderQuarantined(ProviderEvent):
    """A provider left the table of this run after too many faults in a row."""

    faults: int


@attrs.frozen(kw_only=True, eq=False, repr=False)
class ProviderSlow(ProviderEvent):
    """A provider took longer than it should; `seconds` says how long."""

    seconds: float
