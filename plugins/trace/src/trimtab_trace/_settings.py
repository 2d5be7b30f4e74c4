"""What a run was opened with, and where its second writer began: first events of a trace."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from itertools import islice, takewhile
from typing import Any, Literal

import attrs

from trimtab import (
    Budget,
    CompletionCheckerConfig,
    Configuration,
    DecisionPoint,
    Delivery,
    Feedback,
    FeedbackProviderConfig,
    FeedbackTrigger,
    GuidanceDelivered,
    GuidanceProviderConfig,
    Host,
    Prompt,
    ProviderRef,
    RecorderContext,
    ToolInvoked,
    ToolProfile,
    find_configuration,
    load_configuration,
)
from trimtab.events import (
    CompactionHappened,
    CompletionChecked,
    GuidanceSuppressed,
    ModelResponded,
    RunClosed,
    RunOpened,
    ToolStarted,
    UserMessage,
    decode_value,
    encode_value,
)
from trimtab_trace._envelope import TraceError, TraceEvent, zoned_time
from trimtab_trace._store import Trace

_RESUMING_KINDS: tuple[type[Any], ...] = (
    RunOpened,
    UserMessage,
    ModelResponded,
    ToolStarted,
    ToolInvoked,
    GuidanceDelivered,
    GuidanceSuppressed,
    Feedback,
    CompletionChecked,
    CompactionHappened,
    RunClosed,
)
_SEARCHED = 1_000
"""Records of each kind among which the newest of a run is looked for."""


def known_until(context: RecorderContext) -> str | None:
    """Return the time of the newest record that a resumed run has; None for a new run."""
    if not context.tool_call_count and not context.turn_count:
        return None
    times = (_newest(context, kind) for kind in _RESUMING_KINDS)
    return max((at for at in times if at is not None), default=None, key=datetime.fromisoformat)


def _newest(context: RecorderContext, kind: type[Any]) -> str | None:
    records = islice(context.session[kind].newest(), _SEARCHED)
    found = next((item for item in records if item.run_id == context.run_id), None)
    return None if found is None or found.at is None else found.at.isoformat()


def in_force(events: Iterable[TraceEvent], until: int | None = None) -> Iterable[TraceEvent]:
    """Return the events of a trace without those that a resumed run did not know.

    A run that crashed and was resumed from an older snapshot repeats what followed it; the first
    writer's events after the snapshot stay in the trace, and are no part of the run any more.
    """
    if isinstance(events, Trace) and not events.reopened:
        return events if until is None else _until(events, until)
    if isinstance(events, Iterator):
        events = list(events)
    counted = events if until is None else _until(events, until)
    began = [found for event in counted if (found := _beginning(event)) is not None]
    kept = events if until is None else _until(events, until)
    if not began:
        return kept
    return (
        event
        for event in kept
        if not any(
            event.seq < seq and event.timestamp > known and event.run_id in ("", run_id)
            for seq, run_id, known in began
        )
    )


def _until(events: Iterable[TraceEvent], until: int) -> Iterator[TraceEvent]:
    return takewhile(lambda event: event.seq <= until, events)


def _beginning(event: TraceEvent) -> tuple[int, str, datetime] | None:
    if event.event_type != "RunConfigured":
        return None
    at = zoned_time(event.payload.get("known_until"))
    return None if at is None else (event.seq, event.run_id, at)


_KINDS: Mapping[str, type[Any]] = {
    "guidance": GuidanceProviderConfig,
    "feedback": FeedbackProviderConfig,
    "completion": CompletionCheckerConfig,
}


@attrs.frozen
class RunConfigured:
    """What a run was opened with.

    Args:
        prompt: the prompt's name.
        host: the runtime: name, delivery by decision point, tools, parallel calls, most turns.
        tool_profiles: how tools behave, the prompt's before the host's.
        providers: the settings of each provider, by kind and in the prompt's order.
        guidance_limit, feedback_delivery: of the prompt.
        budget: limits; None if the run has none.
        keep: tool results that the session keeps whole; None for all.
        known_until: time of the newest record that a resumed run had; what the trace holds of it
            after that is no part of it any more. None for a new run.
    """

    prompt: str
    host: Mapping[str, Any]
    tool_profiles: tuple[Mapping[str, Any], ...] = ()
    providers: Mapping[str, Any] = attrs.field(factory=dict)
    guidance_limit: int = 3
    feedback_delivery: Literal["first", "all"] = "first"
    budget: Mapping[str, Any] | None = None
    keep: int | None = None
    known_until: str | None = None


def settings_of(context: RecorderContext) -> RunConfigured:
    host, budget = context.host, context.budget
    return RunConfigured(
        prompt=context.prompt.name,
        host={
            "name": host.name,
            "delivery": {point.value: how.value for point, how in host.delivery.items()},
            "tools": None if context.tools is None else sorted(context.tools),
            "parallel_calls": host.parallel_calls,
            "max_turns": host.max_turns,
            "stops": host.stops,
            "tool_descriptions": dict(context.tool_descriptions),
        },
        tool_profiles=tuple(map(_saved, context.tool_profiles)),
        providers=_providers(context.providers),
        guidance_limit=context.guidance_limit,
        feedback_delivery=context.feedback_delivery,
        budget=None if budget is None else attrs.asdict(budget),
        keep=context.keep,
        known_until=known_until(context),
    )


def _providers(configs: Iterable[Any]) -> dict[str, list[dict[str, Any]]]:
    return {
        kind: [_setting(one) for one in configs if type(one) is cls] for kind, cls in _KINDS.items()
    }


def _setting(config: Any) -> dict[str, Any]:
    provider = config.provider
    saved: dict[str, Any] = attrs.asdict(
        config, filter=lambda field, _: field.name != "provider", recurse=True
    )
    if isinstance(provider, ProviderRef):
        return {**saved, "use": provider.name, "options": encode_value(dict(provider.options))}
    name = getattr(provider, "name", None)
    return {**saved, "object": name if isinstance(name, str) else type(provider).__qualname__}


def prompt_of(settings: RunConfigured) -> Prompt[Any]:
    """Return a prompt with fresh providers, as the trace names them.

    Raises:
        TraceError: a provider was given as an object, which a trace can't hold.
        ProviderError: a provider is not installed, or refuses its options.
    """
    path = find_configuration()
    allowed = load_configuration(path).allow if path else None
    return named_prompt(
        settings.prompt,
        Configuration(allow=allowed),  # it says nothing but which distributions may be loaded
        guidance_providers=_configs(settings, "guidance"),
        feedback_providers=_configs(settings, "feedback"),
        completion_checkers=_configs(settings, "completion"),
        guidance_limit=settings.guidance_limit,
        feedback_delivery=settings.feedback_delivery,
    )


def named_prompt(name: str, config: Configuration | None, **settings: Any) -> Prompt[Any]:
    """Return a prompt whose namespace and key follow from its name."""
    ns, _, key = name.partition("/")
    return Prompt(ns or "run", key or "main", name=name or "run/main", config=config, **settings)


def bare_prompt(name: str, _settings: RunConfigured | None = None) -> Prompt[Any]:
    return named_prompt(name, None)


def _configs(settings: RunConfigured, kind: str) -> list[Any]:
    return [_config(settings.prompt, _KINDS[kind], saved) for saved in settings.providers[kind]]


def _config(prompt: str, cls: type[Any], saved: Mapping[str, Any]) -> Any:
    fields = dict(saved)
    if "object" in fields:
        raise TraceError(
            f"provider {fields['object']!r} of prompt {prompt!r} was given as an object, which a"
            " trace does not hold; pass the prompt to replay(trace, prompts={name: prompt})"
        )
    reference = ProviderRef(fields.pop("use"), decode_value(fields.pop("options")))
    if fields.get("trigger") is not None:
        fields["trigger"] = FeedbackTrigger(**fields["trigger"])
    return cls(reference, **fields)


def host_of(settings: RunConfigured) -> Host:
    saved = settings.host
    return Host(
        name=saved["name"],
        delivery={DecisionPoint(p): Delivery(how) for p, how in saved["delivery"].items()},
        tools=None if saved["tools"] is None else frozenset(saved["tools"]),
        parallel_calls=saved["parallel_calls"],
        tool_descriptions=saved.get("tool_descriptions", {}),
        max_turns=saved.get("max_turns"),
        stops=saved.get("stops", False),
        tool_profiles=tuple(map(_profile, settings.tool_profiles)),
    )


def budget_of(settings: RunConfigured) -> Budget | None:
    return None if settings.budget is None else Budget(**settings.budget)


def _saved(profile: ToolProfile) -> dict[str, Any]:
    """Return the fields of a profile that are set."""
    default, saved = ToolProfile(names=()), {}
    for field in attrs.fields(ToolProfile):
        value = getattr(profile, field.name)
        if field.name == "names" or value != getattr(default, field.name):
            saved[field.name] = _plain(value)
    return saved


def _plain(value: Any) -> Any:
    if isinstance(value, re.Pattern):
        return {"pattern": value.pattern, "flags": value.flags}
    return sorted(value) if isinstance(value, frozenset) else encode_value(value)


def _profile(saved: Mapping[str, Any]) -> ToolProfile:
    fields = dict(saved)
    for name in ("result_noise", "error_pattern"):
        if name in fields:
            fields[name] = re.compile(fields[name]["pattern"], fields[name]["flags"])
    if "polling_params" in fields:
        fields["polling_params"] = decode_value(fields["polling_params"])
    return ToolProfile(**fields)
