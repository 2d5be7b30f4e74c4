"""Marked methods (``@hookimpl``) held against the hookspecs; pluggy has the last word."""

from __future__ import annotations

import functools
import inspect
import threading
from collections.abc import Callable, Iterator, Mapping
from types import SimpleNamespace
from typing import Any

import attrs
import pluggy

from trimtab.errors import ProviderInvalid
from trimtab.hookspecs import PROJECT, SPECS, CompletionSpec, FeedbackSpec, GuidanceSpec, RunSpec
from trimtab.plugins.advice import did_you_mean
from trimtab.plugins.names import describe, plain
from trimtab.plugins.signatures import check_positional, check_synchronous
from trimtab.plugins.source import Kind

_MARK = f"{PROJECT}_impl"
_registering = threading.Lock()

Hooks = Mapping[str, Callable[[Any], Any]]


def _declared(spec: type) -> tuple[str, ...]:
    return tuple(name for name in vars(spec) if not name.startswith("_"))


KIND_HOOKS = {
    Kind.GUIDANCE: _declared(GuidanceSpec),
    Kind.FEEDBACK: _declared(FeedbackSpec),
    Kind.COMPLETION: _declared(CompletionSpec),
}
RUN_HOOKS = _declared(RunSpec)
_ALL_HOOKS = tuple(name for spec in SPECS for name in _declared(spec))


@attrs.frozen
class _Marked:
    """A marked method: its hook, the options of its mark, and the bound method."""

    hook: str
    options: Mapping[str, Any]
    method: Callable[..., Any]


def marked_hooks(instance: object, who: str) -> Hooks:
    """Return an object's ``@hookimpl`` methods by name of the hook, checked.

    Args:
        instance: a provider; none of its properties is run.
        who: what messages call it.

    Raises:
        ProviderInvalid: a marked method breaks a rule; the message says what to write.
    """
    hooks: dict[str, Callable[[Any], Any]] = {}
    for marked in _marked(instance):
        if marked.hook not in _ALL_HOOKS and marked.options.get("optionalhook"):
            continue
        _check(marked, who)
        if marked.hook in hooks:
            raise ProviderInvalid(f"The {who} has two methods for {marked.hook}: keep one.")
        hooks[marked.hook] = marked.method
    if hooks:
        _register(hooks, who)
    return hooks


def _marked(instance: object) -> Iterator[_Marked]:
    kind: Any = type(instance)
    for name in dict.fromkeys((*_marked_names(kind), *getattr(instance, "__dict__", ()))):
        static = inspect.getattr_static(instance, name, None)
        function = _function(static)
        if function is not None:
            options = getattr(function, _MARK)
            yield _Marked(options.get("specname") or name, options, getattr(instance, name))


@functools.lru_cache(maxsize=256)
def _marked_names(kind: type[Any]) -> tuple[str, ...]:
    """Return the names under which a class has marked methods, looked for once per class."""
    return tuple(name for name in dir(kind) if _function(inspect.getattr_static(kind, name, None)))


def _function(static: object) -> Any:
    """Return the marked function behind an attribute; None where it is none."""
    function = static.__func__ if isinstance(static, classmethod | staticmethod) else static
    return function if inspect.isroutine(function) and hasattr(function, _MARK) else None


def _check(marked: _Marked, who: str) -> None:
    if marked.hook not in _ALL_HOOKS:
        known = did_you_mean(marked.hook, _ALL_HOOKS)
        raise ProviderInvalid(
            f"The {who} marks {plain(marked.hook, 60)!r}, which is no hook.{known}"
        )
    if marked.options.get("wrapper") or marked.options.get("hookwrapper"):
        raise ProviderInvalid(
            f"The {who} wraps {marked.hook}: wrappers are not supported, return a value instead."
        )
    if marked.hook not in KIND_HOOKS[Kind.COMPLETION]:
        check_synchronous(marked.method, marked.hook, who)
    check_positional(marked.method, marked.hook, who)


def _register(hooks: Hooks, who: str) -> None:
    """Let pluggy check a stand-in that has the marked methods and nothing else.

    pluggy before 1.7 runs the properties of what it registers.
    """
    with _registering:
        manager, stand_in = _manager(), SimpleNamespace(**hooks)
        try:
            manager.register(stand_in, name=who)
            manager.check_pending()
        except pluggy.PluginValidationError as error:
            raise ProviderInvalid(f"The {who} breaks the contract: {describe(error)}") from error
        finally:
            manager.unregister(stand_in)


@functools.cache
def _manager() -> pluggy.PluginManager:
    """Return the manager that knows the hookspecs; making one costs more than a check."""
    manager = pluggy.PluginManager(PROJECT)
    for spec in SPECS:
        manager.add_hookspecs(spec)
    return manager
