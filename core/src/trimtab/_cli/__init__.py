"""The command line: ``trimtab`` and ``python -m trimtab``."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from trimtab._types.errors import TrimtabError


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command.

    Args:
        arguments: those after the program's name; `sys.argv` where None.

    Returns:
        The exit status: 0, 1 where trouble was found, 2 where the input was wrong.
    """
    from trimtab._cli.parsing import parse

    _print_anything()
    try:
        options = parse(sys.argv[1:] if arguments is None else arguments, main)
        status = options.run(options)
        sys.stdout.flush()
    except TrimtabError as error:
        sys.stderr.write(f"trimtab: {error}\n")
        return 2
    except BrokenPipeError:
        return _reader_left()
    except OSError as error:
        sys.stderr.write(f"trimtab: {error}\n")
        return _reader_left()
    except KeyboardInterrupt:
        return 130
    return int(status or 0)


def _print_anything() -> None:
    """Let no closed channel, and no character that a terminal's encoding lacks, stop a verb."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _reader_left() -> int:
    """Keep the interpreter from complaining at exit that nobody reads on."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 1
