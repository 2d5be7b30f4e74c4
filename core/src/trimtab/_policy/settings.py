"""A prompt's settings for each provider."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import attrs

from trimtab._events.provenance import ProviderKind, ProviderRef

if TYPE_CHECKING:
    from trimtab._contract.providers import (
        FeedbackProvider,
        GuidanceProvider,
        TaskCompletionChecker,
    )


def _positive(_: object, attribute: attrs.Attribute[Any], value: float | None) -> None:
    if value is not None and not value > 0:
        raise ValueError(f"{attribute.name} must be above 0, not {value}; leave it out instead")


@attrs.frozen
class FeedbackTrigger:
    """When a feedback provider is asked; conditions are OR'd, each counted per provider.

    Args:
        every_n_calls: after so many tool calls since its last delivery.
        every_n_seconds: after so many seconds since its last delivery; at once where there
            was none.
        on_file_created: once per run, when this path exists and did not when the run opened.
        reset_by: a tool whose use counts like a delivery, so that nobody is reminded of what
            they have just done.
        backoff: after each delivery the two counts above grow by this factor (≥ 1).
        max_per_run: deliveries per run; None for no limit.
    """

    every_n_calls: int | None = attrs.field(default=None, validator=_positive)
    every_n_seconds: float | None = attrs.field(default=None, validator=_positive)
    on_file_created: str | None = None
    reset_by: str | None = None
    backoff: float = attrs.field(default=1.0, validator=attrs.validators.ge(1))
    max_per_run: int | None = attrs.field(default=None, validator=_positive)

    @property
    def empty(self) -> bool:
        """Whether no condition is set."""
        conditions = (self.every_n_calls, self.every_n_seconds, self.on_file_created)
        return conditions == (None, None, None)


_fraction = attrs.validators.and_(attrs.validators.ge(0.0), attrs.validators.le(1.0))
_count = attrs.validators.and_(attrs.validators.instance_of(int), attrs.validators.ge(1))


def _as_ref(value: Any) -> Any:
    return ProviderRef(value) if isinstance(value, str) else value


@attrs.frozen
class GuidanceProviderConfig:
    """A guidance provider on a prompt, with its limits (seed 000, DESIGN 3).

    Args:
        provider: an instance, an entry name, or ``enable(name, **options)``.
        max_per_turn: injections per turn.
        min_confidence: threshold on the classification.
        cooldown_turns: turns between two nudges of one episode.
        max_per_run: injections per run.
        refuse: may refuse a call where the host can only speak so.
        mode: ``"live"``, or ``"shadow"``: decided and recorded, never delivered.
        holdout: share of runs (0.0–1.0) in which it stays in shadow, to measure its effect.
    """

    provider: GuidanceProvider | ProviderRef | Any = attrs.field(converter=_as_ref)
    max_per_turn: int = attrs.field(default=3, validator=_count)
    min_confidence: float = attrs.field(default=0.5, validator=_fraction)
    cooldown_turns: int = attrs.field(default=3, validator=attrs.validators.ge(0))
    max_per_run: int = attrs.field(default=6, validator=_count)
    refuse: bool = False
    mode: Literal["live", "shadow"] = attrs.field(
        default="live", validator=attrs.validators.in_(("live", "shadow"))
    )
    holdout: float = attrs.field(default=0.0, validator=_fraction)

    kind = ProviderKind.GUIDANCE


@attrs.frozen
class FeedbackProviderConfig:
    """A feedback provider on a prompt, with its trigger (seed 001).

    Args:
        provider: an instance, an entry name, or ``enable(name, **options)``.
        trigger: when it is asked; the provider's ``default_trigger`` where None.
    """

    provider: FeedbackProvider | ProviderRef | Any = attrs.field(converter=_as_ref)
    trigger: FeedbackTrigger | None = None

    kind = ProviderKind.FEEDBACK


@attrs.frozen
class CompletionCheckerConfig:
    """A completion checker on a prompt.

    Args:
        provider: an instance, an entry name, or ``enable(name, **options)``.
        timeout: seconds it may take.
    """

    provider: TaskCompletionChecker | ProviderRef | Any = attrs.field(converter=_as_ref)
    timeout: float = attrs.field(default=30.0, validator=attrs.validators.gt(0))

    kind = ProviderKind.COMPLETION


ProviderConfig = GuidanceProviderConfig | FeedbackProviderConfig | CompletionCheckerConfig
