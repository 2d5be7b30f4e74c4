"""Ask a model on this machine many questions that begin alike, at little cost.

The beginning that prompts share is processed once; every question then goes on in a sequence of
its own, and all sequences are sampled together, token by token.
"""

from __future__ import annotations

import ctypes
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs
import llama_cpp as native
import numpy
from jinja2.sandbox import ImmutableSandboxedEnvironment

from words.calls import BEGIN, END
from words.world import Tool

BATCH = 256
CONTEXT = 8192
SEQUENCES = 32
TEMPERATURE = 0.7
TOP_P = 0.9
LONGEST = 120
"""Tokens of one completion."""


_SILENT = native.llama_log_callback(lambda level, text, data: None)


@attrs.define
class Count:
    """How much work was done, in tokens."""

    read: int = 0
    written: int = 0


class LocalModel:
    """A GGUF file, read by llama.cpp through llama-cpp-python.

    Args:
        path: the file.
        threads: of the processor.
        states: folder of prompts that were read before; what `save` keeps is found again there.
    """

    def __init__(self, path: Path, threads: int = 2, states: Path | None = None) -> None:
        self.path = path
        self._states = states
        self._saved = dict(_states_in(states)) if states else {}
        self.count = Count()
        native.llama_log_set(_SILENT, ctypes.c_void_p(0))
        native.llama_backend_init()
        settings = native.llama_model_default_params()
        settings.n_gpu_layers = 0
        self._model = native.llama_model_load_from_file(str(path).encode(), settings)
        if not self._model:
            raise OSError(f"{path}: llama.cpp can't load it")
        self._vocabulary = native.llama_model_get_vocab(self._model)
        self._size = native.llama_vocab_n_tokens(self._vocabulary)
        self._context = self._open(threads)
        self._memory = native.llama_get_memory(self._context)
        self._batch = native.llama_batch_init(BATCH, 0, 1)
        self._kept: list[list[int]] = [[] for _ in range(SEQUENCES)]
        source = native.llama_model_chat_template(self._model, None).decode()
        environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)
        environment.filters["tojson"] = _as_json
        self._template = environment.from_string(source)

    def _open(self, threads: int) -> Any:
        settings = native.llama_context_default_params()
        settings.n_ctx, settings.n_batch, settings.n_ubatch = CONTEXT, BATCH, BATCH
        settings.n_seq_max, settings.kv_unified = SEQUENCES, True
        settings.n_threads = settings.n_threads_batch = threads
        return native.llama_init_from_model(self._model, settings)

    def digest(self) -> str:
        """Return the SHA-256 of the file."""
        with self.path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()

    def render(self, messages: Sequence[Any], tools: Sequence[Any]) -> str:
        """Return the prompt as the model's own chat template makes it."""
        read = [_decoded(message) for message in messages]
        return self._template.render(messages=read, tools=tools, add_generation_prompt=True)

    def ask(
        self,
        asked: Sequence[Sequence[Any]],
        tools: Sequence[Tool],
        seeds: Sequence[int],
        avoid: Sequence[str] = (),
    ) -> list[str]:
        """Return what is written after the beginning of a call, for each conversation.

        Args:
            asked: conversations.
            tools: that the model may call.
            seeds: one for each conversation.
            avoid: for each conversation, a tool that is not to be called.
        """
        declared = [tool.short_schema() for tool in tools]
        prompts = [self.render(messages, declared) + BEGIN for messages in asked]
        return self.complete(prompts, seeds, END, avoid)

    def complete(
        self,
        prompts: Sequence[str],
        seeds: Sequence[int],
        stop: str,
        avoid: Sequence[str] = (),
        longest: int = LONGEST,
    ) -> list[str]:
        """Continue every prompt until `stop`, the end of the turn, or `longest` tokens.

        Args:
            prompts: at most 31; equal ones cost little.
            seeds: one for each.
            stop: left out of the answers.
            avoid: for each prompt, what its answer does not begin with.
            longest: tokens.
        """
        if len(prompts) >= SEQUENCES:
            raise ValueError(f"{len(prompts)} prompts: at most {SEQUENCES - 1} at a time")
        wanted = [self._tokens(prompt) for prompt in prompts]
        shared = min(_common(wanted[0], tokens) for tokens in wanted)
        shared = min(shared, *(len(tokens) - 1 for tokens in wanted))
        self._load(wanted[0][:shared])
        self._bring(0, wanted[0][:shared])
        first = self._branch(wanted, shared)
        for number, word in enumerate(avoid):
            first[number] = self._without(first[number], word)
        return self._sample(first, seeds, stop, longest)

    def _without(self, scores: Any, word: str) -> Any:
        """Return scores under which no token is chosen that `word` begins with."""
        left = scores.copy()
        for size in range(1, len(word) + 1):
            tokens = self._tokens(word[:size])
            if len(tokens) == 1:
                left[tokens[0]] = -numpy.inf
        return left

    def save(self) -> None:
        """Keep what every sequence has read, for later runs."""
        if self._states is None:
            return
        self._states.mkdir(parents=True, exist_ok=True)
        for number, tokens in enumerate(self._kept[1:], 1):
            if tokens:
                name = hashlib.sha256(repr(tokens).encode()).hexdigest()[:16]
                file = self._states / f"{name}.state"
                row = (native.llama_token * len(tokens))(*tokens)
                native.llama_state_seq_save_file(
                    self._context, str(file).encode(), number, row, len(tokens)
                )
                file.with_suffix(".json").write_text(json.dumps(tokens))

    def _load(self, tokens: list[int]) -> None:
        """Let sequence 0 begin with what was saved, if that is more than it holds already."""
        known = _common(self._kept[0], tokens)
        file = max(self._saved, key=lambda f: _common(self._saved[f], tokens), default=None)
        if file is None or _common(self._saved[file], tokens) <= known:
            return
        native.llama_memory_seq_rm(self._memory, 0, -1, -1)
        room, many = (native.llama_token * CONTEXT)(), ctypes.c_size_t()
        read = native.llama_state_seq_load_file(
            self._context, str(file).encode(), 0, room, CONTEXT, ctypes.byref(many)
        )
        self._kept[0] = list(self._saved[file]) if read else []

    def _branch(self, wanted: Sequence[list[int]], shared: int) -> list[Any]:
        """Bring a sequence to each prompt; return the scores of what comes next."""
        scores: list[Any] = []
        for number, tokens in enumerate(wanted, 1):
            known = next((n for n in range(1, number) if wanted[n - 1] == tokens), None)
            if known is not None:
                self._copy(known, number, len(tokens))
                scores.append(scores[known - 1])
                continue
            if _common(self._kept[number], tokens) < shared:
                self._copy(0, number, shared)
            scores.append(self._bring(number, tokens))
        return scores

    def _sample(
        self, scores: list[Any], seeds: Sequence[int], stop: str, longest: int
    ) -> list[str]:
        choosers = [numpy.random.default_rng(seed) for seed in seeds]
        written: list[bytes] = [b""] * len(scores)
        going = list(range(len(scores)))
        for _ in range(longest):
            chosen = {n: self._choose(scores[n], choosers[n]) for n in going}
            ended = native.llama_vocab_is_eog
            going = [n for n in going if not ended(self._vocabulary, chosen[n])]
            for n in going:
                written[n] += self._text(chosen[n])
            going = [n for n in going if stop.encode() not in written[n]]
            if not going:
                break
            self._step(going, chosen, scores)
        return [text.decode(errors="replace").split(stop)[0] for text in written]

    def _step(self, going: list[int], chosen: dict[int, int], scores: list[Any]) -> None:
        """Read one token in each sequence that goes on."""
        rows = [(chosen[n], len(self._kept[n + 1]), n + 1, True) for n in going]
        for n, row in zip(going, self._decode(rows), strict=True):
            scores[n] = row
            self._kept[n + 1].append(chosen[n])
        self.count.written += len(going)

    def _bring(self, number: int, tokens: list[int]) -> Any:
        """Make sequence `number` hold `tokens`; return the scores after the last that was read."""
        kept = self._kept[number]
        same = min(_common(kept, tokens), max(len(tokens) - 1, 0))
        native.llama_memory_seq_rm(self._memory, number, same, -1)
        scores: list[Any] = []
        for start in range(same, len(tokens), BATCH):
            part = tokens[start : start + BATCH]
            last = start + len(part) == len(tokens)
            rows = [
                (token, start + n, number, last and n == len(part) - 1)
                for n, token in enumerate(part)
            ]
            scores = self._decode(rows)
        self.count.read += len(tokens) - same
        self._kept[number] = list(tokens)
        return scores[-1] if scores else None

    def _copy(self, source: int, target: int, length: int) -> None:
        native.llama_memory_seq_rm(self._memory, target, -1, -1)
        native.llama_memory_seq_cp(self._memory, source, target, 0, length)
        self._kept[target] = self._kept[source][:length]

    def _decode(self, rows: Sequence[tuple[int, int, int, bool]]) -> list[Any]:
        """Read (token, position, sequence, wanted) rows; return the scores of the wanted."""
        batch = self._batch
        batch.n_tokens = len(rows)
        for n, (token, position, sequence, wanted) in enumerate(rows):
            batch.token[n], batch.pos[n] = token, position
            batch.n_seq_id[n], batch.seq_id[n][0] = 1, sequence
            batch.logits[n] = wanted
        status = native.llama_decode(self._context, batch)
        if status:
            raise RuntimeError(f"llama_decode returned {status} for {len(rows)} tokens")
        return [
            numpy.ctypeslib.as_array(
                native.llama_get_logits_ith(self._context, n), (self._size,)
            ).copy()
            for n, row in enumerate(rows)
            if row[3]
        ]

    def _choose(self, scores: Any, chooser: numpy.random.Generator) -> int:
        """Choose a token by temperature and nucleus."""
        top = numpy.argpartition(scores, -64)[-64:]
        top = top[numpy.argsort(-scores[top], kind="stable")]
        chances = numpy.exp((scores[top] - scores[top[0]]).astype(float) / TEMPERATURE)
        chances /= chances.sum()
        many = int(numpy.searchsorted(numpy.cumsum(chances), TOP_P)) + 1
        chances = chances[:many] / chances[:many].sum()
        return int(top[chooser.choice(len(chances), p=chances)])

    def _tokens(self, text: str) -> list[int]:
        data = text.encode()
        room = (native.llama_token * (len(data) + 8))()
        many = native.llama_tokenize(
            self._vocabulary, data, len(data), room, len(room), False, True
        )
        return list(room[:many])

    def _text(self, token: int) -> bytes:
        room = ctypes.create_string_buffer(64)
        size = native.llama_token_to_piece(self._vocabulary, token, room, 64, 0, True)
        return room.raw[:size] if size > 0 else b""


def _states_in(folder: Path) -> Iterator[tuple[Path, list[int]]]:
    """Return the saved prompts and the tokens of each."""
    for path in sorted(folder.glob("*.json")):
        yield path.with_suffix(".state"), json.loads(path.read_text())


def _as_json(value: Any, **options: Any) -> str:
    """Return JSON as chat templates expect it: nothing escaped for HTML."""
    return json.dumps(value, ensure_ascii=False, **options)


def _decoded(message: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a message whose calls hold their arguments as objects, as chat templates expect."""
    calls = [
        {
            **call,
            "function": {
                **call["function"],
                "arguments": json.loads(call["function"]["arguments"]),
            },
        }
        for call in message.get("tool_calls", ())
    ]
    return {**message, "tool_calls": calls} if calls else message


def _common(one: Sequence[int], other: Sequence[int]) -> int:
    """Return the length of the common beginning."""
    same = 0
    for a, b in zip(one, other, strict=False):
        if a != b:
            break
        same += 1
    return same
