"""The provider: reports when a run enters a narrower band of one of its limits."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

import attrs

from trimtab import Feedback, FeedbackContext, FeedbackTrigger, Observation, number
from trimtab.text import CONTROL_CHARACTERS, text_option
from trimtab_deadline_feedback._limits import TIME, Limit, limits_of

NAME = "deadline-feedback"
KEEP_BEST = "Keep the best verified state: save it now, and return to it if a later change fails."
SHORT = (
    "Prioritize completing critical remaining work.",
    "Consider summarizing progress and remaining tasks.",
    KEEP_BEST,
)
LONGEST_TEXT = 200
LONGEST_SUGGESTIONS = 300
"""With the sentences on limits the feedback stays within 500 characters."""
LAST_TURN = "Your next response is the last one: give your answer in it, without tool calls."
MOST_SENTENCES = 2
"""The tightest limits; the others follow when they are tighter."""
CAUTION_SHARE = 0.1
WARNING_SHARE = 0.05
"""Of a limit that is left: at a tenth it is time to finish, at a twentieth to answer."""


Severity = Literal["info", "caution", "warning"]
Bands = Mapping[str, tuple[float, float, int]]
"""By limit: the band that was reported, the total of that limit, and when its count began."""


def _text(default: str) -> str:
    check = text_option(LONGEST_TEXT, left="", total="", unit="")
    text: str = attrs.field(default=default, kw_only=True, validator=check)
    return text


def _bounded(_: object, attribute: attrs.Attribute[Any], value: tuple[str, ...]) -> None:
    if any(map(CONTROL_CHARACTERS.search, value)) or sum(map(len, value)) > LONGEST_SUGGESTIONS:
        raise ValueError(
            f"{attribute.name} must be texts without control characters, together of at most"
            f" {LONGEST_SUGGESTIONS} characters"
        )


def _as_texts(value: Iterable[str]) -> tuple[str, ...]:
    return tuple(value)


def _advice(default: tuple[str, ...]) -> tuple[str, ...]:
    texts: tuple[str, ...] = attrs.field(
        default=default, kw_only=True, converter=_as_texts, validator=_bounded
    )
    return texts


def _descending(value: Iterable[float]) -> tuple[float, ...]:
    return tuple(sorted(value, reverse=True))


@attrs.frozen
class DeadlineFeedback:
    """Reports how much time is left, how many turns, and how much of a budget.

    It speaks once on entering a band: 50, 25, 10 and 5 % left, the warning threshold, nothing
    left. A band that is skipped is not reported later. All time is monotonic, so neither a
    stepped clock nor a suspended machine changes it.

    Args:
        warning_threshold_seconds: with so many seconds left or less it warns.
        thresholds: seconds left, in place of the time's bands.
        steady: report each time it is asked, not only on entering a band.
        remaining: what it says of the time, with ``{left}`` and ``{total}``.
        reached: the same with no time left.
        budget_remaining: what it says of turns, calls, tokens and cost, with ``{left}``,
            ``{total}``, ``{unit}``.
        budget_reached: the same with nothing left.
        suggestions: what to do when little is left.
        final_suggestions: what to do when nothing is left.
        last_suggestions: what to do when one turn is left.

    Raises:
        ValueError: an option is out of its bounds.
    """

    warning_threshold_seconds: float = attrs.field(default=120.0, validator=number(0))
    thresholds: tuple[float, ...] = attrs.field(
        default=(),
        kw_only=True,
        converter=_descending,
        validator=attrs.validators.deep_iterable(number(0, above=True)),
    )
    steady: bool = attrs.field(default=False, kw_only=True)
    remaining: str = _text("You have {left} remaining.")
    reached: str = _text("You have reached the time deadline.")
    budget_remaining: str = _text("You have {left} of {total} {unit} left.")
    budget_reached: str = _text("You have used up the budget of {total} {unit}.")
    suggestions: tuple[str, ...] = _advice(SHORT)
    final_suggestions: tuple[str, ...] = _advice(("Wrap up immediately.", KEEP_BEST))
    last_suggestions: tuple[str, ...] = _advice((LAST_TURN,))

    name = NAME
    limits_only = True

    @property
    def default_trigger(self) -> FeedbackTrigger:
        """After each call, since bands of turns are entered within seconds; steady: in 30 s."""
        return FeedbackTrigger(every_n_calls=None if self.steady else 1, every_n_seconds=30)

    def should_run(self, *, context: FeedbackContext) -> bool:
        """Return whether the run has a limit at all."""
        limits = (context.deadline, context.budget, context.host.max_turns)
        return any(limit is not None for limit in limits)

    def provide(self, *, context: FeedbackContext) -> Feedback | None:
        """Report, or return None if no narrower band was entered since the last report."""
        limits = limits_of(context)
        before = _bands(context.last_feedback_for_provider(self.name))
        news = [limit for limit in limits if self.steady or self._entered(limit, before)]
        if not news:
            return None
        return Feedback(
            summary=" ".join(self._sentence(limit) for limit in _tightest(news)),
            observations=tuple(self._observation(limit) for limit in limits),
            suggestions=self._advice(news),
            severity=self._severity(news),
        )

    def _band(self, limit: Limit) -> float | None:
        if limit.name != TIME:
            return limit.band(limit.shares)
        return limit.band(self.thresholds or self._time_bands(limit))

    def _time_bands(self, limit: Limit) -> tuple[float, ...]:
        """Return the bands of time: below the warning only one of half of it or less, since two
        reports within a minute are one too many.
        """
        warning = self.warning_threshold_seconds
        kept = (band for band in limit.shares if band > warning or 2 * band <= warning)
        return (*kept, warning)

    def _entered(self, limit: Limit, before: Bands) -> bool:
        band = self._band(limit)
        known, *same = before.get(limit.name, (None, None, None))
        if band is None or known is None or same != [limit.total, limit.began]:
            return band is not None
        return band < known

    def _sentence(self, limit: Limit) -> str:
        if limit.name == TIME:
            text = self.reached if limit.reached else self.remaining
        else:
            text = self.budget_reached if limit.reached else self.budget_remaining
        left, total = limit.amount(limit.left), limit.amount(limit.total)
        return text.format(left=left, total=total, unit=limit.name)

    def _observation(self, limit: Limit) -> Observation:
        used, total = limit.amount(limit.total - limit.left), limit.amount(limit.total)
        if used == total and not limit.reached:  # in words of that size nothing would be left
            used = f"all but {limit.amount(limit.left)}"
        band = self._band(limit)
        evidence = None if band is None else f"{band!r} of {limit.total!r} from {limit.began}"
        return Observation(limit.name, f"{used} of {total} used", evidence)

    def _advice(self, news: Iterable[Limit]) -> tuple[str, ...]:
        if any(limit.reached for limit in news):
            return self.final_suggestions
        if any(limit.last_turn for limit in news):
            return self.last_suggestions
        severity = self._severity(news)
        return {"info": (), "caution": (KEEP_BEST,), "warning": self.suggestions}[severity]

    def _severity(self, news: Iterable[Limit]) -> Severity:
        if any(self._short(limit) for limit in news):
            return "warning"
        if self.steady:
            return "info"
        return "caution" if any(limit.share <= CAUTION_SHARE for limit in news) else "info"

    def _short(self, limit: Limit) -> bool:
        if limit.name == TIME:
            return limit.left <= self.warning_threshold_seconds
        return limit.last_turn or limit.share <= WARNING_SHARE


def _tightest(news: Sequence[Limit]) -> list[Limit]:
    """Return what the summary speaks of; the observations tell of all limits."""
    kept = sorted(news, key=lambda limit: limit.share)[:MOST_SENTENCES]
    return [limit for limit in news if limit in kept]


def _bands(last: Feedback | None) -> Bands:
    """Return what the last report said, from its own record, so that a restored run knows it."""
    said = {} if last is None else {o.category: o.evidence for o in last.observations}
    return {name: _parsed(evidence) for name, evidence in said.items() if evidence}


def _parsed(evidence: str) -> tuple[float, float, int]:
    band, _, rest = evidence.partition(" of ")
    total, _, began = rest.partition(" from ")
    return float(band), float(total), int(began)
