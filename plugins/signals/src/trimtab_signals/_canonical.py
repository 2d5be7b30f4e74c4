"""Canonical text of tool arguments: equal meaning, equal text."""

from __future__ import annotations

import json
from functools import lru_cache
from json.encoder import encode_basestring
from posixpath import normpath
from typing import TYPE_CHECKING, Any

try:  # without OpenSSL, which `hashlib` loads: 8 ms at the start of a process
    from _blake2 import blake2b
except ImportError:  # not CPython
    from hashlib import blake2b

if TYPE_CHECKING:
    from trimtab import ToolProfile


def _spellings(name: str) -> tuple[str, ...]:
    """Return a field's name as ``request_id``, ``requestId`` and ``requestid``."""
    first, *others = name.split("_")
    return name, first + "".join(map(str.title, others)), name.replace("_", "")


IGNORED_PARAMS = frozenset(
    spelling
    for name in (
        "attempt", "attempt_number", "call_id", "correlation_id", "explanation", "idempotency_key",
        "justification", "nonce", "rationale", "reasoning", "request_id", "retry", "retry_count",
        "span_id", "task_progress", "thought", "timestamp", "tool_call_id", "tool_use_id",
        "trace_id",
    )
    for spelling in _spellings(name)
) | {"_meta"}  # fmt: skip
"""Argument fields that are book-keeping whatever the tool: they never make two calls differ. The
Model Context Protocol keeps ``_meta`` for that."""

_NONE: frozenset[str] = frozenset()
_BLANK = blake2b(digest_size=8)
"""To be copied: to make one takes longer."""
_DEEPEST = 24
_LONG_LIST = 256
_LONG_INT_BITS = 4096
_LONG_PATH = 1024
"""What is longer or deeper is compared as it is: the time of one call is bounded, and no arguments
of the recorded runs reach these."""
_SMALL = 1 << 62
"""Far below the limit in bits, and cheaper to compare with."""
_LEAST = -_SMALL


def digest(text: str) -> str:
    """Return 16 hexadecimal digits that stand for `text`, stable across processes."""
    taken = _BLANK.copy()
    taken.update(text.encode("utf-8", "surrogatepass"))
    return taken.hexdigest()


def canonical(value: Any, ignored: frozenset[str] = _NONE, depth: int = 0) -> str:
    """Return one text for all JSON-like values that mean the same.

    Keys are sorted, ``1.0`` is ``1``, a null entry is an absent entry, paths are tidied
    (``./a//b/`` is ``a/b``). Lists longer than 256 and nesting deeper than 24 are taken as they
    are, so that the cost stays bounded.

    Args:
        value: the value.
        ignored: names of fields that are left out.
        depth: how deep `value` is nested in another.
    """
    kind = type(value)
    if kind is str:
        return _text(value)
    if kind is dict:
        return _mapping(value, ignored, depth)
    if kind is list or kind is tuple:
        return _sequence(value, ignored, depth)
    return _scalar(value)


def _text(value: str) -> str:
    if "/" in value and ("//" in value or "./" in value or value[-1] == "/"):
        value = tidy_path(value)
    return encode_basestring(value)


def plain(value: Any, depth: int = 0) -> Any:
    """Return `value` with each object in it as its text, for objects whose own methods raise."""
    if value is None or type(value) in (bool, int, float, str):
        return value
    if depth <= _DEEPEST and type(value) is dict:
        return {_as_text(key): plain(item, depth + 1) for key, item in value.items()}
    if depth <= _DEEPEST and type(value) in (list, tuple):
        return [plain(item, depth + 1) for item in value[:_LONG_LIST]]
    return _as_text(value)


def _as_text(value: object) -> str:
    try:
        return str(value)
    except Exception:  # noqa: BLE001 - whatever its author raises
        return f"<{type(value).__name__}>"


def tidy_path(value: str) -> str:
    """Return `value` without ``.``, ``..``, doubled and trailing slashes where it is a path."""
    if len(value) > _LONG_PATH or "://" in value or value.split(None, 1) != [value]:
        return value
    return normpath(value)


def _mapping(value: dict[Any, Any], ignored: frozenset[str], depth: int) -> str:
    if depth > _DEEPEST:
        return _as_is(value)
    try:
        keys = sorted(value)
    except TypeError:
        keys = sorted(value, key=str)
    parts = []
    for key in keys:
        item = value[key]
        if item is None or key in ignored:
            continue
        kind = type(item)  # texts and small numbers are nearly all that there is
        if kind is str:
            if "/" in item and ("//" in item or "./" in item or item[-1] == "/"):
                item = tidy_path(item)
            parts.append(f"{key}={encode_basestring(item)}")
        elif kind is int and _LEAST < item < _SMALL:
            parts.append(f"{key}={item}")
        else:
            parts.append(f"{key}={canonical(item, ignored, depth + 1)}")
    return "{" + ",".join(parts) + "}"


def _sequence(value: list[Any] | tuple[Any, ...], ignored: frozenset[str], depth: int) -> str:
    if depth > _DEEPEST or len(value) > _LONG_LIST:
        return _as_is(value)
    return "[" + ",".join([canonical(item, ignored, depth + 1) for item in value]) + "]"


def _scalar(value: Any) -> str:
    if value is None:
        return "null"
    if value is True or value is False:
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, int) and value.bit_length() > _LONG_INT_BITS:
        return hex(value)  # Python refuses to write it in decimals
    if isinstance(value, int | float):
        return str(value)
    return _as_is(value)


def _as_is(value: Any) -> str:
    try:
        return json.dumps(value, sort_keys=True, default=str)
    except (TypeError, ValueError, RecursionError):
        return str(type(value))


def only_fields(value: Any, names: frozenset[str], depth: int = 0) -> Any:
    """Return what of `value` lies under the fields `names`, at any depth; None where nothing."""
    if isinstance(value, dict) and depth < _DEEPEST:
        kept = {
            key: item if key in names else only_fields(item, names, depth + 1)
            for key, item in value.items()
        }
        return {key: item for key, item in kept.items() if item is not None} or None
    if isinstance(value, list | tuple) and depth < _DEEPEST:
        items = [only_fields(item, names, depth + 1) for item in value[:_LONG_LIST]]
        return items if any(item is not None for item in items) else None
    return None


def fingerprint(params: Any, profile: ToolProfile | None = None) -> str:
    """Return a fingerprint of arguments: equal if they mean the same.

    Key order, ``1`` against ``1.0``, null entries, untidy paths and ignored fields make no
    difference.

    Args:
        params: the arguments.
        profile: of the tool. If `params` hold one of its progress fields, only these count.
    """
    return digest(canonical_params(params, profile))


def canonical_params(params: Any, profile: ToolProfile | None) -> str:
    """Return the canonical text of arguments; of those whose own methods raise, as plain data."""
    try:
        return _canonical_params(params, profile)
    except Exception:  # noqa: BLE001 - whatever their author raises
        return _canonical_params(plain(params), profile)


def _canonical_params(params: Any, profile: ToolProfile | None) -> str:
    ignored = IGNORED_PARAMS
    if profile is not None:
        if profile.progress:
            chosen = only_fields(params, profile.progress)
            params = params if chosen is None else chosen
        if profile.ignored_params:
            ignored = _all_ignored(profile.ignored_params)
    text = _mapping(params, ignored, 0) if type(params) is dict else canonical(params, ignored)
    # Where nothing else is there, the book-keeping is the matter: a tool for thinking.
    return canonical(params) if text == "{}" and params else text


@lru_cache(maxsize=64)
def _all_ignored(own: frozenset[str]) -> frozenset[str]:
    return IGNORED_PARAMS | own
