"""Measure words on a model: ``python tests/bench/words COMMAND``; see README.md beside this."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

from words import episodes, moments, next_call, tables

RESULTS = Path(__file__).with_name("results")


def _take_model(command: argparse.ArgumentParser) -> None:
    command.add_argument("--gguf", type=Path, help="a model's file on this machine")
    command.add_argument("--url", help="a service that speaks Chat Completions")
    command.add_argument("--model", default="", help="the model's name there")
    command.add_argument("--states", type=Path, help="folder of prompts read before")
    command.add_argument("--threads", type=int, default=os.cpu_count() or 1)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command."""
    parser = argparse.ArgumentParser(prog="words", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    for name, text in (
        ("calls", "ask for the next call at every moment, under every arm"),
        ("episodes", "let the agent go on from moments of worlds"),
    ):
        command = commands.add_parser(name, help=text)
        _take_model(command)
        command.add_argument("--moments", type=Path, default=moments.MOMENTS)
        command.add_argument("--arms", default="", help="separated by commas")
        command.add_argument("--samples", type=int, default=next_call.SAMPLES)
        command.add_argument("--family", default="", help="only these, separated by commas")
        command.add_argument("out", type=Path)
    for name, text in (
        ("plans", "ask at moments of tasks of ten steps with a plan"),
        ("others", "ask with the texts of the other providers, of a model on this machine"),
    ):
        command = commands.add_parser(name, help=text)
        _take_model(command)
        command.add_argument("out", type=Path)
    record = commands.add_parser("record", help="play the worlds, and add moments to a file")
    record.add_argument("--gguf", type=Path, required=True)
    record.add_argument("--states", type=Path, help="folder to keep the prompts in")
    record.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    record.add_argument("--family", default="", help="only these, separated by commas")
    record.add_argument("out", type=Path)
    take = commands.add_parser("recordings", help="add moments of published runs to a file")
    take.add_argument("folder", type=Path, help="of the recorded runs")
    take.add_argument("out", type=Path)
    table = commands.add_parser("tables", help="write the tables of results as Markdown")
    table.add_argument("results", type=Path, nargs="+")
    texts = commands.add_parser("texts", help="write what the providers say at moments of a pass")
    texts.add_argument("moments", type=Path)
    texts.add_argument("out", type=Path)
    one = commands.add_parser("pass", help="ask without and with these texts")
    _take_model(one)
    one.add_argument("--minutes", type=float, default=120.0, help="no more is asked after these")
    one.add_argument("moments", type=Path)
    one.add_argument("texts", type=Path)
    one.add_argument("out", type=Path)
    commands.add_parser("fit", help="fit the weights by which a text names a tool")
    options = parser.parse_args(arguments)
    run = {
        "plans": _plans,
        "others": _others,
        "tables": _tables,
        "record": _record,
        "recordings": _recordings,
        "fit": _fit,
        "texts": _texts,
        "pass": _pass,
    }
    return run.get(options.command, _measure)(options)


def _fit(_: argparse.Namespace) -> int:
    from words import fit

    for line in fit.report():
        print(line, flush=True)
    return 0


def _texts(options: argparse.Namespace) -> int:
    from words import passes

    made = {moment.id: passes.text_of(moment) for moment in moments.read(options.moments)}
    options.out.write_text(json.dumps(made, indent=0, ensure_ascii=False), encoding="utf-8")
    return 0


def _pass(options: argparse.Namespace) -> int:
    from words import passes

    end = time.monotonic() + 60 * options.minutes
    model, texts = _model(options), passes.read_texts(options.texts)
    for moment in passes.in_turns(moments.read(options.moments)):
        next_call.write(passes.ask(model, moment, texts[moment.id], end), options.out)
    return 0


def _record(options: argparse.Namespace) -> int:
    from words import record
    from words.worlds import WORLDS

    families = options.family.split(",") if options.family else list(WORLDS)
    model = _model(options)
    for family in families:
        moments.append(record.recorded(model, family), options.out)
    return 0


def _recordings(options: argparse.Namespace) -> int:
    from words import from_recordings

    moments.append(from_recordings.collect(options.folder), options.out)
    return 0


def _plans(options: argparse.Namespace) -> int:
    from words import plans
    from words.plans_tasks import TASKS

    rows = plans.rows(_model(options), plans.all_moments(TASKS), options.out)
    print(f"{next_call.write(rows, options.out)} rows")
    return 0


def _others(options: argparse.Namespace) -> int:
    from words import others

    failed = Path(__file__).with_name("moments_fourth.jsonl")
    rows = others.rows(_model(options), others.all_moments(failed), options.out)
    print(f"{next_call.write(rows, options.out)} rows")
    return 0


def _tables(options: argparse.Namespace) -> int:
    for path in options.results:
        rows = next_call.read(path)
        print(tables.episodes(rows) if "solved" in rows[0] else tables.report(rows))
    return 0


def _measure(options: argparse.Namespace) -> int:
    model = _model(options)
    wanted = options.family.split(",") if options.family else None
    found = [m for m in moments.read(options.moments) if not wanted or m.family in wanted]
    arms = options.arms.split(",") if options.arms else ()
    began = time.perf_counter()
    if options.command == "calls":
        missing = next_call.left(found, options.out, arms)
        rows: Iterator[Mapping[str, Any]] = next_call.run(model, missing, arms, options.samples)
    else:
        chosen = episodes.chosen(found)
        rows = episodes.run(model, chosen, arms=arms)
    many = next_call.write(rows, options.out)
    seconds = time.perf_counter() - began
    print(f"{many} rows in {seconds / 60:.1f} minutes; {getattr(model, 'count', '')}")
    return 0


def _model(options: argparse.Namespace) -> Any:
    if getattr(options, "url", None):
        from words.remote import RemoteModel

        return RemoteModel(options.url, options.model)
    if options.gguf is None:
        sys.exit("name a model: --gguf FILE, or --url URL --model NAME")
    from words.engine import LocalModel

    return LocalModel(options.gguf, options.threads, options.states)


if __name__ == "__main__":
    sys.exit(main())
