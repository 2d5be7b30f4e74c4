"""Errors that trimtab raises on purpose, faults of foreign code, and whose code is running.

One rule for all code that others wrote, here below everything that calls some. Whatever such code
raises is its own fault: also SystemExit, GeneratorExit, an exception of its own beside `Exception`,
and a CancelledError that leaves synchronous code, which nobody can cancel. What comes from outside
is not: an interrupt or any other exception that a signal brings, and the cancellation of the task
that is running.

A thread can't be ended, and one that holds the interpreter's lock stops all others, the one that
counts its seconds too. Only another process can see that and end it; this is how it learns whose
code was running.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from functools import partial
from types import CodeType, FrameType, TracebackType
from typing import Any, TypeVar


class TrimtabError(Exception):
    """Base of all errors of trimtab; the message says what is wrong, where, and what to do."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if cls.__module__ == __name__:
            # As users import it, and as tracebacks show it.
            of_providers = any(base.__name__ == "ProviderError" for base in cls.__bases__)
            cls.__module__ = "trimtab.inspection" if of_providers else "trimtab"


TrimtabError.__module__ = "trimtab"


class TrimtabDeprecationWarning(DeprecationWarning):
    """Something that still works will be removed; the message says what to use instead."""

    __module__ = "trimtab"


class ConfigurationError(TrimtabError):
    """A configuration file, table or environment switch is wrong."""


class PromptError(TrimtabError):
    """A prompt, section or parameter is declared or bound wrongly."""


class ResourceError(TrimtabError):
    """A resource is not bound, or a path leads out of its filesystem."""


class ToolError(TrimtabError):
    """A tool is declared wrongly, or was called with parameters that it does not take."""


class SessionError(TrimtabError):
    """A session or run was used in a way that its record does not allow."""


class SnapshotError(SessionError):
    """A snapshot can't be read back: damaged, or of another version."""


class ProviderError(TrimtabError):
    """A provider that a prompt names can't be used; raised while the prompt is built."""


class UnknownProvider(ProviderError):
    """No installed distribution offers a provider of that name and kind."""


class AmbiguousProvider(ProviderError):
    """Several distributions offer that name; write ``distribution:name``."""


class ProviderNotAllowed(ProviderError):
    """The allow-list, a require-list or a switch forbids the provider."""


class IncompatibleProvider(ProviderError):
    """The provider's distribution asks for another version of trimtab."""


class ProviderLoadError(ProviderError):
    """The provider's module can't be imported or lacks the named attribute."""


class ProviderOptionsError(ProviderError):
    """The options given to a provider are not what it takes."""


class ProviderInvalid(ProviderError):
    """The object is not a provider: it breaks a rule of the contract."""


class PromptEvaluationError(TrimtabError):
    """An adapter could not bring a prompt to a valid end."""


_NAME_OF = type.__dict__["__name__"].__get__


def is_interruption(error: BaseException) -> bool:
    """Return whether a signal brought `error`, so that it belongs to the caller.

    Python runs the handlers of signals between two instructions of the main thread, whose code it
    happens to be. The default handler of SIGINT leaves no frame: the KeyboardInterrupt seems to
    come from an instruction that raises nothing. Other handlers have a frame in the traceback.
    """
    if threading.get_ident() != threading.main_thread().ident:
        return False
    if isinstance(error, KeyboardInterrupt) and not raised_by(error):
        return True
    handlers = set(_handlers())
    return any(frame.f_code in handlers for frame, _ in _frames(error.__traceback__))


def is_cancelled(error: BaseException) -> bool:
    """Return whether `error` cancels the task that is running, and not one that it waited for.

    Args:
        error: what foreign code let out.
    """
    asyncio = sys.modules.get("asyncio")
    if asyncio is None or not isinstance(error, asyncio.CancelledError):
        return False
    try:
        task = asyncio.current_task()
    except RuntimeError:  # no loop runs on this thread
        return False
    return task is not None and task.cancelling() > 0


def raised_by(error: BaseException) -> bool:
    """Return whether a ``raise`` outside the standard library made `error`.

    The library itself raises KeyboardInterrupt for a signal, as ``asyncio.run`` does, and Python
    throws GeneratorExit into a coroutine that is closed.
    """
    from opcode import opmap

    frames = list(_frames(error.__traceback__))
    if not frames:
        return False
    frame, instruction = frames[-1]
    if frame.f_code.co_code[instruction] != opmap["RAISE_VARARGS"]:
        return False
    module = frame.f_globals.get("__name__", "")
    return str(module).partition(".")[0] not in sys.stdlib_module_names


def class_name(value: object) -> str:
    """Return the name of the class of `value`, which its author can't prevent."""
    return str.__str__(_NAME_OF(type(value)))


def _frames(traceback: TracebackType | None) -> Iterator[tuple[FrameType, int]]:
    while traceback is not None:
        yield traceback.tb_frame, traceback.tb_lasti
        traceback = traceback.tb_next


def _handlers() -> Iterator[CodeType]:
    """Yield the code of those handlers of signals that are written in Python."""
    import signal

    for number in signal.valid_signals():
        handler: Any = signal.getsignal(number)
        while isinstance(handler, partial):
            handler = handler.func
        if callable(handler):
            called = handler if hasattr(handler, "__code__") else type(handler).__call__
            code = getattr(called, "__code__", None)
            if isinstance(code, CodeType):
                yield code


T = TypeVar("T")
Tell = Callable[[str], None]


class _Watch:
    """Holds who is told, in most processes nobody; looked up once for each batch of calls."""

    tell: Tell | None = None


WATCH = _Watch()


def watch_calls(tell: Tell | None) -> None:
    """Be told of every call into a provider in this process, before and after it.

    Args:
        tell: called on the thread of the call with the provider's name, e.g. ``"doom-loop"``, and
            with an empty text when the call has returned. It must be short and must not raise.
            None ends the watch.
    """
    WATCH.tell = tell


def call_told(name: str, call: Callable[..., T], *arguments: Any) -> T:
    """Return ``call(*arguments)``, told as a call into the provider `name`."""
    tell = WATCH.tell
    if tell is None:
        return call(*arguments)
    tell(name)
    try:
        return call(*arguments)
    finally:
        tell("")
