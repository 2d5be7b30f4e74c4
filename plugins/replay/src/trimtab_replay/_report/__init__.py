"""A report of replayed runs: one HTML file that needs nothing else.

All text in it is untrusted and stays text.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import datetime
from html import escape
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any

import attrs

from trimtab.inspection import others_to_stderr, say, writing
from trimtab.text import plural, sanitize, shorten
from trimtab_replay._commands import (
    add_reading,
    add_selection,
    complain,
    found_here,
    job_of,
    replayed_runs,
    report_stats,
)
from trimtab_replay._file import ReadStats
from trimtab_replay._recording import ReplayError, Said
from trimtab_replay._results import CallView, Decision, Note, Replayed
from trimtab_replay._timeline import Summary, states
from trimtab_replay._transcript import Skipped

AROUND = 4
"""Calls before and after a nudge that are held with their arguments and answer."""
_FAR_PARAMS = 80
_LONGEST_REASON = 300
_UNSEEN = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)


def visible(text: str) -> str:
    r"""Return `text` with every character that can't be seen, or turns text round, as ``\xNN``."""
    text = _without_home(text)
    return _UNSEEN.sub(lambda found: found[0].encode("unicode_escape").decode("ascii"), text)


def _without_home(text: str, *, is_path: bool = False) -> str:
    """Return `text` with ``~`` for the user's home: a report is sent to others.

    Args:
        text: any.
        is_path: some agents name a folder after a path, with ``-`` for ``/``.
    """
    home = str(Path.home())
    if len(home) <= 1:
        return text
    text = text.replace(home, "~")
    return text.replace(home.replace("/", "-"), "~") if is_path else text


@attrs.define
class ReportData:
    """Collects runs for a report."""

    summary: Summary
    _runs: list[dict[str, Any]] = attrs.field(factory=list)
    _tools: dict[str, int] = attrs.field(factory=dict)

    def add(self, replayed: Replayed) -> None:
        self.summary.add(replayed)
        near = _near(replayed)
        timed = replayed.started is not None
        run = {
            "id": replayed.id,
            "title": replayed.title,
            "path": _without_home(replayed.path, is_path=True),
            "reader": replayed.reader,
            "calls": replayed.calls,
            "started": _time(replayed.started),
            "strip": "".join(state.value for state in states(replayed)),
            "nudges": [_nudge(decision, timed=timed) for decision in replayed.decisions],
            "said": [_said(one) for one in replayed.said],
            "notes": _notes(replayed.notes),
            "steps": [self._step(step, whole=step.call in near) for step in replayed.steps],
        }
        self._runs.append(_shown(run))

    def _step(self, step: CallView, *, whole: bool) -> list[Any]:
        tool = self._tools.setdefault(visible(step.tool), len(self._tools))
        outcome = "error" if step.failed and step.outcome == "ok" else step.outcome.value
        params = step.params if whole else shorten(step.params, _FAR_PARAMS)
        row = [step.call, step.turn, tool, outcome, params]
        return [*row, step.result] if whole else row

    def as_dict(self, title: str, stats: ReadStats) -> dict[str, Any]:
        return {
            "title": visible(title),
            "runs": self._runs,
            "tools": list(self._tools),
            "calls": self.summary.calls,
            "providers": [
                {
                    "name": visible(one.name),
                    "runs": one.runs,
                    "nudges": one.nudges,
                    "first": one.typical_first_call,
                    "tokens": one.tokens,
                }
                for one in self.summary.providers
            ],
            "skipped": [visible(_place(one)) for one in stats.skipped],
            "otherFiles": stats.other_files,
        }


def _near(replayed: Replayed) -> set[int]:
    """Return the calls that are held whole: those around what someone said."""
    places = [step.call for step in replayed.steps]
    near: set[int] = set()
    for call in {decision.call for decision in replayed.decisions}:
        at = sum(place <= call for place in places) - 1
        near.update(places[max(0, at - AROUND) : at + AROUND + 1])
    return near


def _shown(value: Any) -> Any:
    """Return a JSON-like value with all its texts visible."""
    if isinstance(value, str):
        return visible(value)
    if isinstance(value, dict):
        return {key: _shown(item) for key, item in value.items()}
    return [_shown(item) for item in value] if isinstance(value, list) else value


def _time(at: datetime | None) -> str | None:
    return at.isoformat() if at else None


def _said(one: Said) -> dict[str, Any]:
    reason = shorten(one.reason, _LONGEST_REASON)
    return {**attrs.asdict(one), "reason": reason, "at": _time(one.at)}


def _nudge(decision: Decision, *, timed: bool) -> dict[str, Any]:
    facts = attrs.asdict(decision, filter=attrs.filters.exclude("key", "category"))
    return {**facts, "reason": decision.reason or "", "at": _time(decision.at) if timed else None}


def _notes(notes: Iterable[Note]) -> list[list[Any]]:
    """Return what was noted, each thing once: what, who, why, after which call first, how often."""
    first: dict[tuple[str, str, str], int] = {}
    times: Counter[tuple[str, str, str]] = Counter()
    for note in notes:
        key = (note.event, note.provider, visible(shorten(note.message, _LONGEST_REASON)))
        first.setdefault(key, note.call)
        times[key] += 1
    return [[*key, call, times[key]] for key, call in first.items()]


def _place(one: Skipped) -> str:
    return f"{one.path}{'' if one.line is None else f':{one.line}'}: {one.message}"


_FOR_SCRIPT = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"})


def page(data: Mapping[str, Any]) -> str:
    style, script = _asset("style.css"), _asset("script.js")
    return Template(_asset("page.html")).substitute(
        title=escape(str(data["title"])),
        policy=f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'",
        style=style,
        script=script,
        data=embedded(data),
    )


def embedded(data: Mapping[str, Any]) -> str:
    """Return `data` as JSON that can stand in a script element: ASCII, no tag, no entity."""
    return json.dumps(data, separators=(",", ":")).translate(_FOR_SCRIPT)


def _asset(name: str) -> str:
    return files("trimtab_replay._report").joinpath(name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"


def register(parser: argparse.ArgumentParser) -> None:
    """Write an HTML page of recorded runs with every nudge in its place."""
    parser.description = (
        "Replay recorded runs, and write one HTML file that shows what was said beside what the "
        "providers of today would say. Without PATH, of the newest sessions on this machine."
    )
    parser.add_argument("paths", metavar="PATH", nargs="*", help="a transcript, or a folder")
    add_selection(parser)
    add_reading(parser)
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        type=Path,
        default=Path("report.html"),
        help="the file to write; - writes to standard output",
    )
    parser.add_argument("--title", default="Nudges on recorded runs", help="the title of the page")
    parser.set_defaults(run=run_report)


@others_to_stderr()
def run_report(options: argparse.Namespace) -> int:
    """Write the report; 1 if something was not read, a provider failed, or no run was found."""
    job = job_of(options, keep_calls=True, default_all=True)
    to_stdout = options.output == Path("-")
    if not to_stdout and (not options.output.parent.is_dir() or options.output.is_dir()):
        raise ReplayError(f"can't write {options.output}: name a file in a folder that is there")
    if not options.paths:
        options.paths = found_here(options, "report")
    stats = ReadStats()
    data = ReportData(Summary(job.selection.names))
    for one in replayed_runs(options, job, stats):
        data.add(one)
    if not stats.runs:
        report_stats(stats)
        complain(f"no report is written to {sanitize(str(options.output))}")
        return 1
    text = page(data.as_dict(options.title, stats))
    if to_stdout:
        say(text)
        return report_stats(stats)
    with writing(options.output) as file:
        size = file.write(text)
    say(f"{sanitize(str(options.output))}: {plural(stats.runs, 'run')}, {size / 1e3:,.0f} kB")
    return report_stats(stats)
