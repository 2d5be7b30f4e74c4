"""``--fail-under``: scores as a gate for continuous integration."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import attrs

from trimtab.inspection import did_you_mean, quoted_list
from trimtab_replay._backtest.scores import RATES, Scores
from trimtab_replay._recording import ReplayError


class GateError(ReplayError):
    """A gate names a rate or a provider that there is not."""


@attrs.frozen
class Gate:
    """A rate that must not be below a limit.

    Args:
        rate: one of `RATES`.
        limit: 0.0–1.0.
        about: of which provider; of all taken together where empty.
    """

    rate: str
    limit: float = attrs.field(validator=[attrs.validators.ge(0.0), attrs.validators.le(1.0)])
    about: str = ""

    @classmethod
    def parse(cls, text: str) -> Gate:
        """Read ``RATE=LIMIT`` or ``PROVIDER.RATE=LIMIT``.

        Raises:
            GateError: it has another form.
        """
        target, _, limit = text.partition("=")
        about, _, rate = target.strip().rpartition(".")
        if rate not in RATES:
            raise GateError(
                f"no rate {rate!r}.{did_you_mean(rate, RATES)} Rates: {quoted_list(RATES)}."
            )
        try:
            return cls(rate, float(limit), about)
        except ValueError as error:
            raise GateError(f"{text!r} is not of the form {rate}=0.9, from 0 to 1") from error

    def check(self, scores: Sequence[Scores]) -> str:
        """Return what is wrong, empty if the gate is passed.

        Raises:
            GateError: the provider has no scores.
        """
        found = self._scores(scores)
        rate = getattr(found, self.rate)
        if rate is None:
            return f"{self.rate} of {found.about} is unknown: no runs to tell it from"
        if rate.value >= self.limit:
            return ""
        return f"{self.rate} of {found.about} is {rate.value:.3f}, below {self.limit:g}"

    def _scores(self, scores: Sequence[Scores]) -> Scores:
        named = {one.about: one for one in scores}
        if not scores:
            raise GateError("nothing was scored, so there is nothing to hold against a limit")
        if self.about and self.about not in named:
            raise GateError(f"no scores of {self.about!r}. Scored: {quoted_list(named)}.")
        return named[self.about] if self.about else scores[-1]


def failures(gates: Iterable[Gate], scores: Sequence[Scores]) -> list[str]:
    """Return what is wrong, gate by gate."""
    return [wrong for gate in gates if (wrong := gate.check(scores))]
