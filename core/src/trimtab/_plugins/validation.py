"""Loaded providers, checked against the contract of their kind."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

import attrs

from trimtab._events.provenance import DecisionPoint, Provenance, ProviderKind
from trimtab._plugins.hooks import (
    KIND_HOOKS,
    RUN_HOOKS,
    Hooks,
    check_call,
    check_synchronous,
    marked_hooks,
)
from trimtab._plugins.registry import WORDS, did_you_mean, quoted_list
from trimtab._policy.settings import FeedbackProviderConfig, FeedbackTrigger, ProviderConfig
from trimtab._types.errors import ProviderInvalid, ProviderOptionsError
from trimtab._types.text import describe_error, sanitize

Method = Callable[..., Any]


@attrs.frozen(kw_only=True, eq=False, repr=False)
class LoadedProvider:
    """One validated provider of one prompt.

    An object that satisfies its kind's protocol has its methods here, which take ``context=``
    by keyword, `check` by position; an object that marks its hooks itself has them in `hooks`,
    by position too. It has one or the other, never both, and may have run hooks besides.

    Attributes:
        source: where it comes from.
        config: the prompt's settings for it.
        instance: the object itself.
        hooks: its own ``@hookimpl`` methods by name of the hook: those of its kind, ``run_opened``
            and ``run_closed``.
        points: decision points at which it is asked; empty for other kinds than guidance.
        trigger: when feedback is asked for; None for other kinds.
        classify: of a `GuidanceProvider`, else None.
        provide: of a `GuidanceProvider` or `FeedbackProvider`, else None.
        should_run: of a `FeedbackProvider`, else None.
        check: of a `TaskCompletionChecker`, else None; may be ``async def``.
        open: of a `Recorder`, else None.
    """

    source: Provenance
    config: ProviderConfig
    instance: Any
    hooks: Mapping[str, Callable[[Any], Any]] = attrs.field(factory=dict)
    points: frozenset[DecisionPoint] = frozenset()
    trigger: FeedbackTrigger | None = None
    classify: Method | None = None
    provide: Method | None = None
    should_run: Method | None = None
    check: Method | None = None
    open: Method | None = None


_GUIDE = "guide_"


@attrs.frozen
class _Protocol:
    """The members of a kind's protocol; the types themselves would run properties to look."""

    methods: tuple[str, ...]
    texts: tuple[str, ...] = ()

    @property
    def members(self) -> tuple[str, ...]:
        return self.texts + self.methods


_PROTOCOLS = {
    ProviderKind.GUIDANCE: _Protocol(("classify", "provide"), ("name", "category")),
    ProviderKind.FEEDBACK: _Protocol(("should_run", "provide"), ("name",)),
    ProviderKind.COMPLETION: _Protocol(("check",)),
    ProviderKind.RECORDER: _Protocol(("open",), ("name",)),
}


_BY_KEYWORD = frozenset({ProviderKind.GUIDANCE, ProviderKind.FEEDBACK})


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

    Args:
        source: where the provider comes from.
        config: the prompt's settings for it.
        instance: the object; a protocol's members are read once each, nothing else of it runs.

    Raises:
        ProviderInvalid: it is no provider of its kind; the message says what to write.
        ProviderOptionsError: a feedback provider has no trigger.
    """
    who = _title(source)
    if inspect.isclass(instance):
        raise ProviderInvalid(
            f"The {who} is a class: pass an instance, {instance.__name__}(…), or its name."
        )
    hooks = marked_hooks(instance, who)
    own = {name: hooks[name] for name in KIND_HOOKS[source.kind] if name in hooks}
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
        **methods,
    )


def _title(source: Provenance) -> str:
    package = f" of {source.distribution} {source.version}" if source.distribution else ""
    return f"{WORDS[source.kind]} {source.name!r}{package}"


def _read(instance: Any, name: str, who: str) -> Any:
    """Read an attribute or None."""
    try:
        return getattr(instance, name, None)
    except (Exception, SystemExit) as error:
        raise ProviderInvalid(
            f"Reading {name!r} of the {who} failed: {describe_error(error)}"
        ) from error


def _protocol_methods(
    kind: ProviderKind, instance: Any, who: str, *, optional: bool
) -> dict[str, Method]:
    protocol = _PROTOCOLS[kind]
    found = {name: _read(instance, name, who) for name in protocol.members}
    lacking = [name for name in protocol.methods if not callable(found[name])]
    lacking += [name for name in protocol.texts if found[name] is None]
    wrong = [name for name in protocol.texts if name not in lacking and not _is_text(name, found)]
    if wrong and not optional:
        shown = found[wrong[0]]
        raise ProviderInvalid(
            f"{wrong[0]} of the {who} must be text and not empty, not {shown!r:.60}."
        )
    lacking += wrong
    if lacking and optional:
        return {}
    if lacking:
        raise ProviderInvalid(_not_of_kind(kind, instance, who, lacking))
    methods = {name: found[name] for name in protocol.methods}
    for name, method in methods.items():
        if kind is not ProviderKind.COMPLETION:
            check_synchronous(method, name, who)
        check_call(method, name, who, by_keyword=kind in _BY_KEYWORD)
    return methods


def _is_text(name: str, found: Mapping[str, Any]) -> bool:
    value = found[name]
    return isinstance(value, str) and (bool(value.strip()) or name != "name")


def _not_of_kind(kind: ProviderKind, instance: Any, who: str, lacking: list[str]) -> str:
    near = did_you_mean(lacking[0], (name for name in dir(instance) if name not in lacking))
    kind_name, class_name = WORDS[kind], type(instance).__name__
    named = who.removeprefix(f"{kind_name} ")
    if named == repr(class_name):
        subject = f"{class_name} is not a {kind_name}: it"
    else:
        subject = f"{named} is not a {kind_name}: {class_name}"
    return (
        f"{subject} lacks {quoted_list(lacking)}.{near} "
        f"It must have {quoted_list(_PROTOCOLS[kind].members)}, or mark with @hookimpl one of "
        f"{quoted_list(KIND_HOOKS[kind])}.{_other_kind(kind, instance)}"
    )


def _other_kind(kind: ProviderKind, instance: Any) -> str:
    for other, protocol in _PROTOCOLS.items():
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
