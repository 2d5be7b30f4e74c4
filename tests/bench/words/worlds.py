"""All worlds, by the name of their family."""

from __future__ import annotations

from words.world import World
from words.worlds_code import Database, Editing, Packages, Permissions
from words.worlds_operations import Api, Deploy, Manual, Service
from words.worlds_places import Calendar, Orders, Room, Warehouse

WORLDS: dict[str, type[World]] = {
    kind.__name__.lower(): kind
    for kind in (
        Editing,
        Database,
        Packages,
        Permissions,
        Service,
        Api,
        Deploy,
        Manual,
        Room,
        Warehouse,
        Calendar,
        Orders,
    )
}
