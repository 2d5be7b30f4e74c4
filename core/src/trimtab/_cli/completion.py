"""``trimtab completion``: completes commands, options and names in a shell, with argcomplete."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from trimtab._types.errors import TrimtabError
from trimtab._types.stdout import say

if TYPE_CHECKING:
    from types import ModuleType

SHELLS = ("bash", "zsh", "fish")


def register(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``trimtab completion``."""
    parser.add_argument("shell", metavar="SHELL", choices=SHELLS, help=", ".join(SHELLS))
    parser.set_defaults(run=run_completion)


def run_completion(options: argparse.Namespace) -> int:
    """Write the code that the shell has to run."""
    say(_argcomplete().shellcode(["trimtab"], shell=options.shell))
    return 0


def complete(build: Callable[[Sequence[str]], argparse.ArgumentParser]) -> NoReturn:
    """Write the completions of the line that the shell gives in the environment, and exit.

    Args:
        build: makes the parser of a command line.
    """
    line, point = os.environ.get("COMP_LINE", ""), os.environ.get("COMP_POINT", "")
    words = line[: int(point) if point.isdecimal() else None].split()
    _argcomplete().autocomplete(build(words[1:]))
    raise SystemExit(1)  # argcomplete ends the process where the shell has asked


def complete_names(argument: argparse.Action, names: Callable[[], Sequence[str]]) -> None:
    """Let an argument be completed from names.

    Args:
        argument: of a parser.
        names: returns them; called in the process that completes.
    """

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
