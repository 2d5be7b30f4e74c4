"""How a prompt sets up one provider: an instance, a name, or a table, all alike."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import attrs

from trimtab.plugins.source import Kind, ProviderRef

if TYPE_CHECKING:
    from trimtab.completion.types import TaskCompletionChecker
    from trimtab.feedback.types import FeedbackProvider, FeedbackTrigger
    from trimtab.guidance.types import GuidanceProvider

_share = attrs.validators.and_(attrs.validators.ge(0.0), attrs.validators.le(1.0))
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
    min_confidence: float = attrs.field(default=0.5, validator=_share)
    cooldown_turns: int = attrs.field(default=3, validator=attrs.validators.ge(0))
    max_per_run: int = attrs.field(default=6, validator=_count)
    refuse: bool = False
    mode: Literal["live", "shadow"] = attrs.field(
        default="live", validator=attrs.validators.in_(("live", "shadow"))
    )
    holdout: float = attrs.field(default=0.0, validator=_share)

    kind = Kind.GUIDANCE


@attrs.frozen
class FeedbackProviderConfig:
    """A feedback provider on a prompt, with its trigger (seed 001).

    Args:
        provider: an instance, an entry name, or ``enable(name, **options)``.
        trigger: when it is asked; the provider's ``default_trigger`` where None.
    """

    provider: FeedbackProvider | ProviderRef | Any = attrs.field(converter=_as_ref)
    trigger: FeedbackTrigger | None = None

    kind = Kind.FEEDBACK


@attrs.frozen
class CompletionCheckerConfig:
    """A completion checker on a prompt.

    Args:
        provider: an instance, an entry name, or ``enable(name, **options)``.
        timeout: seconds it may take.
    """

    provider: TaskCompletionChecker | ProviderRef | Any = attrs.field(converter=_as_ref)
    timeout: float = attrs.field(default=30.0, validator=attrs.validators.gt(0))

    kind = Kind.COMPLETION


ProviderConfig = GuidanceProviderConfig | FeedbackProviderConfig | CompletionCheckerConfig
