"""``trimtab effect``."""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

from trimtab.inspection import say
from trimtab.text import plural, sanitize
from trimtab_replay._command_line import complain, count, report_skipped
from trimtab_replay._effect.measures import TURNS, Comparing, Comparison
from trimtab_replay._effect.records import Records
from trimtab_replay._effect.verdicts import Difference, Effect, effects, sentence
from trimtab_replay._local_sessions import own_journals
from trimtab_replay._terminal import Progress, Screen, wrap

FORMAT = 1


def register(parser: argparse.ArgumentParser) -> None:
    """Compare nudged with held-out runs of your own record: do the nudges help?"""
    parser.description = (
        "Compare runs in which a provider's text reached the agent with runs in which it was held "
        "out (holdout or shadow mode): sessions, journals and traces that trimtab recorded."
    )
    parser.add_argument("paths", metavar="PATH", nargs="*", help="a recorded session, or a folder")
    parser.add_argument(
        "--turns",
        metavar="N",
        type=count,
        default=TURNS,
        help="turns after a nudge in which an effect counts",
    )
    parser.add_argument("--json", action="store_true", help="write JSON")
    parser.set_defaults(run=run_effect)


def run_effect(options: argparse.Namespace) -> int:
    """Compare what the arguments name; 1 if something was not read."""
    if not options.paths:
        options.paths = [str(own_journals())]
    records = Records()
    progress = Progress()
    comparing = Comparing(options.turns)
    for run in records.runs(options.paths):
        comparing.add(run)
        progress.items(comparing.runs, "runs")
    found, seen = effects(comparing.comparisons()), comparing.runs
    progress.clear()
    if options.json:
        say(json.dumps(as_document(found, comparing), indent=1))
    else:
        _show(found, comparing)
    if not found:
        complain(f"no provider spoke, or would have spoken, in {_runs(seen)}")
    return report_skipped(records.skipped, records.other_files)


def _runs(count: int) -> str:
    return plural(count, "recorded run")


def _show(found: list[Effect], comparing: Comparing) -> None:
    screen, turns, copies = Screen.of(sys.stdout), comparing.turns, comparing.copies
    screen.say(screen.paint(_runs(comparing.runs), "bold"))
    if copies:
        screen.say(f"{plural(copies, 'further record')} of the same runs not counted")
    for effect in found:
        screen.say()
        for line in wrap(sanitize(sentence(effect, turns), 1_000), screen.width):
            screen.say(line)
        if effect.comparison.nudged and effect.comparison.held_out:
            screen.say()
            screen.table(tuple(_rows(effect)))
    if found:
        screen.say()
        confidence = found[0].differences[0].confidence
        screen.say(
            f"Intervals: {confidence:.1%} each, 95% for all verdicts together, however often"
        )
        screen.say("you look. Runs of one task count as alike. Only a holdout chooses runs at")
        screen.say("random; other differences may have other causes.")


def _rows(effect: Effect) -> Any:
    yield "", "nudged", "held out", "difference", "interval"
    for each in effect.differences:
        low, high = each.interval
        is_known = bool(each.nudged.of and each.held_out.of)
        yield (
            each.measure.words,
            str(each.nudged),
            str(each.held_out),
            f"{100 * each.value:+.0f}" if is_known else "–",
            f"{100 * low:+.0f} to {100 * high:+.0f}" if is_known else "–",
        )
    nudged, held_out = effect.comparison.nudged, effect.comparison.held_out
    yield "calls to the end, median", _median(nudged), _median(held_out), "", ""


def _median(arm: Any) -> str:
    return "–" if arm.calls_to_end is None else f"{arm.calls_to_end:g}"


def as_document(found: list[Effect], comparing: Comparing) -> dict[str, Any]:
    """Return what ``--json`` writes (docs/reference/effect-json.md)."""
    return {
        "format": FORMAT,
        "runs": comparing.runs,
        "copies": comparing.copies,
        "turns": comparing.turns,
        "providers": [_effect_json(effect, comparing.turns) for effect in found],
    }


def _effect_json(effect: Effect, turns: int) -> dict[str, Any]:
    comparison: Comparison = effect.comparison
    return {
        "provider": comparison.provider,
        "verdict": effect.verdict.value,
        "message": sentence(effect, turns),
        "nudged_runs": len(comparison.nudged),
        "held_out_runs": len(comparison.held_out),
        "calls_to_end": {
            "nudged": comparison.nudged.calls_to_end,
            "held_out": comparison.held_out.calls_to_end,
        },
        "measures": {each.measure.value: _difference_json(each) for each in effect.differences},
    }


def _difference_json(difference: Difference) -> dict[str, Any]:
    is_known = bool(difference.nudged.of and difference.held_out.of)
    return {
        "nudged": [difference.nudged.count, difference.nudged.of],
        "held_out": [difference.held_out.count, difference.held_out.of],
        "difference": difference.value if is_known else None,
        "interval": list(difference.interval) if is_known else None,
        "confidence": difference.confidence,
        "design_effect": difference.design,
        "verdict": difference.verdict.value,
        "more_is_better": difference.measure.is_good,
    }
