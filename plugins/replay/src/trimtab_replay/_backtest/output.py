"""Scores as tables on a terminal, and as JSON that can be merged: a stable interface."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs
import cattrs

from trimtab.inspection import quoted_list
from trimtab.text import plural, sanitize
from trimtab_replay._backtest import RATES, Judged, Rate, Scores, Verdict
from trimtab_replay._backtest.scoring import Part
from trimtab_replay._recording import ReplayError
from trimtab_replay._timeline import Screen, fit

FORMAT = 1
_KEYS = ("format", "kind", "shards", "providers", "unscored", "runs")
_CONVERTER = cattrs.Converter(detailed_validation=False)


def as_document(part: Part) -> dict[str, Any]:
    """Return what ``backtest --json`` prints."""
    return {
        "format": FORMAT,
        "kind": part.kind,
        "shards": [list(shard) for shard in part.shards],
        "providers": list(part.providers),
        "unscored": part.unscored,
        "scores": scores_json(part.scores),
        "runs": [{**attrs.asdict(row), "verdict": row.verdict.value} for row in part.judged],
    }


def scores_json(scores: Iterable[Scores]) -> list[dict[str, Any]]:
    return [
        {
            "about": one.about,
            "runs": one.runs,
            **{verdict.name.lower(): one.counts[verdict] for verdict in Verdict},
            **{name: _rate_json(getattr(one, name)) for name in RATES},
            "delay": one.delay,
        }
        for one in scores
    ]


def _rate_json(rate: Rate | None) -> dict[str, float] | None:
    return None if rate is None else {k: round(v, 4) for k, v in attrs.asdict(rate).items()}


def read_part(path: str) -> Part:
    """Read what ``backtest --json`` printed."""
    try:
        data = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise ReplayError(f"can't read {sanitize(path, 300)}: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise _no_part(path, "it is not one document of JSON") from error
    if not isinstance(data, dict):
        raise _no_part(path, "it is not an object")
    lacking = [key for key in _KEYS if key not in data]
    if lacking:
        raise _no_part(path, f"it lacks {quoted_list(lacking)}")
    if data["format"] != FORMAT:
        raise ReplayError(
            f"{sanitize(path, 300)} is of format {sanitize(repr(data['format']), 40)}; this "
            f"version reads {FORMAT}"
        )
    try:
        return _CONVERTER.structure({**data, "judged": data["runs"]}, Part)
    except (ValueError, TypeError, LookupError, RecursionError) as error:
        raise _no_part(path, sanitize(str(error), 200)) from error


def _no_part(path: str, why: str) -> ReplayError:
    return ReplayError(
        f"{sanitize(path, 300)} is not a result of `trimtab backtest FILE --shard I/N --json`: "
        f"{why}"
    )


def merged(parts: Mapping[str, Part]) -> Part:
    """Put part results together."""
    if not parts:
        raise ReplayError("name the files that hold the results of the shards")
    (first_name, first), *others = parts.items()
    for name, part in others:
        if (part.kind, part.providers) != (first.kind, first.providers):
            raise ReplayError(f"{name} and {first_name} are not results of the same providers")
    shards = sorted(shard for part in parts.values() for shard in part.shards)
    if shards != [(place, len(shards)) for place in range(len(shards))] or not shards:
        held = ", ".join(f"{place + 1}/{n}" for place, n in shards)
        raise ReplayError(f"each shard is needed once; these hold {held}")
    rows = sorted(
        (row for part in parts.values() for row in part.judged), key=lambda row: (row.path, row.id)
    )
    unscored = sum(part.unscored for part in parts.values())
    return Part(first.kind, first.providers, tuple(rows), unscored, tuple(shards))


_BAR = 20
_HEAD = (
    *("hit", "late", "early", "missed", "quiet", "false alarm"),
    *("precision", "recall", "balanced accuracy", "delay"),
)


def show_part(part: Part, screen: Screen) -> None:
    """Write the table of scores, and every run that is not right with the reason."""
    show_scores(part.scores, screen)
    if part.unscored:
        screen.say(f"{part.unscored} more are about no selected provider, and not scored")
    wrong = [row for row in part.judged if not row.verdict.right]
    if wrong:
        screen.say()
    for row in wrong:
        _failure(row, screen)


def show_scores(scores: Iterable[Scores], screen: Screen) -> None:
    screen.table((("about", *_HEAD), *(tuple(_score_row(one)) for one in scores)))


def _score_row(one: Scores) -> Iterator[str]:
    yield sanitize(one.about, 60)
    yield from (str(one.counts[verdict]) for verdict in Verdict)
    yield from map(told, (one.precision, one.recall, one.balanced_accuracy))
    yield "–" if one.delay is None else f"{one.delay:+g}"


def told(rate: Rate | None) -> str:
    """Return a rate as text, with its interval."""
    return "–" if rate is None else f"{rate.value:.2f} ({rate.low:.2f}–{rate.high:.2f})"


def _failure(row: Judged, screen: Screen) -> None:
    head = f"{row.verdict.value:<11}  {sanitize(row.about, 40)}  "
    line = f"{sanitize(row.id, 80)}: {sanitize(row.reason, 300)}"
    screen.say(screen.paint(head, "red") + fit(line, max(40, 3 * screen.width)))


def show_comparison(parts: Sequence[tuple[str, Part]], screen: Screen) -> None:
    """Write the scores of two configurations, and run by run what changed."""
    for name, part in parts:
        screen.say(screen.paint(sanitize(name), "bold"))
        show_scores(part.scores, screen)
        screen.say()
    changed = list(changes(parts[0][1], parts[1][1]))
    (_, one), (_, other) = parts
    if alone := len({_key(row) for row in one.judged} ^ {_key(row) for row in other.judged}):
        screen.say(f"only one of the two scored {plural(alone, 'run')}")
    screen.say(f"{plural(len(changed), 'run')} changed{':' if changed else ''}")
    for before, after in changed:
        better = after.verdict.right and not before.verdict.right
        worse = before.verdict.right and not after.verdict.right
        sign = "+" if better else "-" if worse else " "
        colour = ("green",) if better else ("red",) if worse else ()
        line = (
            f"{sign} {before.verdict.value} → {after.verdict.value}  "
            f"{sanitize(after.about, 40)}  {sanitize(after.id, 80)}  {sanitize(after.reason, 200)}"
        )
        screen.say(screen.paint(line.rstrip(), *colour))


def changes(before: Part, after: Part) -> Iterator[tuple[Judged, Judged]]:
    """Yield the runs that came out otherwise, or whose first nudge moved."""
    known = {_key(row): row for row in before.judged}
    for row in after.judged:
        old = known.get(_key(row))
        if old is not None and (old.verdict, old.first) != (row.verdict, row.first):
            yield old, row


def _key(row: Judged) -> tuple[str, str, str]:
    return row.path, row.id, row.about


def show_sweep(name: str, tried: Sequence[tuple[Any, Part]], screen: Screen) -> None:
    """Write one line per value, with bars for what is gained and what is lost."""
    rows = [(name, "hits", "false alarms", "precision", "recall", "balanced accuracy", "trade-off")]
    for value, part in tried:
        one = part.scores[-1] if part.scores else None
        if one is not None:
            rows.append((sanitize(str(value), 30), *_sweep_row(one)))
    screen.table(rows)
    screen.say("trade-off: = share of loops caught in time, - share of honest runs left in peace")


def _sweep_row(one: Scores) -> tuple[str, str, str, str, str, str]:
    rates = (one.precision, one.recall, one.balanced_accuracy)
    precision, recall, accuracy = map(told, rates)
    return (
        str(one.counts[Verdict.HIT]),
        str(one.counts[Verdict.FALSE_ALARM]),
        precision,
        recall,
        accuracy,
        f"{_bar(one.recall, '=')} {_bar(one.specificity, '-')}",
    )


def _bar(rate: Rate | None, mark: str) -> str:
    filled = round(_BAR * rate.value) if rate else 0
    return f"|{mark * filled:<{_BAR}}|"
