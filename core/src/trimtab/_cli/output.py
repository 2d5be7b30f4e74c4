"""What commands share: aligned columns, JSON of a stable shape, completion in a shell."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from trimtab._plugins import PluginInfo
from trimtab._types.errors import TrimtabError
from trimtab._types.stdout import say

if TYPE_CHECKING:
    from types import ModuleType

FORMAT = 1
"""Version of the JSON that `say_json` writes; a change that breaks a reader raises it."""


def say_table(rows: Sequence[Sequence[str]], indent: str = "") -> None:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        say((indent + "  ".join(cells)).rstrip())


def say_json(data: Mapping[str, Any]) -> None:
    """Write an object as JSON; values that JSON lacks, such as dates, as text.

    Args:
        data: the object; ``"format"`` is added.
    """
    import json

    say(json.dumps({"format": FORMAT, **data}, indent=2, default=str))


def entry_json(entry: PluginInfo) -> dict[str, Any]:
    return {
        "kind": entry.group,
        "name": entry.name,
        "full_name": entry.full_name,
        "distribution": entry.distribution,
        "version": entry.version,
        "target": entry.target,
        "summary": entry.summary,
        "requires": list(entry.requires),
        "api_level": entry.api_level,
        "where": entry.where,
    }


SHELLS = ("bash", "zsh", "fish")


def register_completion(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", metavar="SHELL", choices=SHELLS, help=", ".join(SHELLS))
    parser.set_defaults(run=run_completion)


def run_completion(options: argparse.Namespace) -> int:
    say(_argcomplete().shellcode(["trimtab"], shell=options.shell))
    return 0


def complete(build: Callable[[Sequence[str]], argparse.ArgumentParser]) -> NoReturn:
    """Write the completions of the line that the shell gives in the environment, and exit."""
    line, point = os.environ.get("COMP_LINE", ""), os.environ.get("COMP_POINT", "")
    words = line[: int(point) if point.isdecimal() else None].split()
    _argcomplete().autocomplete(build(words[1:]))
    raise SystemExit(1)  # argcomplete ends the process where the shell has asked


def complete_names(argument: argparse.Action, names: Callable[[], Sequence[str]]) -> None:
    def completer(**_: Any) -> Sequence[str]:
        return names()

    vars(argument)["completer"] = completer


def _argcomplete() -> ModuleType:
    try:
        import argcomplete
    except ImportError:
        raise TrimtabError(
            "Completion needs the package argcomplete: install trimtab[completion]."
        ) from None
    return argcomplete
