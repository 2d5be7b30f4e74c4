"""Results as JSON, whole or in parts that can be merged: a stable interface."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs
import cattrs

from trimtab.inspection import quoted_list
from trimtab.text import sanitize
from trimtab_replay._backtest.scores import RATES, Rate, Scores, score_all
from trimtab_replay._backtest.scoring import Outcome, selection_facts
from trimtab_replay._backtest.verdicts import Judged, Verdict
from trimtab_replay._recording import ReplayError

FORMAT = 1
_KEYS = ("format", "kind", "shards", "providers", "unscored", "runs")
_CONVERTER = cattrs.Converter(detailed_validation=False)


class PartError(ReplayError):
    """Part results can't be merged; the message names the file."""


@attrs.frozen
class Part:
    """Results, as read back or as just made; what tables and gates are made of.

    Args:
        providers: whom the selection asks and how, JSON-like.
        shards: which parts of how many it holds, as pairs.
    """

    kind: str
    providers: Sequence[Mapping[str, Any]]
    judged: tuple[Judged, ...]
    unscored: int
    shards: tuple[tuple[int, int], ...]

    @classmethod
    def of(cls, outcome: Outcome) -> Part:
        """Take over what came of an exam."""
        return cls(
            outcome.kind,
            selection_facts(outcome.selection),
            outcome.judged,
            outcome.unscored,
            (outcome.shard,),
        )

    @property
    def scores(self) -> list[Scores]:
        """The scores, provider by provider."""
        return score_all(self.judged)


def as_document(part: Part) -> dict[str, Any]:
    """Return what ``backtest --json`` prints."""
    return {
        "format": FORMAT,
        "kind": part.kind,
        "shards": [list(shard) for shard in part.shards],
        "providers": list(part.providers),
        "unscored": part.unscored,
        "scores": scores_json(part.scores),
        "runs": [_row_json(row) for row in part.judged],
    }


def scores_json(scores: Iterable[Scores]) -> list[dict[str, Any]]:
    """Return scores as the document holds them."""
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


def _row_json(row: Judged) -> dict[str, Any]:
    return {**attrs.asdict(row), "verdict": row.verdict.value}


def read_part(path: str) -> Part:
    """Read what ``backtest --json`` printed.

    Raises:
        PartError: it is something else, or of another version.
    """
    try:
        data = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise PartError(f"can't read {sanitize(path, 300)}: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise _no_part(path, "it is not one document of JSON") from error
    if not isinstance(data, dict):
        raise _no_part(path, "it is not an object")
    lacking = [key for key in _KEYS if key not in data]
    if lacking:
        raise _no_part(path, f"it lacks {quoted_list(lacking)}")
    if data["format"] != FORMAT:
        raise PartError(
            f"{sanitize(path, 300)} is of format {sanitize(repr(data['format']), 40)}; this "
            f"version reads {FORMAT}"
        )
    try:
        return _CONVERTER.structure({**data, "judged": data["runs"]}, Part)
    except (ValueError, TypeError, LookupError, RecursionError) as error:
        raise _no_part(path, sanitize(str(error), 200)) from error


def _no_part(path: str, why: str) -> PartError:
    return PartError(
        f"{sanitize(path, 300)} is not a result of `trimtab backtest FILE --shard I/N --json`: "
        f"{why}"
    )


def merged(parts: Mapping[str, Part]) -> Part:
    """Put part results together.

    Args:
        parts: by the name of their file.

    Raises:
        PartError: they are of different exams, or a shard is missing or there twice.
    """
    if not parts:
        raise PartError("name the files that hold the results of the shards")
    (first_name, first), *others = parts.items()
    for name, part in others:
        if (part.kind, part.providers) != (first.kind, first.providers):
            raise PartError(f"{name} and {first_name} are not results of the same providers")
    shards = sorted(shard for part in parts.values() for shard in part.shards)
    if shards != [(place, len(shards)) for place in range(len(shards))] or not shards:
        held = ", ".join(f"{place + 1}/{n}" for place, n in shards)
        raise PartError(f"each shard is needed once; these hold {held}")
    rows = sorted(
        (row for part in parts.values() for row in part.judged), key=lambda row: (row.path, row.id)
    )
    unscored = sum(part.unscored for part in parts.values())
    return Part(first.kind, first.providers, tuple(rows), unscored, tuple(shards))
