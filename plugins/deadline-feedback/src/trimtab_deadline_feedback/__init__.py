"""Feedback for LLM agents: how much time, and how much of the budget, is left."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import attrs

from trimtab import Feedback, FeedbackContext, FeedbackTrigger, Observation, number
from trimtab.text import CONTROL_CHARACTERS, text_option

if TYPE_CHECKING:
    from trimtab import Budget

__all__ = ["DeadlineFeedback"]


def duration(seconds: float) -> str:
    """Return a duration as an agent reads it.

    Args:
        seconds: below 0 counts as 0.
    """
    seconds = max(0.0, seconds)
    if seconds < 120:
        return _counted(int(seconds), "second")
    if seconds < 3600:
        return _counted(int(seconds / 60), "minute")
    hours = f"{seconds / 3600:.1f}".removesuffix(".0")
    return "1 hour" if hours == "1" else f"{hours} hours"


def amount(value: float) -> str:
    """Return a number of tokens or units of cost; below 0 counts as 0."""
    value = max(0.0, value)
    return f"{int(value):,}" if value == int(value) else f"{value:,.2f}"


def _counted(count: int, unit: str) -> str:
    return f"{count} {unit}" if count == 1 else f"{count} {unit}s"


TIME = "time"
TURNS = "turns"
SHARES = (0.5, 0.25, 0.1, 0.05)
"""Bands of every limit, as the share that is left."""


@attrs.frozen
class Limit:
    """One limit of a run.

    Attributes:
        name: `TIME`, or the unit.
        left, total: amounts, seconds for `TIME`.
        began: turns when its count began; a host counts the turns of each request of the user.
    """

    name: str
    left: float
    total: float
    began: int = 0

    @property
    def share(self) -> float:
        """The share that is left: 1.0 is all, 0.0 and less is none."""
        return self.left / self.total if self.total > 0 else 0.0

    @property
    def reached(self) -> bool:
        """Whether nothing is left."""
        return self.left <= 0

    @property
    def last_turn(self) -> bool:
        """Whether one response is left."""
        return self.name == TURNS and self.left == 1

    def amount(self, value: float) -> str:
        """Return `value`, in the limit's unit, in words."""
        return duration(value) if self.name == TIME else amount(value)

    @property
    def shares(self) -> tuple[float, ...]:
        """The bands that every limit has, as amounts left."""
        return tuple(share * self.total for share in SHARES)

    def band(self, thresholds: Iterable[float]) -> float | None:
        """Return the tightest threshold that is passed, None if none is.

        Args:
            thresholds: amounts left, in the limit's unit. Nothing left is a band of its own, 0.
        """
        passed = [threshold for threshold in thresholds if self.left <= threshold]
        return 0.0 if self.reached else min(passed, default=None)


def limits_of(context: FeedbackContext) -> tuple[Limit, ...]:
    """Return the limits of a run; of two about time, or about turns, only the nearer."""
    times = sorted(_times(context), key=lambda limit: limit.left)
    turns = sorted(_turns(context), key=lambda limit: limit.left)
    return (*times[:1], *turns[:1], *_amounts(context))


def _times(context: FeedbackContext) -> Iterator[Limit]:
    deadline, budget = context.deadline, context.budget
    if deadline is not None:
        yield Limit(TIME, deadline.remaining().total_seconds(), deadline.total)
    if budget is not None and budget.max_active_seconds is not None:
        total = budget.max_active_seconds
        yield Limit(TIME, total - context.active_seconds, total)


def _turns(context: FeedbackContext) -> Iterator[Limit]:
    budget, most = context.budget, context.host.max_turns
    if most is not None:
        made = context.turns_of_request
        yield Limit(TURNS, most - made, most, context.turn_count - made)
    if budget is not None and budget.max_turns is not None:
        yield Limit(TURNS, budget.max_turns - context.turn_count, budget.max_turns)


def _amounts(context: FeedbackContext) -> Iterator[Limit]:
    budget: Budget | None = context.budget
    if budget is None:
        return
    usage = context.usage
    for name, total, used in (
        ("tokens", budget.max_total_tokens, usage.total_tokens),
        ("input tokens", budget.max_input_tokens, usage.input_tokens),
        ("output tokens", budget.max_output_tokens, usage.output_tokens),
        ("units of cost", budget.max_cost, usage.cost),
        ("calls", budget.max_calls, context.tool_call_count),
    ):
        if total is not None:
            yield Limit(name, total - used, total)


NAME = "deadline-feedback"
KEEP_BEST = "Keep the best verified state: save it now, and return to it if a later change fails."
SHORT = (
    "Prioritize completing critical remaining work.",
    "Consider summarizing progress and remaining tasks.",
    KEEP_BEST,
)
GO_ON = "Go on as before."
"""With much left: a model that only reads how much is left takes it for an order to end."""
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
        if severity == "info" and not self.steady:
            return (GO_ON,)
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
