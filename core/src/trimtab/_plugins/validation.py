"""Loaded providers and their marked hook methods, checked against the contract of their kind."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator, Mapping
from itertools import chain
from typing import Any, NamedTuple

import attrs

from trimtab._contract.providers import PROJECT
from trimtab._events import DecisionPoint, Provenance, ProviderKind
from trimtab._plugins import WORDS
from trimtab._policy import FeedbackProviderConfig, FeedbackTrigger, ProviderConfig
from trimtab._types.errors import ProviderInvalid, ProviderOptionsError
from trimtab._types.options import misfit
from trimtab._types.text import (
    as_text,
    describe_error,
    did_you_mean,
    nearest,
    quoted_list,
    sanitize,
)

_BY_POSITION = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def check_positional(method: Callable[..., Any], name: str, who: str) -> None:
    """Hold a hook against ``def NAME(self, context)``.

    pluggy never passes a keyword-only parameter and lets a default win over the caller, and
    finds neither at registration.
    """
    signature = inspect.signature(method)
    given = [(p.name, p.default, p.kind) for p in signature.parameters.values()]
    if given not in [[("context", inspect.Parameter.empty, kind)] for kind in _BY_POSITION]:
        raise ProviderInvalid(
            f"{name} of the {who} takes {as_text(signature)}; write: def {name}(self, context): …"
        )


def check_call(method: Callable[..., Any], name: str, who: str, *, by_keyword: bool) -> None:
    """Hold a protocol's method against the call that core makes."""
    wrong = misfit(method, context=None) if by_keyword else misfit(method, None)
    if wrong is not None:
        line = f"def {name}(self, {'*, ' * by_keyword}context): …"
        raise ProviderInvalid(
            f"{name} of the {who} can't be called with a context: {wrong}; write: {line}"
        )


def check_synchronous(method: Callable[..., Any], name: str, who: str) -> None:
    if inspect.iscoroutinefunction(method):
        raise ProviderInvalid(f"{name} of the {who} is async; write: def {name}(…): …")
    if inspect.isgeneratorfunction(method) or inspect.isasyncgenfunction(method):
        raise ProviderInvalid(f"{name} of the {who} yields; it must return its answer.")


_MARK = f"{PROJECT}_impl"
_IGNORED = ("tryfirst", "trylast")

Hooks = Mapping[str, Callable[[Any], Any]]


_GUIDE = "guide_"


class _Kind(NamedTuple):
    """The hooks of a kind, and the members of its protocol; that itself would run properties.

    The page "Hooks" says when each hook is called, and what it may return.
    """

    hooks: tuple[str, ...]
    methods: tuple[str, ...]
    texts: tuple[str, ...] = ()
    by_keyword: bool = False  # how core calls the methods


_KINDS = {
    ProviderKind.GUIDANCE: _Kind(
        tuple(f"{_GUIDE}{point.value}" for point in DecisionPoint),
        ("classify", "provide"),
        ("name", "category"),
        by_keyword=True,
    ),
    ProviderKind.FEEDBACK: _Kind(
        ("give_feedback",), ("should_run", "provide"), ("name",), by_keyword=True
    ),
    ProviderKind.COMPLETION: _Kind(("check_completion",), ("check",)),
    ProviderKind.RECORDER: _Kind((), ("open",), ("name",)),
}
RUN_HOOKS = ("run_opened", "run_closed")
_ALL_HOOKS = (*chain(*(kind.hooks for kind in _KINDS.values())), *RUN_HOOKS)


class _Marked(NamedTuple):
    """A marked method: its hook, the options of its mark, and the bound method."""

    hook: str
    options: Mapping[str, Any]
    method: Callable[..., Any]


def marked_hooks(instance: object, who: str) -> Hooks:
    hooks: dict[str, Callable[[Any], Any]] = {}
    for marked in _marked(instance):
        if marked.hook not in _ALL_HOOKS and marked.options.get("optionalhook"):
            continue
        _check(marked, who)
        if marked.hook in hooks:
            raise ProviderInvalid(f"The {who} has two methods for {marked.hook}: keep one.")
        hooks[marked.hook] = marked.method
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
    if marked.hook not in _KINDS[ProviderKind.COMPLETION].hooks:
        check_synchronous(marked.method, marked.hook, who)
    check_positional(marked.method, marked.hook, who)


Method = Callable[..., Any]


@attrs.frozen(kw_only=True, eq=False, repr=False)
class LoadedProvider:
    """One validated provider of one prompt.

    It has methods or hooks of its kind, never both, and may have run hooks besides.

    Attributes:
        hooks: its own ``@hookimpl`` methods by name of the hook: those of its kind, ``run_opened``
            and ``run_closed``. They take the context by position.
        methods: those of its kind's protocol by name. They take ``context=`` by keyword, `check`
            and `open` by position; `check` may be ``async def``.
    """

    source: Provenance
    config: ProviderConfig
    instance: Any
    hooks: Mapping[str, Callable[[Any], Any]] = attrs.field(factory=dict)
    methods: Mapping[str, Method] = attrs.field(factory=dict)
    points: frozenset[DecisionPoint] = frozenset()
    trigger: FeedbackTrigger | None = None


def source_of(kind: ProviderKind, instance: Any) -> Provenance:
    """Return the provenance of an object that the caller gave: its ``name``, else its class's."""
    try:
        name = getattr(instance, "name", None)
    except (Exception, SystemExit):  # noqa: BLE001  # the validation that follows reports a broken name
        name = None
    if not isinstance(name, str) or not name:
        name = type(instance).__name__
    return Provenance(sanitize(name, 80), kind)


def validate(source: Provenance, config: ProviderConfig, instance: Any) -> LoadedProvider:
    """Check an object and return what the prompt's runtime calls.

    A protocol's members are read once each, and nothing else of the object runs.
    """
    who = _title(source)
    if inspect.isclass(instance):
        raise ProviderInvalid(
            f"The {who} is a class: pass an instance, {instance.__name__}(…), or its name."
        )
    hooks = marked_hooks(instance, who)
    own = {name: hooks[name] for name in _KINDS[source.kind].hooks if name in hooks}
    methods = _protocol_methods(source.kind, instance, who, optional=bool(own))
    if own and methods:
        raise ProviderInvalid(
            f"The {who} has both {quoted_list(methods)} and the hooks {quoted_list(own)}: "
            "keep one way."
        )
    about_run = {name: hooks[name] for name in RUN_HOOKS if name in hooks}
    return LoadedProvider(
        source=source,
        config=config,
        instance=instance,
        hooks=own | about_run,
        points=_points(source.kind, instance, own, who),
        trigger=_trigger(config, instance, who),
        methods=methods,
    )


def _title(source: Provenance) -> str:
    package = f" of {source.distribution} {source.version}" if source.distribution else ""
    return f"{WORDS[source.kind]} {source.name!r}{package}"


def _read(instance: Any, name: str, who: str) -> Any:
    try:
        return getattr(instance, name, None)
    except (Exception, SystemExit) as error:
        raise ProviderInvalid(
            f"Reading {name!r} of the {who} failed: {describe_error(error)}"
        ) from error


def _protocol_methods(
    kind: ProviderKind, instance: Any, who: str, *, optional: bool
) -> dict[str, Method]:
    protocol = _KINDS[kind]
    found = {name: _read(instance, name, who) for name in protocol.texts + protocol.methods}
    no_text = [
        name
        for name in protocol.texts
        if not (isinstance(found[name], str) and (found[name].strip() or name != "name"))
    ]
    lacking = [name for name in protocol.methods if not callable(found[name])] + no_text
    if lacking and optional:
        return {}
    for name in no_text:
        if found[name] is not None:
            raise ProviderInvalid(
                f"{name} of the {who} must be text and not empty, not {found[name]!r:.60}."
            )
    if lacking:
        raise ProviderInvalid(_not_of_kind(kind, instance, who, lacking))
    methods = {name: found[name] for name in protocol.methods}
    for name, method in methods.items():
        if kind is not ProviderKind.COMPLETION:
            check_synchronous(method, name, who)
        check_call(method, name, who, by_keyword=protocol.by_keyword)
    return methods


def _not_of_kind(kind: ProviderKind, instance: Any, who: str, lacking: list[str]) -> str:
    near = nearest(lacking[0], (name for name in dir(instance) if name not in lacking))
    misspelt = f" Is {near!r} misspelt?" if near else ""
    protocol, kind_name, class_name = _KINDS[kind], WORDS[kind], type(instance).__name__
    named = who.removeprefix(f"{kind_name} ")
    if named == repr(class_name):
        subject = f"{class_name} is not a {kind_name}: it"
    else:
        subject = f"{named} is not a {kind_name}: {class_name}"
    return (
        f"{subject} lacks {quoted_list(lacking)}.{misspelt} "
        f"It must have {quoted_list(protocol.texts + protocol.methods)}, or mark with @hookimpl "
        f"one of {quoted_list(protocol.hooks)}.{_other_kind(kind, instance)}"
    )


def _other_kind(kind: ProviderKind, instance: Any) -> str:
    for other, protocol in _KINDS.items():
        if other is not kind and all(
            callable(inspect.getattr_static(instance, name, None)) for name in protocol.methods
        ):
            return f" It looks like a {WORDS[other]}."
    return ""


def _points(kind: ProviderKind, instance: Any, own: Hooks, who: str) -> frozenset[DecisionPoint]:
    if kind is not ProviderKind.GUIDANCE:
        return frozenset()
    if own:
        return frozenset(DecisionPoint(name.removeprefix(_GUIDE)) for name in own)
    named: Any = _read(instance, "decision_points", who) or tuple(DecisionPoint)
    try:
        points = frozenset(named)
    except TypeError:
        points = frozenset((named,))
    if not all(isinstance(point, DecisionPoint) for point in points):
        raise ProviderInvalid(f"decision_points of the {who} must be a tuple of DecisionPoint.")
    return points


def _trigger(config: ProviderConfig, instance: Any, who: str) -> FeedbackTrigger | None:
    if not isinstance(config, FeedbackProviderConfig):
        return None
    for trigger in (config.trigger, _read(instance, "default_trigger", who)):
        if isinstance(trigger, FeedbackTrigger) and not trigger.empty:
            return trigger
    raise ProviderOptionsError(
        f"The {who} has no trigger of its own: set every_n_calls, every_n_seconds or "
        f"on_file_created for it on this prompt."
    )
