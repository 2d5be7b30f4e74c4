"""All worlds, by the name of their family."""

from __future__ import annotations

from words.world import World
from words.worlds_cloud import Cluster, Domain, Merge, Pipeline
from words.worlds_code import Database, Editing, Packages, Permissions
from words.worlds_daily import Flight, Home, Library, Pharmacy
from words.worlds_offices import Bank, Leave, Mail, Sheet
from words.worlds_operations import Api, Deploy, Manual, Service
from words.worlds_places import Calendar, Orders, Room, Warehouse
from words.worlds_technical import Media, Network, Route

FIRST = (
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
"""The worlds of the first pass; the order of untried tools was designed with them."""

SECOND = (
    Domain,
    Cluster,
    Pipeline,
    Merge,
    Mail,
    Bank,
    Sheet,
    Library,
    Leave,
    Home,
    Pharmacy,
    Flight,
    Media,
    Network,
    Route,
)
"""Worlds written before that order, and first asked after it."""

WORLDS: dict[str, type[World]] = {kind.__name__.lower(): kind for kind in (*FIRST, *SECOND)}
