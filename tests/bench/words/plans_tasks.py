"""Four tasks of ten steps, with what each call answers."""

from __future__ import annotations

from words.plans import Task
from words.world import Tool

_REGIONS = ("north", "south", "east", "west")
_AMOUNTS = ("41,200", "38,950", "52,010", "29,480")

REPORT = Task(
    "report",
    "Prepare the sales report of May for all regions and send it to the board.",
    (
        Tool("export_sales", "Export the sales of a region.", ("region",)),
        Tool("check_sales", "Compare an export with the ledger.", ("region",)),
        Tool("merge_sales", "Merge all exports into one table.", ("month",)),
        Tool("send_report", "Send a report by mail.", ("to",)),
    ),
    (
        *(
            step
            for region, amount in zip(
                _REGIONS, ("41,200", "38,950", "52,010", "29,480"), strict=True
            )
            for step in (
                (f"Export {region}", "export_sales", {"region": region}, f"{amount} EUR"),
                (f"Check {region}", "check_sales", {"region": region}, "matches the ledger"),
            )
        ),
        ("Merge the exports", "merge_sales", {"month": "May"}, "161,640 EUR in 4 regions"),
        ("Send the report", "send_report", {"to": "board"}, "sent"),
    ),
)

_MODULES = ("auth", "billing", "search", "mail")

MIGRATION = Task(
    "migration",
    "Move the modules auth, billing, search and mail to the new logger and release.",
    (
        Tool("migrate_module", "Rewrite a module for the new logger.", ("module",)),
        Tool("run_tests", "Run the tests of a module.", ("module",)),
        Tool("remove_logger", "Delete a logger that nothing uses.", ("logger",)),
        Tool("release", "Publish a version.", ("version",)),
    ),
    (
        *(
            step
            for module, number in zip(_MODULES, (31, 58, 44, 19), strict=True)
            for step in (
                (f"Migrate {module}", "migrate_module", {"module": module}, "12 calls rewritten"),
                (f"Test {module}", "run_tests", {"module": module}, f"{number} passed"),
            )
        ),
        ("Remove the old logger", "remove_logger", {"logger": "oldlog"}, "deleted"),
        ("Release 2.4.0", "release", {"version": "2.4.0"}, "published"),
    ),
)

MOVE = Task(
    "move",
    "Organise the move of our office to Hafenstrasse 12 on 30 June.",
    (
        Tool("book", "Book a service for the day of the move.", ("service",)),
        Tool("cancel_contract", "End a contract of the old office.", ("contract",)),
        Tool("order", "Order a connection for the new office.", ("connection",)),
        Tool("tell", "Tell somebody the new address.", ("whom",)),
    ),
    (
        ("Book the movers", "book", {"service": "movers"}, "booked for 30 June, 08:00"),
        ("Book the cleaners", "book", {"service": "cleaners"}, "booked for 30 June, 18:00"),
        ("End the lease", "cancel_contract", {"contract": "lease"}, "ends on 30 June"),
        ("End power", "cancel_contract", {"contract": "power"}, "ends on 30 June"),
        ("End internet", "cancel_contract", {"contract": "internet"}, "ends on 2 July"),
        ("Order power", "order", {"connection": "power"}, "active from 28 June"),
        ("Order internet", "order", {"connection": "internet"}, "technician on 29 June"),
        ("Tell the bank", "tell", {"whom": "bank"}, "confirmed"),
        ("Tell the tax office", "tell", {"whom": "tax office"}, "confirmed"),
        ("Tell the customers", "tell", {"whom": "customers"}, "312 mails sent"),
    ),
)

RESTORE = Task(
    "restore",
    "Bring the shop back after the outage of the database, in a safe order.",
    (
        Tool("stop", "Stop a service.", ("service",)),
        Tool("restore_backup", "Restore a database from last night's backup.", ("database",)),
        Tool("verify", "Verify a database.", ("database",)),
        Tool("start", "Start a service.", ("service",)),
        Tool("post_status", "Write on the status page.", ("state",)),
    ),
    (
        ("Announce the work", "post_status", {"state": "maintenance"}, "posted"),
        ("Stop the shop", "stop", {"service": "shop"}, "stopped"),
        ("Stop the worker", "stop", {"service": "worker"}, "stopped"),
        ("Restore orders", "restore_backup", {"database": "orders"}, "18,204 rows"),
        ("Restore stock", "restore_backup", {"database": "stock"}, "9,310 rows"),
        ("Verify orders", "verify", {"database": "orders"}, "consistent"),
        ("Verify stock", "verify", {"database": "stock"}, "consistent"),
        ("Start the worker", "start", {"service": "worker"}, "running"),
        ("Start the shop", "start", {"service": "shop"}, "running"),
        ("Announce the end", "post_status", {"state": "operational"}, "posted"),
    ),
)

TASKS = (REPORT, MIGRATION, MOVE, RESTORE)
