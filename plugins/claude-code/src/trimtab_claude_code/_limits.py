"""Limits on what a hook event may hold: it is kept in memory and on disk."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from hashlib import blake2b
from typing import Any

MAX_BYTES = 16_000_000
"""How long an event may be; a longer one is left out."""

LONGEST_TEXT = 8_000
LONGEST_EVENT = 200_000
_EDGE = 3_500
_MARGIN = 300
_LONGEST_LIST = 2_000
_DEEPEST = 60
_SHORT = 40

_PRIVATE_KEY = (
    r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----(?:(?:\\n|\s){0,3}[A-Za-z0-9+/=]{20,80}){0,80}"
    r"(?:(?:\\n|\s){0,3}[A-Za-z0-9+/=]{1,80})?"
)
_KEY = r"(?<![\w-])(?:sk|pk|rk)[-_][\w-]{16,}"
_PREFIXED = r"(?<!\w)(?:gh[pousr]|github_pat|glpat|xox[abprs])[_-][\w-]{16,}"
_ACCESS_KEY = r"(?<!\w)A(?:KI|SI)A[0-9A-Z]{16}(?!\w)"
_SIGNED = r"(?<![\w-])eyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]*"
_SECRETS = (
    ("PRIVATE KEY", _PRIVATE_KEY),
    ("k-", _KEY),
    ("k_", _KEY),
    ("gh", _PREFIXED),
    ("github_pat", _PREFIXED),
    ("glpat", _PREFIXED),
    ("xox", _PREFIXED),
    ("IA", _ACCESS_KEY),
    ("eyJ", _SIGNED),
)
"""How secrets look, each after something that every text with one holds."""

_NAMES = ("bearer", "passw", "secret", "token", "api", "access")
_OTHER_CASES = re.compile("[\u017f\u0130\u0131]")
"""Letters that an expression takes for s and i, and `str.lower` does not."""

_SHORTEST = len("token=") + 8
_MOST_PATTERNS = 256
_NAMED = (
    r"(?=[AaBbPpSsTt\u017f])"
    r"(?P<name>(?i:bearer\s{1,5}|(?:password|passwd|secret|token|api[_-]?key|access[_-]?key)"
    r"[\"']?\s{0,5}[=:]\s{0,5}[\"']?))(?P<value>[^\s\"',;<>&]{8,})"
)


def payload_of(body: bytes) -> Mapping[str, Any]:
    """Read an event.

    Raises:
        ValueError: it is not a JSON object, or too long.
    """
    if len(body) > MAX_BYTES:
        raise ValueError(f"an event of more than {MAX_BYTES} bytes was left out")
    payload = json.loads(body)
    if not isinstance(payload, dict):
        raise ValueError("an event that is not a JSON object was left out")
    return payload


class Redaction:
    """Replaces secrets in texts by a short digest, so that two that differ still differ.

    Well-known forms of keys and tokens are found, and what follows a name like ``password=``.

    Args:
        prefixes: how further secrets begin; each ends at a space or a quotation mark.
    """

    def __init__(self, prefixes: Iterable[str] = ()) -> None:
        own = [(prefix, rf"{re.escape(prefix)}[^\s\"']{{1,2000}}") for prefix in prefixes]
        self._forms = (*own, *_SECRETS)
        self._shortest = 1 if own else _SHORTEST
        self._patterns: dict[tuple[str, ...], re.Pattern[str]] = {}

    def __call__(self, text: str) -> str:
        """Return the text without its secrets.

        Only those forms are looked for of which the text holds a part: an expression for all of
        them takes milliseconds for the output of one call.
        """
        if len(text) < self._shortest:
            return text
        forms = [form for part, form in self._forms if part in text]
        lower = text.lower()
        if [name for name in _NAMES if name in lower] or (
            not text.isascii() and _OTHER_CASES.search(text)
        ):
            forms.append(_NAMED)
        return self._pattern(tuple(forms)).sub(_redacted, text) if forms else text

    def _pattern(self, forms: tuple[str, ...]) -> re.Pattern[str]:
        """Return one expression for several forms; those that come first win."""
        found = self._patterns.get(forms)
        if found is None:
            found = re.compile("|".join(dict.fromkeys(forms)))
            if len(self._patterns) < _MOST_PATTERNS:
                self._patterns[forms] = found
        return found


def _redacted(match: re.Match[str]) -> str:
    name = match.groupdict().get("name") or ""
    digest = _digest(match[0][len(name) :], 2)
    return f"{name}[redacted {digest}]"


def bounded(value: Any, redact: Redaction) -> Any:
    """Return a JSON-like value without secrets, its texts, lists, depth and size cut to a limit.

    Of a longer text, head and tail are left, and a digest, so that two that differ in the middle
    still differ.
    """
    return _Bounder(redact).bounded(value, 0)


class _Bounder:
    """Cuts one event; when it has kept `LONGEST_EVENT` characters, only digests are left."""

    def __init__(self, redact: Redaction) -> None:
        self._redact = redact
        self._room = LONGEST_EVENT

    def bounded(self, value: Any, depth: int) -> Any:
        if isinstance(value, str):
            return self._text(value)
        if depth >= _DEEPEST:
            return None
        if isinstance(value, dict):
            items = tuple(value.items())[:_LONGEST_LIST]
            return {self._text(key): self.bounded(item, depth + 1) for key, item in items}
        if isinstance(value, list):
            return [self.bounded(item, depth + 1) for item in value[:_LONGEST_LIST]]
        return value

    def _text(self, text: str) -> str:
        if self._room <= 0 and len(text) > _SHORT:
            return f"[{len(text)} characters left out, {_digest(text, 8)}]"
        kept = _ends(text, self._redact) if len(text) > LONGEST_TEXT else self._redact(text)
        self._room -= len(kept)
        return kept


def _ends(text: str, redact: Redaction) -> str:
    """Return both ends; secrets that cross an inner edge are found by the margin beyond it."""
    left_out = len(text) - 2 * _EDGE
    head = redact(text[: _EDGE + _MARGIN])[:_EDGE]
    tail = redact(text[-_EDGE - _MARGIN :])[-_EDGE:]
    return f"{head}\n[… {left_out} characters left out, {_digest(text, 8)} …]\n{tail}"


def _digest(text: str, size: int) -> str:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=size).hexdigest()
