"""The command line: ``trimtab`` and ``python -m trimtab``."""

from __future__ import annotations

import io
import os
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import NoReturn

from trimtab._version import __version__

_LONGEST_LINE = 10_000
"""Characters of a line of an error: the whole line, unless something foreign swells it."""
_PATIENCE = 2.0
"""Seconds that threads of plugins have at the end of a command."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command."""
    words = sys.argv[1:] if arguments is None else arguments
    from trimtab._types.errors import TrimtabError
    from trimtab._types.stdout import flush

    _print_anything()
    try:
        status = _run(words)
        flush()
    except TrimtabError as error:
        _say_wrong(error)
        return 2
    except BrokenPipeError:
        return _silence_stdout()
    except OSError as error:
        _say_wrong(error)
        return _silence_stdout()
    except KeyboardInterrupt:
        return 130
    return int(status or 0)


def _run(words: Sequence[str]) -> int | None:
    if words in (["--version"], ["-V"]):
        from trimtab._types.stdout import say  # without what a command line needs

        say(f"trimtab {__version__}")
        return 0
    from trimtab._cli.parsing import parse
    from trimtab._plugins.loading import imports_limited

    with imports_limited():
        options = parse(words, main)
        status: object = options.run(options)
    if status is None or isinstance(status, int):
        return status
    import inspect

    from trimtab._types.errors import ProviderInvalid, class_name

    if inspect.iscoroutine(status):
        status.close()
    raise ProviderInvalid(
        f"What `trimtab {words[0]}` runs returned {class_name(status)}; it must return its exit "
        "status, a number, or None. It can't be async."
    )


def _say_wrong(error: Exception) -> None:
    """Write an error, which may hold names of files and texts of others, on its lines."""
    from trimtab._types.text import sanitize

    lines = "\n".join(sanitize(line, _LONGEST_LINE) for line in str(error).split("\n"))
    sys.stderr.write(f"trimtab: {lines}\n")


def run() -> NoReturn:
    """Run the command of the command line, and end the process with its status."""
    status = main()
    if "threading" in sys.modules:
        _leave_threads(status)
    sys.exit(status)


def _leave_threads(status: int) -> None:
    """See that a thread of a plugin does not keep the process, which waits for threads at its end.

    Those of executors end by themselves then.
    """
    import threading

    def leave() -> None:
        time.sleep(_PATIENCE)
        names = ", ".join(each.name[:60] for each in waited_for if each.is_alive())
        with suppress(OSError, ValueError):
            plain = names.encode("ascii", "backslashreplace").decode()
            sys.stderr.write(f"trimtab: a thread of a plugin still runs and is left: {plain}\n")
            sys.stderr.flush()
            sys.stdout.flush()
        os._exit(status)

    own = threading.current_thread()
    waited_for = [each for each in threading.enumerate() if not each.daemon and each is not own]
    if waited_for:
        threading.Thread(target=leave, daemon=True).start()


def _print_anything() -> None:
    """Keep closed streams and characters that a terminal lacks from stopping a command."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: PTH123, SIM115
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _silence_stdout() -> int:
    """Avoid a BrokenPipeError at the interpreter's exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 1
