"""Switches the rules of the detection off one by one, and prints which of them no case needs.

    python tests/bench/ablation.py [--module WORD ...] [--runs] [--out FILE]

A rule is a condition: a branch, an operand of ``and`` and ``or``, a filter, and every function that
answers yes or no, or perhaps nothing. A first round notes which cases each of them decides; a
second one plays these cases, at most 50, with the condition out of the way. With ``--runs`` the
recorded runs in the folder that `TRIMTAB_CORPUS` names are played too.

What it prints is a line for each rule that can go by itself: ``dead`` decides nothing, ``no
verdict`` changes what is said at most. Rules that stand in for each other can't all go: after a
cut, compare `tests/backtest` and `tests/bench/decisions.py`.
"""

from __future__ import annotations

import argparse
import ast
import functools
import gc
import json
import os
import re
import signal
import sys
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator
from hashlib import blake2b
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[2]
PACKAGES = (
    "trimtab_signals",
    "trimtab_doom_loop",
    "trimtab_diagnostic_signal",
    "trimtab_parallel_tool_reminder",
    "trimtab_plan_based_checker",
    "trimtab_tool_call_form",
)
PROVIDERS = (
    "consultation-prompt",
    "deadline-feedback",
    "diagnostic-signal",
    "doom-loop",
    "parallel-tool-reminder",
    "plan-based-checker",
    "tool-call-form",
)
_MOST_PLAYED = 50
_LONGEST = 10
_ENOUGH = 3
"""Cases that a rule decides and that are played without it, seconds of one of them (a condition may
end a loop), and verdicts that prove it needed."""


def _stop(*_: object) -> None:
    raise TimeoutError


class Point(NamedTuple):
    """A condition, where it stands, and what it is when it is out of the way."""

    module: str
    line: int
    kind: str
    text: str
    neutral: Any


_CALLED = re.compile(r"_at_point\(\d+, ")
POINTS: list[Point] = []
_seen: set[int] = set()
_off = [-1]


def _at(index: int, value: Any) -> Any:
    """Note that condition `index` decides something, and return its value."""
    neutral = POINTS[index].neutral
    if bool(value) is not bool(neutral):
        _seen.add(index)
        if index == _off[0]:
            return neutral
    return value


class _Marker(ast.NodeTransformer):
    """Puts a call of `_at` around each condition."""

    def __init__(self, module: str) -> None:
        self._module = module
        self._returns = -1
        self._in_function = 0

    def _marked(self, node: ast.expr, index: int) -> ast.expr:
        called = ast.Call(ast.Name("_at_point", ast.Load()), [ast.Constant(index), node], [])
        return ast.copy_location(called, node)

    def _new(self, node: ast.expr, kind: str, neutral: Any) -> int:
        text = " ".join(ast.unparse(node).split())
        text = _CALLED.sub("(", text)[:100]
        POINTS.append(Point(self._module, node.lineno, kind, text, neutral))
        return len(POINTS) - 1

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        before, self._returns = self._returns, -1
        self._in_function += 1
        answers = ast.unparse(node.returns) if node.returns else ""
        if answers == "bool" or answers.endswith("| None"):
            neutral = False if answers == "bool" else None
            POINTS.append(Point(self._module, node.lineno, "function", node.name, neutral))
            self._returns = len(POINTS) - 1
        self.generic_visit(node)
        self._in_function -= 1
        self._returns = before
        return node

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        self._in_function += 1
        self.generic_visit(node)
        self._in_function -= 1
        return node

    def visit_Return(self, node: ast.Return) -> ast.AST:
        self.generic_visit(node)
        if node.value is not None and self._returns >= 0:
            node.value = self._marked(node.value, self._returns)
        return node

    def visit_If(self, node: ast.If) -> ast.AST:
        text = node.test
        self.generic_visit(node)
        node.test = self._marked_as(node.test, text, "if", neutral=False)
        return node

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        text = node.test
        self.generic_visit(node)
        for neutral in (False, True):
            node.test = self._marked_as(node.test, text, f"ternary {neutral}", neutral=neutral)
        return node

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        neutral = isinstance(node.op, ast.And)
        kind = "and" if neutral else "or"
        texts = list(node.values)
        self.generic_visit(node)
        node.values = [
            self._marked_as(value, text, kind, neutral=neutral)
            for value, text in zip(node.values, texts, strict=True)
        ]
        return node

    def visit_comprehension(self, node: ast.comprehension) -> ast.AST:
        texts = list(node.ifs)
        self.generic_visit(node)
        node.ifs = [
            self._marked_as(value, text, "filter", neutral=True)
            for value, text in zip(node.ifs, texts, strict=True)
        ]
        return node

    def _marked_as(self, node: ast.expr, text: ast.expr, kind: str, *, neutral: bool) -> ast.expr:
        if not self._in_function:
            return node
        return self._marked(node, self._new(text, kind, neutral))


class _Loader(SourceFileLoader):
    def get_code(self, fullname: str) -> Any:
        tree = ast.parse(Path(self.path).read_text(encoding="utf-8"), self.path)
        marked = _Marker(fullname).visit(tree)
        return compile(ast.fix_missing_locations(marked), self.path, "exec")

    def exec_module(self, module: Any) -> None:
        module.__dict__["_at_point"] = _at
        super().exec_module(module)


class _Finder:
    """Loads the modules of the detection with their conditions marked."""

    @staticmethod
    def find_spec(name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if name.partition(".")[0] not in PACKAGES:
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and spec.origin is not None:
            spec.loader = _Loader(name, spec.origin)
        return spec


class Played(NamedTuple):
    """What came of one recording."""

    verdict: str
    spoken: tuple[Any, ...]
    texts: str


class Bench:
    """All recordings, and what comes of each as the rules are."""

    def __init__(self, *, runs: bool, marked: bool = True) -> None:
        if marked:
            sys.meta_path.insert(0, _Finder())  # type: ignore[arg-type]
        from trimtab_replay._backtest import TOGETHER, judge_case
        from trimtab_replay._corpus import Corpus, installed_readers
        from trimtab_replay._driver import replay
        from trimtab_replay._selection import Prompts, enabled, provider_names

        self._judge, self._together, self._names = judge_case, TOGETHER, provider_names
        self._replay = replay
        self._prompts = Prompts(enabled(PROVIDERS))
        self._caches = [
            value
            for name in tuple(sys.modules)
            if name.partition(".")[0] in PACKAGES
            for value in vars(sys.modules[name]).values()
            if isinstance(value, functools._lru_cache_wrapper)
        ]
        corpus = Corpus(installed_readers(print))
        self.recordings: list[Any] = []
        for path in files(runs=runs):
            for one in corpus.recordings([str(path)]):
                object.__setattr__(one, "entries", tuple(one.entries))
                self.recordings.append(one)
        self.before: list[Played] = []
        self.seconds: list[float] = []
        self.deciding: dict[int, list[int]] = defaultdict(list)
        for index, recording in enumerate(self.recordings):
            _seen.clear()
            start = time.perf_counter()
            self.before.append(self.play(recording))
            self.seconds.append(time.perf_counter() - start)
            for point in _seen:
                self.deciding[point].append(index)

    def name(self, index: int) -> str:
        """Return what one recording is called."""
        one = self.recordings[index]
        return f"{Path(one.path).stem}:{one.id}"

    def clear(self) -> None:
        """Forget what functions remember of earlier recordings."""
        for cache in self._caches:
            cache.cache_clear()

    def play(self, recording: Any) -> Played:
        """Play one recording."""
        self.clear()
        replayed = self._replay(recording, self._prompts)
        about = next(
            (n for n in self._names(str(replayed.meta.get("concerns"))) if n in PROVIDERS), None
        )
        verdict = ""
        if about is not None and "expected" in replayed.meta:
            speakers = {about}.union(*(group for group in self._together if about in group))
            verdict = self._judge(replayed, about, speakers).verdict.value
        spoken = tuple((one.provider, one.call, one.key) for one in replayed.decisions)
        said = "\n".join(one.text for one in replayed.decisions)
        faults = [note.message for note in replayed.notes if note.severity == "error"]
        if faults and "expected" not in replayed.meta:
            verdict = f"fault: {faults[0]}"
        return Played(verdict, spoken, blake2b(said.encode(errors="replace")).hexdigest())

    def without(self, indexes: Iterable[int]) -> tuple[list[str], int, int, int]:
        """Play recordings; return whose verdicts change, and of how many what is said changes, and
        the words, of how many that were played.
        """
        verdicts: list[str] = []
        spoken = texts = played = 0
        chosen = list(indexes)
        if len(chosen) > _MOST_PLAYED:
            chosen = Random(0).sample(chosen, _MOST_PLAYED)
        for index in sorted(chosen, key=self.seconds.__getitem__):
            before = self.before[index]
            played += 1
            signal.alarm(_LONGEST)
            try:
                now = self.play(self.recordings[index])
            except Exception as error:  # noqa: BLE001  a rule may guard what follows it
                now = Played(f"raises {type(error).__name__}", (), "")
            signal.alarm(0)
            if now.verdict != before.verdict:
                verdicts.append(f"{self.name(index)} {before.verdict}→{now.verdict}")
                if len(verdicts) >= _ENOUGH:
                    break
            elif now.spoken != before.spoken:
                spoken += 1
            elif now.texts != before.texts:
                texts += 1
        gc.collect(0)
        return verdicts, spoken, texts, played


def files(*, runs: bool) -> Iterator[Path]:
    """Yield the files of cases, and the folders of recorded runs if asked for."""
    yield from sorted((ROOT / "tests" / "data").glob("*.jsonl"))
    corpus = os.environ.get("TRIMTAB_CORPUS")
    if corpus:
        yield from sorted(Path(corpus, "cases").glob("*.jsonl"))
        if runs:
            yield from sorted(p for p in Path(corpus, "trajectories").iterdir() if p.is_dir())


def points(bench: Bench, modules: list[str], out: Path | None) -> None:
    """Print what comes of each condition being out of the way."""
    found = []
    chosen = list(range(len(POINTS)))
    if modules:
        places = {m: [i for i, w in enumerate(modules) if w in m] for m in sys.modules}
        chosen = [i for i in chosen if places[POINTS[i].module]]
        chosen.sort(key=lambda i: places[POINTS[i].module])
    signal.signal(signal.SIGALRM, _stop)
    for index in chosen:
        point = POINTS[index]
        deciding = bench.deciding.get(index, [])
        verdicts, spoken, texts, played = [], 0, 0, 0
        if deciding:
            _off[0] = index
            verdicts, spoken, texts, played = bench.without(deciding)
            _off[0] = -1
        state = "needed" if verdicts else "no verdict" if deciding else "dead"
        row = (state, point.module.partition("._")[2] or point.module, point.line, point.kind,
               point.text, len(deciding), spoken, texts, verdicts)  # fmt: skip
        found.append(row)
        where = f"{row[1]}:{point.line}"
        of = f"{played} of {len(deciding)}"
        print(
            f"{state:10} {where:22} {point.kind:13} {of:12} {spoken:3} {texts:3}  {point.text}"
            + "".join(f"\n           - {one}" for one in verdicts),
            flush=True,
        )
    if out is not None:
        out.write_text(json.dumps(found))


def main(arguments: list[str] | None = None) -> None:
    """Play both rounds."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--module", nargs="*", default=[], help="only these, in this order")
    parser.add_argument("--runs", action="store_true", help="play the recorded runs too")
    parser.add_argument("--out", type=Path, help="write the rows as JSON")
    options = parser.parse_args(arguments)
    start = time.perf_counter()
    bench = Bench(runs=options.runs)
    print(f"# {len(bench.recordings)} recordings, {time.perf_counter() - start:.0f} s", flush=True)
    points(bench, options.module, options.out)


if __name__ == "__main__":
    main()
