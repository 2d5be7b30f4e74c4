"""Marked hook methods of providers, checked against the contract."""

from __future__ import annotations

import functools
import inspect
import threading
from collections.abc import Callable, Iterator, Mapping
from types import SimpleNamespace
from typing import Any

import attrs
import pluggy

from trimtab._contract.hookspecs import (
    PROJECT,
    SPECS,
    CompletionSpec,
    FeedbackSpec,
    GuidanceSpec,
    RunSpec,
)
from trimtab._events.provenance import ProviderKind
from trimtab._plugins.registry import did_you_mean
from trimtab._types.errors import ProviderInvalid
from trimtab._types.text import describe_error, sanitize


def check_positional(method: Callable[..., Any], name: str, who: str) -> None:
    """Hold a hook against ``def NAME(self, context)``.

    pluggy never passes a keyword-only parameter and lets a default win over the caller, and
    finds neither at registration.

    Raises:
        ProviderInvalid: it takes anything else.
    """
    parameters = list(inspect.signature(method).parameters.values())
    wrong = next(filter(None, map(_signature_problem, parameters)), "")
    if not wrong and [p.name for p in parameters] != ["context"]:
        wrong = f"takes ({', '.join(p.name for p in parameters)})"
    if wrong:
        raise ProviderInvalid(f"{name} of the {who} {wrong}; write: def {name}(self, context): …")


def _signature_problem(parameter: inspect.Parameter) -> str:
    if parameter.kind is parameter.KEYWORD_ONLY:
        return f"has the keyword-only parameter {parameter.name!r}, which is never passed"
    if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
        return f"has *{parameter.name}, which is never filled"
    if parameter.default is not parameter.empty:
        return f"has a default for {parameter.name!r}"
    return ""


def check_call(method: Callable[..., Any], name: str, who: str, *, by_keyword: bool) -> None:
    """Hold a protocol's method against the call that core makes.

    Args:
        method: the bound method.
        name: its name in the protocol.
        who: the provider, for the message.
        by_keyword: whether it is called as ``NAME(context=…)``, else as ``NAME(context)``.

    Raises:
        ProviderInvalid: it can't be called so.
    """
    try:
        signature = inspect.signature(method)
    except (TypeError, ValueError):
        return  # built in C, or hiding its signature
    try:
        signature.bind(context=None) if by_keyword else signature.bind(None)
    except TypeError as error:
        line = f"def {name}(self, {'*, ' * by_keyword}context): …"
        raise ProviderInvalid(
            f"{name} of the {who} can't be called with a context: {error}; write: {line}"
        ) from None


def check_synchronous(method: Callable[..., Any], name: str, who: str) -> None:
    """Refuse a method that does not return its answer when it is called.

    Raises:
        ProviderInvalid: it is ``async def``, or it yields.
    """
    if inspect.iscoroutinefunction(method):
        raise ProviderInvalid(f"{name} of the {who} is async; write: def {name}(…): …")
    if inspect.isgeneratorfunction(method) or inspect.isasyncgenfunction(method):
        raise ProviderInvalid(f"{name} of the {who} yields; it must return its answer.")


_MARK = f"{PROJECT}_impl"
_IGNORED = ("tryfirst", "trylast")
_registering = threading.Lock()

Hooks = Mapping[str, Callable[[Any], Any]]


def _declared(spec: type) -> tuple[str, ...]:
    return tuple(name for name in vars(spec) if not name.startswith("_"))


KIND_HOOKS = {
    ProviderKind.GUIDANCE: _declared(GuidanceSpec),
    ProviderKind.FEEDBACK: _declared(FeedbackSpec),
    ProviderKind.COMPLETION: _declared(CompletionSpec),
    ProviderKind.RECORDER: (),
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
    """Return the marked function of an attribute; None if it has none."""
    function = static.__func__ if isinstance(static, classmethod | staticmethod) else static
    return function if inspect.isroutine(function) and hasattr(function, _MARK) else None


def _check(marked: _Marked, who: str) -> None:
    if marked.hook not in _ALL_HOOKS:
        known = did_you_mean(marked.hook, _ALL_HOOKS)
        raise ProviderInvalid(
            f"The {who} marks {sanitize(marked.hook, 60)!r}, which is not a hook.{known}"
        )
    if marked.options.get("wrapper") or marked.options.get("hookwrapper"):
        raise ProviderInvalid(
            f"The {who} wraps {marked.hook}: wrappers are not supported, return a value instead."
        )
    ignored = [name for name in _IGNORED if marked.options.get(name)]
    if ignored:
        raise ProviderInvalid(
            f"The {who} marks {marked.hook} with {', '.join(ignored)}, which has no effect: "
            "providers are asked in the order in which the prompt names them. Leave it out."
        )
    if marked.hook not in KIND_HOOKS[ProviderKind.COMPLETION]:
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
            raise ProviderInvalid(
                f"The {who} breaks the contract: {describe_error(error)}"
            ) from error
        finally:
            manager.unregister(stand_in)


@functools.cache
def _manager() -> pluggy.PluginManager:
    """Return the manager that knows the hookspecs; making one costs more than a check."""
    manager = pluggy.PluginManager(PROJECT)
    for spec in SPECS:
        manager.add_hookspecs(spec)
    return manager
