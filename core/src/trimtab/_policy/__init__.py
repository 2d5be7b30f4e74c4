"""A prompt's settings for each provider."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, get_args

import attrs

from trimtab._events import ProviderKind
from trimtab._types.options import (
    as_mapping,
    bounded,
    instance_of,
    names_known,
    number,
    one_of,
    text,
    whole_number,
    yes_or_no,
)
from trimtab._types.text import nearest, shown


@attrs.frozen
class ProviderRef:
    """A provider asked for by name, with the options for its constructor.

    Args:
        name: entry name, or ``distribution:name`` where two distributions offer it.
        options: keyword arguments for the provider's class or factory.
        optional: a provider that can't be used becomes a `ProviderSkipped` event, not an error.
    """

    name: str = attrs.field(validator=text(needed=True))
    options: Mapping[str, Any] = attrs.field(
        factory=dict, converter=as_mapping, validator=instance_of(Mapping)
    )
    optional: bool = attrs.field(default=False, validator=yes_or_no())


def enable(name: str, /, *, optional: bool = False, **options: Any) -> ProviderRef:
    """Ask for an installed provider by name: ``enable("doom-loop", window_size=5)``.

    Args:
        name: entry name, or ``distribution:name``.
        optional: whether the prompt does without it if it can't be used.
        options: keyword arguments for the provider's class or factory.
    """
    return ProviderRef(name, options, optional)


Mode = Literal["live", "shadow"]


def _path_below(instance: object, attribute: Any, value: Any) -> None:
    text(needed=True, optional=True)(instance, attribute, value)
    if value is not None and ".." in value.replace("\\", "/").split("/"):
        raise ValueError(f"{attribute.name} must stay below the agent's folder, not {shown(value)}")


@names_known()
@attrs.frozen
class FeedbackTrigger:
    """When a feedback provider is asked; any condition suffices, each counted per provider.

    Args:
        every_n_calls: tool calls since its last delivery.
        every_n_seconds: seconds since its last delivery; due at once before the first.
        on_file_created: a path; due once per run, if the path exists and did not when the run
            was opened.
        reset_by: a tool whose use counts as a delivery, so that no one is reminded of what they
            have just done.
        backoff: factor (1 or more) by which the two counts grow after each delivery.
        max_per_run: deliveries per run; None for no limit.

    Raises:
        TypeError, ValueError: a value has the wrong type or is out of bounds.
    """

    every_n_calls: int | None = attrs.field(default=None, validator=whole_number(1, optional=True))
    every_n_seconds: float | None = attrs.field(
        default=None, converter=bounded, validator=number(0, above=True, optional=True)
    )
    on_file_created: str | None = attrs.field(default=None, validator=_path_below)
    reset_by: str | None = attrs.field(default=None, validator=text(optional=True))
    backoff: float = attrs.field(default=1.0, validator=number(1))
    max_per_run: int | None = attrs.field(default=None, validator=whole_number(1, optional=True))

    @property
    def empty(self) -> bool:
        """Whether no condition is set."""
        conditions = (self.every_n_calls, self.every_n_seconds, self.on_file_created)
        return conditions == (None, None, None)


_refuses_options = names_known(
    "setting",
    "An option of the provider stands in enable(…): enable('name', {}=…)",
)


def _as_ref(value: Any) -> Any:
    return ProviderRef(value) if isinstance(value, str) else value


@_refuses_options
@attrs.frozen
class GuidanceProviderConfig:
    """A guidance provider on a prompt, with its limits.

    Args:
        provider: an instance, an entry name, or ``enable(name, **options)``.
        max_per_turn: injections per turn.
        min_confidence: threshold on the classification, 0.0 to 1.0.
        cooldown_turns: turns between two nudges of one episode; from the third nudge on, each
            pause is twice as long as the one before.
        max_per_run: injections per run; one lasting episode gets two thirds of them.
        refuse: whether it may refuse a call on hosts that can only speak so.
        mode: ``"live"``, or ``"shadow"``: decided and recorded, never delivered.
        holdout: share of runs (0.0 to 1.0) in which it stays in shadow, to measure its effect.
        stop_after: nudges about one problem after which the host is asked to end the turn, in
            place of the next nudge; None never asks.

    Raises:
        TypeError, ValueError: a value has the wrong type or is out of bounds.
    """

    provider: Any = attrs.field(converter=_as_ref)
    max_per_turn: int = attrs.field(default=3, validator=whole_number(1))
    min_confidence: float = attrs.field(default=0.5, validator=number(0, 1))
    cooldown_turns: int = attrs.field(default=3, validator=whole_number(0))
    max_per_run: int = attrs.field(default=6, validator=whole_number(1))
    refuse: bool = attrs.field(default=False, validator=yes_or_no())
    mode: Mode = attrs.field(default="live", validator=one_of("live", "shadow"))
    holdout: float = attrs.field(default=0.0, validator=number(0, 1))
    stop_after: int | None = attrs.field(default=None, validator=whole_number(1, optional=True))

    kind = ProviderKind.GUIDANCE


@_refuses_options
@attrs.frozen
class FeedbackProviderConfig:
    """A feedback provider on a prompt, with its trigger.

    Args:
        provider: an instance, an entry name, or ``enable(name, **options)``.
        trigger: when it is asked; the provider's ``default_trigger`` if None.

    Raises:
        TypeError: the trigger has the wrong type.
    """

    provider: Any = attrs.field(converter=_as_ref)
    trigger: FeedbackTrigger | None = attrs.field(
        default=None, validator=instance_of(FeedbackTrigger, optional=True)
    )

    kind = ProviderKind.FEEDBACK


@_refuses_options
@attrs.frozen
class CompletionCheckerConfig:
    """A completion checker on a prompt.

    Args:
        provider: an instance, an entry name, or ``enable(name, **options)``.
        timeout: seconds that it may take.

    Raises:
        TypeError, ValueError: the timeout is no finite number above 0.
    """

    provider: Any = attrs.field(converter=_as_ref)
    timeout: float = attrs.field(default=30.0, converter=bounded, validator=number(0, above=True))

    kind = ProviderKind.COMPLETION


@names_known()
@attrs.frozen
class RecorderConfig:
    """A recorder on a prompt.

    Args:
        provider: an instance, an entry name, or ``enable(name, **options)``.
    """

    provider: Any = attrs.field(converter=_as_ref)

    kind = ProviderKind.RECORDER


ProviderConfig = (
    GuidanceProviderConfig | FeedbackProviderConfig | CompletionCheckerConfig | RecorderConfig
)

CONFIGS: Mapping[ProviderKind, type[ProviderConfig]] = {
    cls.kind: cls for cls in get_args(ProviderConfig)
}
"""The class of settings of each kind."""


def as_config(cls: type[Any], item: Any) -> Any:
    """Return settings as they are, and for an instance, a name or ``enable(…)`` new ones."""
    return item if isinstance(item, cls) else cls(item)


IN_FILES: Mapping[str, type[Any]] = {
    kind.value: FeedbackTrigger if kind is ProviderKind.FEEDBACK else cls
    for kind, cls in CONFIGS.items()
}
"""The class whose fields stand beside ``use`` in a file."""


def setting_hint(group: str, name: str) -> str:
    """Return where a setting belongs that was given as an option; empty if `name` is like none."""
    cls: Any = IN_FILES.get(group)
    meant = cls and nearest(name, [field.name for field in attrs.fields(cls)], 0.9)
    if not meant:
        return ""
    what = (
        "It is a setting: write" if meant == name else f"Did you mean the setting {meant!r}? Write"
    )
    setting = f"{meant}=…"
    if cls is FeedbackTrigger:
        cls, setting = FeedbackProviderConfig, f"FeedbackTrigger({setting})"
    return f" {what} {cls.__name__}(enable(…), {setting}), in a file beside 'use'."
