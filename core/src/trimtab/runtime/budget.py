"""What a run may spend, and what it has spent."""

from __future__ import annotations

from typing import Any

import attrs


@attrs.frozen
class Usage:
    """What was used up, in one response or in all.

    Args:
        input_tokens: tokens read by the model.
        output_tokens: tokens written by the model.
        cost: money, in the currency of the budget.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    cost: float = 0.0

    @property
    def total_tokens(self) -> int:
        return self.input_tokens + self.output_tokens

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cost + other.cost,
        )


def _positive(_: object, attribute: attrs.Attribute[Any], value: float | None) -> None:
    if value is not None and not value > 0:
        raise ValueError(f"{attribute.name} must be above 0 (or None for no limit), not {value}")


@attrs.frozen
class Budget:
    """Limits on a run; None means no limit; exhausted at ≥ (DESIGN 4).

    Args:
        max_total_tokens, max_input_tokens, max_output_tokens: tokens.
        max_cost: money, in the unit that `Usage.cost` uses.
        max_active_seconds: monotonic seconds since the run was opened.
    """

    max_total_tokens: int | None = attrs.field(default=None, validator=_positive)
    max_input_tokens: int | None = attrs.field(default=None, validator=_positive)
    max_output_tokens: int | None = attrs.field(default=None, validator=_positive)
    max_cost: float | None = attrs.field(default=None, validator=_positive)
    max_active_seconds: float | None = attrs.field(default=None, validator=_positive)

    def shares(self, usage: Usage, active_seconds: float) -> dict[str, float]:
        """Return, for each limit that is set, the share used: 0.0 is none, 1.0 is all."""
        used = {
            "max_total_tokens": usage.total_tokens,
            "max_input_tokens": usage.input_tokens,
            "max_output_tokens": usage.output_tokens,
            "max_cost": usage.cost,
            "max_active_seconds": active_seconds,
        }
        limits = attrs.asdict(self)
        return {name: used[name] / limits[name] for name in used if limits[name] is not None}

    def exhausted(self, usage: Usage, active_seconds: float) -> str | None:
        """Return the name of a limit that is used up, or None."""
        shares = self.shares(usage, active_seconds)
        return next((name for name, share in shares.items() if share >= 1), None)
