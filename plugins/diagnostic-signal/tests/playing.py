"""The provider in a made-up run."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any

from trimtab import Host, ToolProfile
from trimtab_diagnostic_signal import DiagnosticSignalProvider
from trimtab_testing import Call, Item, Player


def call(tool: str, params: Any, error: str | None = None, **more: Any) -> Call:
    """Return a call that fails with `error`, or succeeds if it is None."""
    if error is None:
        return Call(tool, params, **more)
    return Call(tool, params, error, **{"outcome": "error", **more})


def play(
    items: Iterable[Item],
    profiles: Iterable[ToolProfile] = (),
    host: Host | None = None,
    **options: Any,
) -> Player:
    """Return a player that has taken `items`; `options` are the provider's."""
    guidance = [partial(DiagnosticSignalProvider, **options)]
    player = Player(guidance=guidance, profiles=profiles, host=host or Host())
    return player.play(items)


def first(items: Iterable[Item], **options: Any) -> int | None:
    """Return the number of the item after which the provider first spoke, None for never."""
    return play(items, **options).first
