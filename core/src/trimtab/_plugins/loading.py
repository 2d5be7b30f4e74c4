"""From an entry to an object: import within a time limit, look up, construct."""

from __future__ import annotations

import importlib
import inspect
import operator
import re
import signal
import sys
import threading
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from types import FrameType, ModuleType
from typing import Any

from trimtab._plugins import (
    PluginInfo,
    level_note,
    normalise_name,
    parameters_of,
    pip_install,
    title,
)
from trimtab._plugins.discovery import installed_requirements, requirement_name
from trimtab._types.errors import (
    ProviderInvalid,
    ProviderLoadError,
    ProviderOptionsError,
    TrimtabDeprecationWarning,
    TrimtabError,
    call_told,
    is_interruption,
)
from trimtab._types.text import (
    describe_error,
    did_you_mean,
    error_message,
    quoted_list,
    refusal,
    sanitize,
)

FIRST_WORD = 10.0
LONGEST = 60.0
"""Seconds: of a machine under load, the largest packages take about 20."""


class ImportTookTooLong(BaseException):  # a module may catch every Exception
    """The module was still being imported when its time was over."""


class _Limit:
    """Whether this process is a command's; a library leaves the timer of its user alone."""

    is_set = False


@contextmanager
def imports_limited() -> Iterator[None]:
    """Limit the time of each plugin's import in the main thread, where the system has a timer."""
    before, _Limit.is_set = _Limit.is_set, True
    try:
        yield
    finally:
        _Limit.is_set = before


@contextmanager
def import_limit(what: str) -> Iterator[None]:
    """Say so on standard error if an import takes long, and end it after a minute.

    There is one timer in a process: where another part of it has set that, the import has no limit.
    """
    if not (_Limit.is_set and _timer_is_free()):
        yield
        return
    told: list[str] = []

    def warn(_: int, __: FrameType | None) -> None:
        if told:
            raise ImportTookTooLong(f"it took more than {LONGEST:g} s")
        told.append(what)
        sys.stderr.write(f"trimtab: still importing {what}; Ctrl-C ends this\n")

    handler = signal.signal(signal.SIGALRM, warn)
    signal.setitimer(signal.ITIMER_REAL, FIRST_WORD, LONGEST - FIRST_WORD)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        if handler is not None:  # one that was not set from Python can't be set again
            signal.signal(signal.SIGALRM, handler)


def _timer_is_free() -> bool:
    is_main = threading.current_thread() is threading.main_thread()
    return (
        is_main and hasattr(signal, "setitimer") and not any(signal.getitimer(signal.ITIMER_REAL))
    )


_NAMED = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)

# A module that failed is not run again: it may have done a part of its work.
_failed: dict[tuple[str, str, str], BaseException] = {}


def load(entry: PluginInfo) -> Any:
    """Import what an entry points to, once per process; a failure is raised again each time.

    Args:
        entry: the entry.

    Raises:
        ProviderLoadError: the module raises or exits on import, or lacks the attribute.
    """
    module = _import(entry)
    note = level_note(entry)
    if note:
        warnings.warn(note, TrimtabDeprecationWarning, stacklevel=2)
    try:
        return operator.attrgetter(entry.attr)(module)
    except BaseException as error:
        if is_interruption(error):
            raise
        raise ProviderLoadError(
            f"Can't load the {title(entry)}: {entry.module} has no {entry.attr!r} "
            f"({describe_error(error)}). {_repair(entry)}"
        ) from error


def _import(entry: PluginInfo) -> ModuleType:
    key = entry.module, entry.version, entry.where
    error = _failed.get(key)
    if error is None:
        try:
            with import_limit(f"{entry.module} ({title(entry)})"):
                return call_told(entry.name, importlib.import_module, entry.module)
        except BaseException as fresh:  # raised below, each time
            if is_interruption(fresh) and not isinstance(fresh, ImportTookTooLong):
                raise
            error = _failed[key] = fresh
    raise ProviderLoadError(
        f"Can't load the {title(entry)}: importing {entry.module} failed with "
        f"{describe_error(error)}. {_extra(entry, error) or _repair(entry)}"
    ) from error


def _repair(entry: PluginInfo) -> str:
    return f"Repair or replace the package: {pip_install(entry.distribution, how='reinstall')}"


_EXTRA = re.compile(r"extra *== *['\"]([\w.-]+)")


def _extra(entry: PluginInfo, error: BaseException) -> str:
    """Say which extra of the package brings a module that is missing; empty if none is known to."""
    if not isinstance(error, ModuleNotFoundError) or not error.name:
        return ""
    missing = normalise_name(error.name.partition(".")[0])
    for requirement in installed_requirements(entry.distribution):
        extra = _EXTRA.search(requirement)
        if extra and requirement_name(requirement) == missing:
            return f"Install what it needs: {pip_install(f'{entry.distribution}[{extra[1]}]')}"
    return ""


def construct(entry: PluginInfo, factory: Any, options: Mapping[str, Any]) -> Any:
    """Make the provider of one prompt, from options as a configuration holds them.

    Args:
        entry: what names it in messages.
        factory: its class, or another function that takes the options.
        options: by name; each is converted to the type of its annotation.

    Raises:
        ProviderError: an option is refused, or the factory fails.
    """
    if not callable(factory):
        raise ProviderInvalid(
            f"The {title(entry)} can't be made: {entry.target} is of type {type(factory).__name__}"
            "; it must be a class or a function that takes the options."
        )
    _check_names(entry, factory, options)
    made = _read(entry, factory, options) if options else {}
    try:
        return call_told(entry.name, partial(factory, **made))
    except (TypeError, ValueError) as error:
        raise _refused(entry, made, error) from error
    except BaseException as error:
        if is_interruption(error):
            raise
        if options and isinstance(error, Exception) and not isinstance(error, ImportError):
            raise _refused(entry, made, error) from error
        what = f"Can't make the {title(entry)}: "
        if isinstance(error, TrimtabError):  # which says itself what to do
            raise ProviderLoadError(f"{what}{error_message(error)}") from error
        raise ProviderLoadError(
            f"{what}{entry.target} failed with {describe_error(error)}. {_repair(entry)}"
        ) from error


def _check_names(entry: PluginInfo, factory: Any, options: Mapping[str, Any]) -> None:
    parameters = parameters_of(factory)
    if parameters is None:
        return
    known = [p.name for p in parameters if p.kind in _NAMED]
    if not any(p.kind is p.VAR_KEYWORD for p in parameters):
        for name in options:
            if name not in known:
                from trimtab._policy import setting_hint

                hint = setting_hint(entry.group, name) or did_you_mean(name, known)
                raise ProviderOptionsError(
                    f"The {title(entry)} has no option {sanitize(name, 80)!r}."
                    f"{hint} Its options: {quoted_list(known)}."
                )
    missing = [name for name in needed_options(factory) if name not in options]
    if missing:
        raise ProviderOptionsError(f"The {title(entry)} needs the option {quoted_list(missing)}.")


def _read(entry: PluginInfo, factory: Any, options: Mapping[str, Any]) -> dict[str, Any]:
    from trimtab._plugins.options import read_options  # costs time, and most have no options

    made, problems = read_options(factory, options)
    if problems:
        raise ProviderOptionsError(
            f"The {title(entry)} refuses its options: {sanitize('; '.join(problems), 600)}"
        )
    return made


def needed_options(factory: Any) -> tuple[str, ...]:
    parameters = parameters_of(factory) or ()
    return tuple(p.name for p in parameters if p.kind in _NAMED and p.default is p.empty)


def _refused(
    entry: PluginInfo, options: Mapping[str, Any], error: BaseException
) -> ProviderOptionsError:
    plain = refusal(error)
    if plain:
        return ProviderOptionsError(f"The {title(entry)} refuses its options: {plain}")
    written = isinstance(error, TypeError | ValueError | TrimtabError) and error_message(error)
    what = sanitize(written, 300) if written else describe_error(error)
    return ProviderOptionsError(f"The {title(entry)} refuses {_blamed(options, error)}: {what}")


def _blamed(options: Mapping[str, Any], error: BaseException) -> str:
    """Name the options that the error names, or all that were given; never their values."""
    words = set(re.findall(r"\w+", describe_error(error)))
    blamed = [name for name in options if name in words] or list(options)
    if not blamed:
        return "to be made without options"
    return f"the option{'s' * (len(blamed) > 1)} {quoted_list(blamed)}"
