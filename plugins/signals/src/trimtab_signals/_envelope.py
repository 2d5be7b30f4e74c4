"""Answers that are envelopes: one payload among facts about how the call was run."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from trimtab_signals._frame import as_shown, may_begin, may_end, without_frame
from trimtab_signals._normalise import blocks_of, plain_text
from trimtab_signals._novelty import CLOCKS, COSTS, NAMES, label_words

_META = frozenset(
    {"_meta", "exitCode", "exit_code", "exit_status", "isError", "is_error", "jsonrpc", "meta",
     "metadata", "ok", "return_code", "returncode", "success", "succeeded", "tool", "toolName",
     "tool_name"}
)  # fmt: skip
_PAYLOADS = frozenset(
    {"content", "data", "error", "message", "observation", "output", "payload", "response",
     "result", "stderr", "stdout", "text"}
)  # fmt: skip
_FACTS = CLOCKS | COSTS | NAMES | {"call", "seq"}
# Of an answer with more to say: an id of its own, say of what was made, may be the news in it, and
# so may a date or an age.
_TICKS = (
    (CLOCKS - {"age", "date"})
    | COSTS
    | {"correlation", "etag", "nonce", "request", "seq", "span", "time", "trace"}
)
_STATES = ("state", "status")
_FINE = frozenset({"ok", "success"})
_EMPTY: tuple[Any, ...] = (None, "", [], {})
_MOST_FIELDS = 12
_DEEPEST = 5
"""An object with more fields is content, and hosts put an answer into some three envelopes."""
_LONGEST_JSON = 20_000
"""Characters; reading longer ones takes longer than all else at a call."""
_ESCAPED = "\\u"
_ARGUMENTS = frozenset({"args", "arguments", "input", "kwargs", "parameters", "params"})


def opened(
    result: Any, tool: str, command: str | None
) -> tuple[Any, tuple[Mapping[str, Any], ...]]:
    """Return what an answer says, and the objects that it was found in, outermost first.

    Args:
        result: the answer as its harness gave it: an envelope, an object, a text, which may be
            an object in JSON.
        tool, command: as for `without_frame`.
    """
    if type(result) is str and "\x1b" not in result and "\r" not in result:
        plain = result.strip()
        if plain[:1] != "{" and not may_begin(result) and not may_end(result):  # nearly all
            return plain, ()
    holders: list[Mapping[str, Any]] = []
    said = result
    for _ in range(_DEEPEST):
        is_text = type(said) is str
        if is_text:
            said = _tidy(said, tool, command)
        structure = parsed(said) if is_text and said[:1] == "{" else said
        if type(structure) is not dict:
            break
        holders.append(structure)
        payload = _payload(structure)
        if payload is structure:
            told = without_ticks(structure)
            if told is not structure or (is_text and _ESCAPED in said):
                said = told
            break
        said = payload
    return said, tuple(holders)


def _tidy(text: str, tool: str, command: str | None) -> str:
    if "\x1b" in text:
        text = plain_text(text)
    if "\r" in text:
        text = as_shown(text)
    return without_frame(text, tool, command)


def parsed(text: str) -> Any:
    """Return a text that is JSON, parsed; any other, and a long one, as it is."""
    if len(text) > _LONGEST_JSON or text.rstrip()[-1:] != "}":
        return text
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _payload(result: Any) -> Any:
    """Return the one payload of an answer that is an envelope around it and says nothing else."""
    for _ in range(_DEEPEST):
        if type(result) is not dict or len(result) > _MOST_FIELDS:
            break
        inner = [key for key, value in result.items() if not _is_fact(key, value)]
        if len(inner) > 1:
            break
        if not inner:
            held = [key for key in result if key in _PAYLOADS]
            return "" if held and all(result[key] == "" for key in held) else result
        if inner[0] not in _PAYLOADS:
            break
        payload = result[inner[0]]
        if isinstance(payload, list):
            texts = list(blocks_of(payload))
            return "\n".join(texts) if len(texts) == len(payload) > 0 else result
        if not isinstance(payload, dict | str):
            break
        result = payload
    return result


def _is_fact(key: Any, value: Any) -> bool:
    """Tell whether a field says how the call was run, or nothing."""
    if value in _EMPTY:
        return True
    if key in _META:
        return not isinstance(value, list) or key in ("meta", "metadata", "_meta")
    if isinstance(value, dict | list) or not isinstance(key, str):
        return False
    if key in _STATES:
        return value in _FINE
    return not _FACTS.isdisjoint(label_words(key))


def without_ticks(result: Mapping[Any, Any]) -> Mapping[Any, Any]:
    """Return an answer without fields that keep time, count or name the request."""
    kept = {
        key: value
        for key, value in result.items()
        if isinstance(value, dict | list)
        or not isinstance(key, str)
        or _TICKS.isdisjoint(label_words(key))
    }
    left_out = len(result) - len(kept)
    # A time may be the answer where the one other field is empty.
    tells = left_out > 1 or any(map(_says, kept.values()))
    return kept if kept and left_out and tells else result


def _says(value: Any) -> bool:
    return value not in _EMPTY


def arguments_of(params: Any) -> Any:
    """Return the arguments in `params`, which may be JSON text, or have them below one field."""
    if type(params) is str and params[:1] == "{":
        params = parsed(params)
    if type(params) is dict and len(params) == 1:
        ((key, inner),) = params.items()
        if key in _ARGUMENTS and type(inner) is dict:
            return inner
    return params
