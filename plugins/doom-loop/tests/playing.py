"""The detector in a made-up run."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any

from trimtab import Host, ToolProfile
from trimtab_doom_loop import DoomLoopDetector
from trimtab_testing import Item, Player


def play(
    items: Iterable[Item],
    profiles: Iterable[ToolProfile] = (),
    host: Host | None = None,
    **options: Any,
) -> Player:
    """Return a player that has taken `items`; `options` are the detector's."""
    guidance = [partial(DoomLoopDetector, **options)]
    player = Player(guidance=guidance, profiles=profiles, host=host or Host())
    return player.play(items)


def first(items: Iterable[Item], **options: Any) -> int | None:
    """Return the number of the item after which the detector first spoke, None for never."""
    return play(items, **options).first
