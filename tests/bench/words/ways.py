"""How each world is solved, and how one begins; for the tests."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

Way = tuple[str, Mapping[str, str]]

WAYS_OUT: Mapping[str, Callable[[Any], list[Way]]] = {
    "editing": lambda w: [
        ("read_file", {"path": w.path}),
        ("replace_line", {"path": w.path, "line": "2", "text": f"return a {w.good} b"}),
    ],
    "database": lambda w: [
        ("describe_table", {"table": "customers"}),
        ("run_query", {"sql": f"SELECT {w.column} FROM customers WHERE name = '{w.who}'"}),
        ("finish", {"answer": w.city}),
    ],
    "packages": lambda w: [
        ("list_versions", {"package": w.package}),
        ("install_package", {"package": w.package, "version": w.version}),
    ],
    "permissions": lambda w: [
        ("show_permissions", {"path": w.folder}),
        ("change_mode", {"path": w.folder, "mode": "read-write"}),
        ("write_file", {"path": w.file, "text": "ready"}),
    ],
    "service": lambda w: [
        ("read_log", {"service": w.name}),
        ("stop_process", {"pid": w.pid}),
        ("start_service", {"service": w.name}),
    ],
    "api": lambda w: [
        ("read_docs", {"path": f"/{w.kind}"}),
        ("http_post", {"path": f"/{w.kind}", "body": f"name={w.name}&x={w.value}"}),
    ],
    "deploy": lambda w: [
        ("show_rules", {"app": w.app}),
        ("approve_release", {"release": w.release}),
        ("deploy_release", {"app": w.app, "release": w.release}),
    ],
    "manual": lambda w: [
        ("list_topics", {}),
        ("pages_of_topic", {"topic": w.topic}),
        ("open_page", {"number": w.page}),
        ("finish", {"answer": w.value}),
    ],
    "room": lambda w: [
        ("look_around", {}),
        ("inspect_thing", {"thing": w.where}),
        ("take_item", {"item": "brass key"}),
        ("use_item", {"item": "brass key", "thing": w.box}),
    ],
    "warehouse": lambda w: [
        ("scan_area", {}),
        ("open_gate", {"gate": "G1"}),
        ("drive_to", {"shelf": w.shelf}),
        ("pick_item", {"item": w.item}),
    ],
    "calendar": lambda w: [
        ("room_schedule", {"room": w.room}),
        ("book_room", {"room": w.room, "time": w.free}),
    ],
    "orders": lambda w: [
        ("show_order", {"order": w.order}),
        ("register_return", {"order": w.order}),
        ("refund_order", {"order": w.order}),
    ],
    "domain": lambda w: [
        ("list_records", {}),
        ("delete_record", {"name": w.name, "kind": "CNAME"}),
        ("add_record", {"name": w.name, "kind": "A", "value": w.address}),
    ],
    "cluster": lambda w: [
        ("describe_deployment", {"deployment": w.app}),
        ("set_quota", {"pods": "20"}),
        ("scale_deployment", {"deployment": w.app, "copies": w.copies}),
    ],
    "pipeline": lambda w: [
        ("read_job_log", {"job": w.job}),
        ("fetch_dataset", {"dataset": w.data}),
        ("run_job", {"job": w.job}),
    ],
    "merge": lambda w: [
        ("list_reviews", {"number": w.number}),
        ("approve_pull_request", {"number": w.number}),
        ("merge_pull_request", {"number": w.number}),
    ],
    "mail": lambda w: [
        ("search_contacts", {"name": w.who}),
        ("send_mail", {"to": w.address, "subject": "", "body": "the meeting is at noon"}),
    ],
    "bank": lambda w: [
        ("show_limits", {"account": w.account}),
        ("change_limit", {"account": w.account, "limit": "1000"}),
        ("transfer_money", {"account": w.account, "payee": w.payee, "amount": w.amount}),
    ],
    "sheet": lambda w: [
        ("sheet_info", {"sheet": w.sheet}),
        ("unprotect_range", {"sheet": w.sheet, "cells": "A1:F20"}),
        ("write_cell", {"sheet": w.sheet, "cell": w.cell, "value": w.value}),
    ],
    "library": lambda w: [
        ("show_member", {"member": w.member}),
        ("pay_fines", {"member": w.member}),
        ("reserve_book", {"member": w.member, "title": w.title}),
    ],
    "leave": lambda w: [
        ("show_request", {"request": w.request}),
        ("set_deputy", {"request": w.request, "employee": "Ada"}),
        ("approve_request", {"request": w.request}),
    ],
    "home": lambda w: [
        ("list_devices", {"room": w.room}),
        ("device_state", {"device": f"thermostat-{w.room}"}),
        ("unlock_device", {"device": f"thermostat-{w.room}"}),
        ("set_temperature", {"room": w.room, "degrees": w.degrees}),
    ],
    "pharmacy": lambda w: [
        ("show_prescription", {"prescription": w.number}),
        ("renew_prescription", {"prescription": w.number}),
        ("refill_prescription", {"prescription": w.number}),
    ],
    "flight": lambda w: [
        ("show_booking", {"booking": w.booking}),
        ("show_passenger", {"booking": w.booking}),
        ("add_document", {"booking": w.booking, "number": w.passport}),
        ("check_in", {"booking": w.booking}),
    ],
    "media": lambda w: [
        ("probe_file", {"file": w.file}),
        ("install_codec", {"codec": w.codec}),
        ("convert_file", {"file": w.file, "form": "mp4"}),
    ],
    "network": lambda w: [
        ("show_network", {"network": w.name}),
        ("install_certificate", {"certificate": f"{w.name.lower()}-ca"}),
        ("connect_network", {"network": w.name}),
    ],
    "route": lambda w: [
        ("list_closures", {}),
        ("plan_detour", {"start": w.start, "end": "harbour", "avoid": w.bridge}),
        ("finish", {"answer": w.minutes}),
    ],
}
"""Calls that solve a world with a trap."""
FIRST_WAYS: Mapping[str, Callable[[Any], Way]] = {
    "editing": lambda w: (
        "edit_file",
        {"path": w.path, "old": f"a {w.bad} b", "new": f"a {w.good} b"},
    ),
    "database": lambda w: (
        "run_query",
        {"sql": f"SELECT city FROM customers WHERE name = '{w.who}'"},
    ),
    "packages": lambda w: (
        "install_package",
        {"package": w.package, "version": "2.0" if w.trap else w.version},
    ),
    "permissions": lambda w: ("write_file", {"path": w.file, "text": "ready"}),
    "service": lambda w: ("start_service", {"service": w.name}),
    "api": lambda w: ("http_post", {"path": f"/{w.kind}", "body": f"name={w.name}"}),
    "deploy": lambda w: ("deploy_release", {"app": w.app, "release": w.release}),
    "manual": lambda w: ("search_manual", {"words": f"{w.item} pressure"}),
    "room": lambda w: ("open_thing", {"thing": w.box}),
    "warehouse": lambda w: ("drive_to", {"shelf": w.shelf}),
    "calendar": lambda w: ("book_room", {"room": w.room, "time": w.wished}),
    "orders": lambda w: ("refund_order", {"order": w.order}),
    "domain": lambda w: ("add_record", {"name": w.name, "kind": "A", "value": w.address}),
    "cluster": lambda w: ("scale_deployment", {"deployment": w.app, "copies": w.copies}),
    "pipeline": lambda w: ("run_job", {"job": w.job}),
    "merge": lambda w: ("merge_pull_request", {"number": w.number}),
    "mail": lambda w: (
        "send_mail",
        {"to": w.who if w.trap else w.address, "subject": "", "body": "the meeting is at noon"},
    ),
    "bank": lambda w: (
        "transfer_money",
        {"account": w.account, "payee": w.payee, "amount": w.amount},
    ),
    "sheet": lambda w: ("write_cell", {"sheet": w.sheet, "cell": w.cell, "value": w.value}),
    "library": lambda w: ("reserve_book", {"member": w.member, "title": w.title}),
    "leave": lambda w: ("approve_request", {"request": w.request}),
    "home": lambda w: ("set_temperature", {"room": w.room, "degrees": w.degrees}),
    "pharmacy": lambda w: ("refill_prescription", {"prescription": w.number}),
    "flight": lambda w: ("check_in", {"booking": w.booking}),
    "media": lambda w: ("convert_file", {"file": w.file, "form": "mp4"}),
    "network": lambda w: ("connect_network", {"network": w.name}),
    "route": lambda w: ("plan_route", {"start": w.start, "end": "harbour"}),
}
"""The call that comes to mind first."""
