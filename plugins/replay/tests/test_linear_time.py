"""Nothing here takes more than linear time on text that others wrote."""

from __future__ import annotations

import gzip
import importlib
import inspect
import json
import pkgutil
import re
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import attrs
import pytest

import trimtab_replay
from trimtab_replay._corpus import Corpus
from trimtab_replay._readers.anthropic import _tagged
from trimtab_replay._readers.coders import _commands
from trimtab_replay._readers.messages import action_call, tagged_calls
from trimtab_replay._values import parse, repair
from trimtab_replay.outcomes import outcome_of
from trimtab_signals.agents import PROFILES

from .telling import all_readers

pytestmark = pytest.mark.slow

SMALL, LARGE, SLOWEST = 10_000, 1_000_000, 3
SECONDS = 5.0
"""Far more than a megabyte takes in linear time, far less than it takes otherwise."""

SEEDS = [
    *("a", " ", "\n", "\t ", "\\", '"', "\\u", "\\ud8", "[", "{", "[{", '{"a":[', "[1,", '{"a":1,'),
    *(
        "<",
        "<a>",
        "</a>",
        "<:>",
        "</:>",
        "```bash\n x ",
        "```bash\n",
        "\n```",
        "```",
        "<tool_call>",
    ),
    *("<tool_call>{", "Action: a\n", "Action:\n", "action: a(", "<execute_command>"),
    *(
        "<command>",
        "<execute_command><command>",
        "0",
        "1.",
        "1.1.",
        "sh: ",
        "/bin/sh: ",
        "a_",
        "_call",
        "\r\n",
    ),
    *("Wall time: 1", "Process exited with code ", "Exit code: 1", "  <returncode>", "\x1b[0m"),
    *("Orchestrator (-> ", "Tool result for x", "1..2", "-1..", "Chunk ID: a\n", "\u200b"),
]


def variants(seed: str, length: int) -> list[str]:
    """A seed repeated, with endings that keep an expression from matching."""
    body = seed * (length // len(seed))
    return [body, f"{body}!", f"x{body}\x00"]


def assert_linear(work: Callable[[str], object]) -> None:
    """Feed every seed at 10 KB, and those that took longest at 1 MB."""
    spent: dict[tuple[str, int], float] = {}
    for seed in SEEDS:
        for number, text in enumerate(variants(seed, SMALL)):
            spent[seed, number] = seconds(lambda text=text: work(text))
            assert spent[seed, number] < SECONDS, seed
    for seed, number in sorted(spent, key=lambda each: spent[each], reverse=True)[:SLOWEST]:
        text = variants(seed, LARGE)[number]
        assert seconds(lambda text=text: work(text)) < SECONDS, seed


def expressions() -> dict[str, tuple[re.Pattern[str], set[str]]]:
    """Every regular expression of the package, by where it is, and how it is used there."""
    found: dict[str, tuple[re.Pattern[str], set[str]]] = {}
    for info in pkgutil.walk_packages(trimtab_replay.__path__, "trimtab_replay."):
        module = importlib.import_module(info.name)
        for name, value in vars(module).items():
            if isinstance(value, re.Pattern):
                used = set(re.findall(rf"\b{name}\.(\w+)\(", inspect.getsource(module)))
                found[f"{info.name}.{name}"] = value, used & USES.keys()
    for agent, declared in PROFILES.items():
        for number, profile in enumerate(declared):
            for field in attrs.fields_dict(type(profile)):
                pattern = getattr(profile, field, None)
                if field in PROFILE_PATTERNS and isinstance(pattern, str):
                    found[f"{agent}.{number}.{field}"] = re.compile(pattern), {"search", "sub"}
    return found


PROFILE_PATTERNS = {"error_pattern", "ignore_pattern", "result_noise"}
USES: dict[str, Callable[[re.Pattern, str], object]] = {
    "search": lambda pattern, text: pattern.search(text),
    "match": lambda pattern, text: pattern.match(text),
    "fullmatch": lambda pattern, text: pattern.fullmatch(text),
    "finditer": lambda pattern, text: sum(1 for _ in pattern.finditer(text)),
    "findall": lambda pattern, text: len(pattern.findall(text)),
    "sub": lambda pattern, text: pattern.sub(text[:0], text),
}
EXPRESSIONS = expressions()


def seconds(work: Callable[[], object]) -> float:
    began = time.process_time()
    work()
    return time.process_time() - began


def test_the_expressions_are_found():
    assert len(EXPRESSIONS) > 10


def apply(use: Callable[..., object], pattern: Any, is_bytes: bool, text: str) -> object:
    return use(pattern, text.encode() if is_bytes else text)


@pytest.mark.parametrize("where", sorted(EXPRESSIONS))
def test_an_expression_is_linear(where):
    pattern, uses = EXPRESSIONS[where]
    is_bytes = isinstance(pattern.pattern, bytes)
    assert uses
    for use in uses:
        assert_linear(partial(apply, USES[use], pattern, is_bytes))


FUNCTIONS = {
    "repair": lambda text: repair(text.encode("utf-8", "replace")),
    "commands": _commands,
    "tagged calls": lambda text: list(tagged_calls(text)),
    "action": action_call,
    "cline": lambda text: list(_tagged(text)),
    **{agent: (lambda text, agent=agent: outcome_of(agent, text)) for agent in PROFILES},
}


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_a_parser_of_text_is_linear(name):
    assert_linear(FUNCTIONS[name])


@pytest.mark.parametrize("seed", ["[", "{", '{"a":', '[{"a": "', '[{"a": 1},'])
def test_cut_json_is_parsed_or_refused_in_linear_time(seed):
    def tried() -> None:
        with pytest.raises(ValueError, match=r".+"):
            parse((seed * (LARGE // len(seed))).encode())

    assert seconds(tried) < SECONDS


def test_a_document_cut_within_a_megabyte_of_nested_lists_is_repaired():
    inner = "[" * 400 + "1," * 200_000
    text = '{"messages": [{"role": "user", "content": "go"}, ' + inner

    repaired = repair(text.encode())

    assert repaired is not None
    assert repaired.endswith(b"]}")


@pytest.mark.parametrize(
    ("blank", "said"), [(b"\n", "blank lines"), (b" " * 2**16 + b"\n", "unpacks to more than")]
)
def test_a_gzip_bomb_of_blank_lines_is_given_up(tmp_path, blank, said):
    path = tmp_path / "bomb.jsonl.gz"
    with gzip.open(path, "wb", compresslevel=9) as file:
        file.write(b'{"role": "user", "content": "go"}\n{"role": "user", "content": "on"}\n')
        blanks = blank * (2**20 // len(blank))
        for _ in range(70):
            file.write(blanks)
    corpus = Corpus(list(all_readers().values()))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("trimtab_replay._transcript.SMALL", 2**20)

        def walk() -> None:
            for recording in corpus.recordings([path]):
                assert len(list(recording.entries)) == 2

        assert seconds(walk) < SECONDS

    assert said in corpus.skipped[-1].message


def test_a_plain_file_of_lines_is_read_up_to_its_bound(tmp_path):
    from trimtab_replay._transcript import Transcript

    path = tmp_path / "long.jsonl"
    path.write_text(json.dumps({"a": "x" * 100}) + "\n" + "\n" * 10_000)
    skipped: list = []
    source = Transcript(path, "long.jsonl", skipped.append, max_unpacked=5_000)

    assert len(list(source.rows())) == 1
    assert "split it" in skipped[0].message
