"""What must not reach a disk: the forms of secrets, and the names that they follow.

One table for traces and journals. The forms are facts that the keepers of detect-secrets and
gitleaks collect too: prefixes, alphabets and lengths, as the services document them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from hashlib import blake2b
from typing import Any, ClassVar

REDACTED = "[redacted]"
_LONGEST_NAME = 200
_SHORTEST_WORD = 18
"""Characters of the shortest form below; a word is what stands between spaces."""

_SHORT = 40
"""Characters of a text that is likely to come again."""

_START = r"(?<![\w-])"
_BODY = r"[\w-]{16,}"

_PRIVATE_KEY = (
    r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----(?:(?:\\n|\s){0,3}[A-Za-z0-9+/=]{20,80}){0,80}"
    r"(?:(?:\\n|\s){0,3}[A-Za-z0-9+/=]{1,80})?"
)
_HEX = r"[0-9a-f]{32,}"


def _after(*prefixes: str, body: str = _BODY) -> list[tuple[str, str]]:
    """Return the forms of secrets that begin with one of some prefixes."""
    return [(prefix, f"{_START}{re.escape(prefix)}{body}") for prefix in prefixes]


_KEY = rf"{_START}(?:sk|pk|rk|key)[-_]{_BODY}"
WORDS: tuple[tuple[str, str], ...] = (
    *[(part, _KEY) for part in ("k-", "k_", "key-")],  # OpenAI, Anthropic, Stripe, Mailgun
    *_after("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"),
    *_after("glpat-", "gldt-", "glrt-", "glptt-", "glft-", "gloas-", "glsoat-", "glagent-"),
    *_after("xoxa-", "xoxb-", "xoxp-", "xoxr-", "xoxs-", "xoxe-", "xoxe.", "xapp-"),  # Slack
    ("hooks.slack.com", r"hooks\.slack\.com/(?:services|workflows)/[\w/-]{20,}"),
    ("/api/webhooks/", r"/api/webhooks/[0-9]{8,}/[\w-]{20,}"),  # Discord
    ("IA", r"(?<!\w)A(?:KI|SI)A[0-9A-Z]{16}(?!\w)"),  # Amazon
    ("eyJ", rf"{_START}eyJ[\w-]{{10,}}\.[\w-]{{10,}}\.[\w-]*"),  # JSON web tokens
    *_after("AIza", "GOCSPX-", body=r"[\w-]{20,}"),  # Google
    *_after("ya29.", "1//0", body=r"[\w.-]{20,}"),
    *_after("hf_", "npm_", "pypi-", "rubygems_", "CLOJARS_", "dckr_pat_", "dckr_oat_"),
    *_after("gsk_", "xai-", "pplx-", "nvapi-", "r8_", "tvly-", "lsv2_", "ntn_", "secret_"),
    ("SG.", rf"{_START}SG\.[\w-]{{16,}}\.[\w-]{{16,}}"),  # SendGrid
    ("-us", r"(?<!\w)[0-9a-f]{32}-us[0-9]{1,2}(?!\w)"),  # Mailchimp
    *_after("SK", "AC", body=r"[0-9a-f]{32}(?!\w)"),  # Twilio
    *_after("dop_v1_", "doo_v1_", "dor_v1_", "sbp_", "pscale_", "shpat_", "shpca_", "shppa_"),
    *_after("shpss_", "sq0atp-", "sq0csp-", "whsec_", "lin_api_", "figd_", "fm2_", "HRKU-"),
    *_after("PMAK-", "pul-", "sntrys_", "sntryu_", "glc_", "glsa_", "NRAK-", "ATATT3"),
    *_after("dapi", body=_HEX),  # Databricks
    *_after("hvs.", "hvb.", "dp.pt.", "dp.st.", "AKCp"),  # Vault, Doppler, Artifactory
    (".atlasv1.", rf"{_START}\w{{10,}}\.atlasv1\.[\w-]{{16,}}"),
    ("AGE-SECRET-KEY-", rf"AGE-SECRET-KEY-1{_BODY}"),
    (":AA", r"(?<!\w)[0-9]{8,10}:AA[\w-]{30,}"),  # Telegram
)
"""Forms within one word, each after something that every text with one holds."""

_VALUE = r"[^\s\"',;<>&\\]"
_NAME_ENDS = r"\\{0,3}[\"']?\s{0,5}[=:]\s{0,5}\\{0,3}[\"']?"
_NAMED = (
    r"((?i:bearer\s{1,5}|(?:password|passwd|passphrase|secret|token|api[_-]?key|access[_-]?key|"
    rf"account[_-]?key|private[_-]?token){_NAME_ENDS})){_VALUE}{{8,}}"
)
NAMES: tuple[tuple[str, str], ...] = (
    *[(part, _NAMED) for part in ("bearer", "pass", "secret", "token", "api", "access")],
    *[(part, _NAMED) for part in ("account", "private")],
    ("basic", rf"((?i:authorization{_NAME_ENDS}basic\s{{1,5}}))[A-Za-z0-9+/=_-]{{4,}}"),
    ("basic", r"((?i:basic)\s{1,5})(?=[A-Za-z]*[0-9+/])[A-Za-z0-9+/]{10,}={0,2}"),
    (
        "cookie",
        r"((?i:cookie\\{0,3}[\"']?\s{0,5}[=:]\s{0,5}\\{0,3}[\"']?))[^\s\"'\\][^\r\n\"'\\]{3,}",
    ),
    ("auth", r"(\\{0,3}\"_?auth\\{0,3}\"\s{0,5}:\s{0,5}\\{0,3}\")[A-Za-z0-9+/=]{8,}"),  # docker
    ("_auth", r"(_auth(?:Token)?\s{0,5}=\s{0,5}[\"']?)[^\s\"']{8,}"),  # npmrc
    ("login", r"((?i:login)\s{1,20}\S{1,200}\s{1,20}(?i:password)\s{1,20})\S{3,}"),  # netrc
    ("://", r"([A-Za-z][\w+.-]{0,30}://[^\s/:@\"'<>]{0,200}:)[^\s/@\"'<>]{1,500}(?=@)"),
)
"""Forms that follow a name, each after a part, in small letters, that every text with one holds."""

_HIDDEN = frozenset(
    {
        *("password", "passwd", "passphrase", "secret", "token", "apikey", "xapikey"),
        *("accesskey", "secretkey", "secretaccesskey", "accountkey", "privatekey"),
        *("clientsecret", "accesstoken", "refreshtoken", "idtoken", "authtoken", "sessiontoken"),
        *("authorization", "proxyauthorization", "cookie", "setcookie"),
    }
)
_SHORTEST_VALUE = 8
_OTHER_CASES = re.compile("[\u017f\u0130\u0131]")
"""Letters that an expression takes for s and i, and `str.lower` does not."""

_MOST_PATTERNS = 256


class Redaction:
    """Takes secrets out of texts and of JSON-like values.

    Well-known forms are found anywhere in a text, and so is what follows a name like
    ``password=``, ``Authorization: Basic`` or ``"token":``. A secret in a text is replaced by a
    short digest, so that two that differ still differ.

    Args:
        entries: further names whose values are replaced, with ``*`` as in ``"*token*"``; an entry
            without ``*`` is also how further secrets begin, e.g. ``"acme-key-"``.
    """

    def __init__(self, entries: Iterable[str] = ()) -> None:
        given = [entry for entry in entries if entry.strip("*")]
        prefixes = [entry for entry in given if "*" not in entry]
        self._begins = tuple(
            (entry, rf"{re.escape(entry)}[^\s\"']{{1,2000}}") for entry in prefixes
        )
        self._named = tuple(
            (max(entry.split("*"), key=len).lower(), _of_name(entry)) for entry in given
        )
        self._own = [re.compile(_name_pattern(entry, 200), re.IGNORECASE) for entry in given]
        self._patterns: dict[tuple[str, ...], re.Pattern[str]] = {}
        self.hides = lru_cache(maxsize=4096)(self._hides)
        self._short = lru_cache(maxsize=4096)(self._redacted)  # names of fields, mostly

    def _hides(self, name: str) -> bool:
        """Whether the values of a field or header of this name are secret by an own entry."""
        return any(own.fullmatch(name[:_LONGEST_NAME]) for own in self._own)

    def __call__(self, text: str) -> str:
        """Return the text without its secrets."""
        return self._short(text) if len(text) <= _SHORT else self._redacted(text)

    def _redacted(self, text: str) -> str:
        """Return the text without its secrets.

        Only those forms are looked for of which the text holds a part: an expression for all of
        them takes milliseconds for the output of one call.
        """
        forms = [form for part, form in self._begins if part in text]
        long = " ".join([word for word in text.split() if len(word) >= _SHORTEST_WORD])
        if long:
            forms += [form for part, form in WORDS if part in long]
        if "PRIVATE KEY" in text:
            forms.append(_PRIVATE_KEY)
        lower = text.lower()
        odd = not text.isascii() and _OTHER_CASES.search(text) is not None
        forms += [form for part, form in self._named if odd or part in lower]
        forms += [form for part, form in NAMES if odd or part in lower]
        return self._pattern(tuple(dict.fromkeys(forms))).sub(_digested, text) if forms else text

    def of(self, value: Any) -> Any:
        """Return a JSON-like value without secrets: in texts, under names, in lists of headers."""
        return _Walk(self).value(value)

    def hidden(self, name: str, value: Any) -> str | None:
        """Return what stands for a value whose name says that it is secret; None if none does."""
        if self.hides(name):
            return REDACTED
        known = name.replace("-", "").replace("_", "").lower() in _HIDDEN
        if known and isinstance(value, str) and len(value) >= _SHORTEST_VALUE:
            return _digest(value)
        return None

    def _pattern(self, forms: tuple[str, ...]) -> re.Pattern[str]:
        """Return one expression for several forms; those that come first win."""
        found = self._patterns.get(forms)
        if found is None:
            found = re.compile("|".join(forms))
            if len(self._patterns) < _MOST_PATTERNS:
                self._patterns[forms] = found
        return found


def _name_pattern(entry: str, longest: int) -> str:
    return rf"[\w.-]{{0,{longest}}}".join(re.escape(part) for part in entry.split("*"))


def _of_name(entry: str) -> str:
    """Return the form of what follows a name of the user's in a text."""
    return rf"((?i:{_name_pattern(entry, 60)}){_NAME_ENDS}){_VALUE}{{1,2000}}"


def _digested(match: re.Match[str]) -> str:
    name = next((group for group in match.groups() if group is not None), "")
    return name + _digest(match[0][len(name) :])


def _digest(secret: str) -> str:
    digest = blake2b(secret.encode("utf-8", "surrogatepass"), digest_size=2).hexdigest()
    return f"[redacted {digest}]"


Redactor = Callable[[Mapping[str, Any]], Mapping[str, Any]]


def redactor(entries: Iterable[str] = ()) -> Redactor:
    """Return a function that takes secrets out of a payload, at any depth.

    Args:
        entries: names and beginnings of further secrets, as for `Redaction`.
    """
    return Redaction(entries).of


LONGEST_TEXT = 8_000
LONGEST_EVENT = 200_000
_EDGE = 3_500
_MARGIN = 300
_LONGEST_LIST = 2_000
_DEEPEST = 60


def bounded(value: Any, redact: Redaction) -> Any:
    """Return a JSON-like value without secrets, its texts, lists, depth and size cut to a limit.

    Of a longer text, head and tail are left, and a digest, so that two that differ in the middle
    still differ.

    Args:
        value: of one event.
        redact: takes out secrets, in texts and under names.
    """
    return _Bounder(redact).value(value)


class _Walk:
    """Takes secrets out of one JSON-like value: of texts, and of what stands under a name."""

    deepest: ClassVar[int | None] = None
    longest_list: ClassVar[int | None] = None

    def __init__(self, redact: Redaction) -> None:
        self._redact = redact

    def value(self, value: Any, depth: int = 0) -> Any:
        """Return the value without secrets; None where it is nested too deeply."""
        if isinstance(value, str):
            return self._text(value)
        if self.deepest is not None and depth >= self.deepest:
            return None
        if isinstance(value, Mapping):
            return self._mapping(value, depth)
        if isinstance(value, list | tuple):
            if len(value) == 2 and isinstance(value[0], str):  # a header
                return [self._text(value[0]), self._under(value[0], value[1], depth)]
            return [self.value(item, depth + 1) for item in value[: self.longest_list]]
        return value

    def _mapping(self, value: Mapping[Any, Any], depth: int) -> dict[Any, Any]:
        named = value.get("name", value.get("key"))
        name = named if isinstance(named, str) and "value" in value else None
        return {
            self._text(key) if isinstance(key, str) else key: self._under(
                name if name is not None and key == "value" else str(key), item, depth
            )
            for key, item in tuple(value.items())[: self.longest_list]
        }

    def _under(self, name: str, item: Any, depth: int) -> Any:
        hidden = self._redact.hidden(name, item)
        return self.value(item, depth + 1) if hidden is None else hidden

    def _text(self, text: str) -> str:
        return self._redact(text)


class _Bounder(_Walk):
    """Also cuts; when it has kept `LONGEST_EVENT` characters, only digests are left."""

    deepest: ClassVar[int | None] = _DEEPEST
    longest_list: ClassVar[int | None] = _LONGEST_LIST
    _room = LONGEST_EVENT

    def _text(self, text: str) -> str:
        if self._room <= 0 and len(text) > _SHORT:
            return f"[{len(text)} characters left out, {_content_digest(text)}]"
        kept = _ends(text, self._redact) if len(text) > LONGEST_TEXT else self._redact(text)
        self._room -= len(kept)
        return kept


def _ends(text: str, redact: Redaction) -> str:
    """Return both ends; secrets that cross an inner edge are found by the margin beyond it."""
    left_out = len(text) - 2 * _EDGE
    head = redact(text[: _EDGE + _MARGIN])[:_EDGE]
    tail = redact(text[-_EDGE - _MARGIN :])[-_EDGE:]
    return f"{head}\n[… {left_out} characters left out, {_content_digest(text)} …]\n{tail}"


def _content_digest(text: str) -> str:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
