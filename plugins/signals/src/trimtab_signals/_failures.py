"""Whether a tool call failed, and the signature by which one failure is known again.

A failure is told by the host's flag, an exit status, a structured ``success: false`` or by what
a tool's profile declares; never by words such as "error" in an answer.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from trimtab import Outcome, ToolInvoked, ToolProfile
from trimtab.text import LazyPattern
from trimtab_signals._answers import refuses
from trimtab_signals._canonical import IGNORED_PARAMS, digest
from trimtab_signals._envelope import without_ticks
from trimtab_signals._failure_lines import best_line, identifying, lines_of, sounds_like_failure
from trimtab_signals._normalise import bounded, normalise_text
from trimtab_signals._shell import expects_status

# A member that is looked up in its class takes ten times as long as a name.
_OK, _DENIED, _INTERRUPTED = Outcome.OK, Outcome.DENIED, Outcome.INTERRUPTED
_EXIT = LazyPattern(
    r"^[^\w\n]*(?:(?:the )?(?:process|command|shell|script) )?"
    r"(?:(?:(?:failed|finished|completed|exited|terminated) with )?"
    r"(?:exit(?:ed)?(?: with)? (?:code|status)|exitcode|return ?code|status|code)\W{1,3}"
    r"|(?:exited with|exit(?:ed)?\s?[:=])\W{0,3})(-?\d+)[^\w\n]*$"
    r"|^[(\[]exit(?: code| status)?\W{1,2}(-?\d+)[,;:][^\n]{0,60}[)\]]$"  # with a remark
    r"|<(?:returncode|exit_code)>\s*(-?\d+)\s*</",
    re.IGNORECASE | re.MULTILINE,
)
_EXIT_FIELDS = ("exit_code", "exitCode", "returncode", "return_code", "exit_status")
_SUCCESS_FIELDS = ("success", "ok", "succeeded")
_ERROR_FIELDS = ("is_error", "isError", "iserror")
_MESSAGE_FIELDS = ("message", "detail", "msg", "title", "reason", "description", "error")
_MUTE = "error"
"""Stands for an object of an error none of whose fields is known."""
_CODE_FIELDS = ("status", "statusCode", "status_code", "code", "errcode", "errorCode")
_HTTP_ERROR = 400
"""The first status of HTTP that is an error (RFC 9110)."""
_STATUS_LINES = 4
_EDGE = 200
"""Lines and characters of each end in which a host states how a call ended."""
_PLACES = LazyPattern(
    r"(?i:\b(?:line|lines|column|col|char|character|position|offset|cell|row|index)s?\b"
    r"[ :=#]{1,2}(?:line |cell )?\d+)|(?<=[\w)\]]):\d+(?::\d+)?(?!\d)|\(\d+, ?\d+\)"
)
_QUOTABLE = LazyPattern(r"\w[\w./@-]*")
# "name: what is wrong", where the name repeats the arguments, however it was cut out of them.
_SUBJECT = LazyPattern(r"^[^:~]*~[^:]*(?=: )")
# What hosts answer for the user who said no, where they call it an error.
_REFUSED = LazyPattern(
    r"\buser (?:doesn't|does not|didn't|did not) want\b|\buser (?:has )?(?:declined|rejected)\b"
    r"|\b(?:cancelled|declined|denied|rejected|refused) by (?:the )?user\s*(?:$|[.:,;)\n])",
    re.IGNORECASE,
)
# How tools that change something say in words that they didn't.
_NOT_DONE = LazyPattern(
    r"^\W*(?:error\b|failed to\b|could not\b|cannot\b|unable to\b|no (?:replacement|match"
    r"|occurrence"
    r"|changes?)\b[^.\n]{0,40}\b(?:found|made|performed|applied|was|were)\b"
    r"|.{0,80}\bnot (?:been )?"
    r"(?:applied|performed|saved|replaced|written|updated)\b|.{0,60}\bintroduced .{0,20}errors?\b"
    r"|.{0,60}\b(?:not found in|did(?: not|n't) match|not unique|is rejected|was rejected)\b)",
    re.IGNORECASE,
)
_SIGNATURE = 240
_ECHOES = 24
"""Characters of a problem's name, and values of the call that are taken out of it."""
_SETS_OFF = "'\":`"
_BETWEEN = LazyPattern(r"(?<!\w)(?!\w)")


def exit_status(result: Any) -> int | None:
    """Return the exit status that an answer states, in a field or on a line of its own."""
    if isinstance(result, Mapping):
        return next((v for k in _EXIT_FIELDS if type(v := result.get(k)) is int), None)
    return _stated_status(result) if isinstance(result, str) else None


def _stated_status(text: str) -> int | None:
    """Return the status on a line of its own: among the first lines, else the last of all."""
    for edge in (text,) if len(text) <= _EDGE else (text[:_EDGE], text[-_EDGE:]):
        if "xit" in edge or "returncode" in edge or "eturn code" in edge:
            lines = edge.strip().splitlines()
            near = lines[:_STATUS_LINES] if edge is text else lines[-_STATUS_LINES:]
            for match in _EXIT.finditer("\n".join(near)):
                return int(next(group for group in match.groups() if group is not None))
    return None


def structured_failure(result: Any) -> bool:
    """Tell whether an answer says in a field of its own that the call failed."""
    if not isinstance(result, Mapping):
        return False
    if any(result.get(name) is False for name in _SUCCESS_FIELDS):
        return True
    if any(result.get(name) is True for name in _ERROR_FIELDS):
        return True
    return _error_of(result) != "" or _is_problem(result)


def _error_of(result: Mapping[str, Any]) -> str:
    """Return what an error in a field of its own says; empty if there is none."""
    error = result.get("error")
    if isinstance(error, str):
        return error
    if isinstance(error, Mapping):
        return _message(error) or (_MUTE if error else "")
    errors = result.get("errors")
    if isinstance(errors, list) and errors and isinstance(errors[0], Mapping):
        return _message(errors[0])
    return ""


def _message(holder: Mapping[str, Any]) -> str:
    found = (holder.get(name) for name in _MESSAGE_FIELDS)
    return next((text for text in found if isinstance(text, str) and text.strip()), "")


def _is_problem(result: Mapping[str, Any]) -> bool:
    """Tell whether a code beside a message is one of failure, as in problem details."""
    if result.get("status") == "error":
        return True
    if not _message(result):
        return False
    kind = result.get("__type")
    if isinstance(kind, str) and kind.rpartition("#")[2].endswith(("Exception", "Error")):
        return True
    codes = [result.get(name) for name in _CODE_FIELDS]
    if any(type(code) is int and code >= _HTTP_ERROR for code in codes):
        return True
    return any(isinstance(code, str) and code for code in codes) and _only_complains(result)


def _only_complains(result: Mapping[str, Any]) -> bool:
    """Tell whether an answer has nothing but a named code and a message, one of which refuses."""
    others = (
        value
        for key, value in without_ticks(result).items()
        if key not in _CODE_FIELDS and key not in _MESSAGE_FIELDS
    )
    codes = (code for name in _CODE_FIELDS if isinstance(code := result.get(name), str))
    refused = refuses(_message(result)) or any(map(sounds_like_failure, codes))
    return refused and not any(others)


def failed(
    event: ToolInvoked,
    said: str,
    holders: Sequence[Mapping[str, Any]],
    profile: ToolProfile,
    command: str | None,
) -> bool:
    """Tell whether the call failed, as far as flags, statuses and declarations tell."""
    outcome = event.outcome
    if outcome is not _OK and (outcome is _DENIED or outcome is _INTERRUPTED):
        return False
    status = None
    if command is not None or holders:
        stated = (exit_status(one) for one in (event.result, *holders))
        status = next((one for one in stated if one is not None), None)
        if status is not None and (
            status in profile.expected_exit_codes
            or (command is not None and expects_status(command, status))
        ):
            return False
    if status or outcome is not _OK:
        return outcome is not Outcome.ERROR or not _went_well(said, command)
    if any(map(structured_failure, holders)):
        return True
    if profile.error_pattern is not None:
        return profile.error_pattern.search(bounded(said)) is not None
    return not holders and bool(profile.writes) and _NOT_DONE.match(said[:_EDGE]) is not None


def _went_well(said: str, command: str | None) -> bool:
    """Tell whether an error is the user's refusal, or a search that found nothing, without a word;
    nothing went wrong then.
    """
    if not said.strip():
        return command is not None and expects_status(command, 1)
    return _REFUSED.search(said[:_EDGE]) is not None


def failure_text(said: str, holders: Sequence[Mapping[str, Any]]) -> str:
    """Return what a failed call said: a field of its own that complains, else the whole."""
    for holder in reversed(holders):
        complaint = _error_of(holder)
        if complaint and complaint != _MUTE:  # what it says may stand in a field of any language
            return complaint
    inner = holders[-1] if holders else {}
    texts = (inner.get(name) for name in ("stderr", "message", "detail", "msg", "output", "text"))
    return next((text for text in texts if isinstance(text, str) and text.strip()), said)


def error_signature(text: str, params: Any = None) -> str:
    """Return what is the same whenever this failure comes back, and another for another failure.

    The key line, normalised, without line and column numbers, and without the values of `params`
    that it repeats: ``element 3 not found`` for ``{"i": 3}`` is the failure of any other element.
    Counts and codes stay. If several lines identify the failure, such as the names of the tests
    that failed, ``#`` and a fingerprint of them all follow.

    Args:
        text: the output or error.
        params: arguments of the call.
    """
    lines = lines_of(text)
    return signatures(lines, best_line(lines), params)[0]


def signatures(lines: list[str], key_line: str, params: Any) -> tuple[str, str]:
    """Return `error_signature` of a text, and the same without looking at `params`."""
    normal = [_without_places(line) for line in (key_line, *identifying(lines))]
    signature = _signature(normal, params)
    return signature, _signature(normal, None) if params else signature


def _signature(normal: list[str], params: Any) -> str:
    line, *others = [_identity(text, params) for text in normal]
    more = set(others) - {line, "", "~"}
    return f"{line} #{digest('|'.join(sorted(more)))}" if more else line


def _without_places(line: str) -> str:
    return str(_PLACES.sub("~", normalise_text(line.strip()[: 2 * _SIGNATURE])))


def _identity(text: str, params: Any) -> str:
    return str(_SUBJECT.sub("~", _without_echo(text, params)))[:_SIGNATURE]


def _without_echo(text: str, params: Any) -> str:
    for value in sorted(set(_echoes(params, text)), key=len, reverse=True)[:_ECHOES]:
        # A short word is everywhere; it is an echo where punctuation sets it off.
        text = _replaced(text, value, alone=len(value) <= 2 and value.isalpha())
    return text


def _replaced(text: str, value: str, *, alone: bool) -> str:
    """Return `text` with ``~`` wherever `value` stands as a word; if `alone`, only where a quote,
    a colon or a backtick follows. An expression of its own for each value would have to be
    compiled.
    """
    if not value:
        return str(_BETWEEN.sub("~", text))
    parts: list[str] = []
    end, start = 0, text.find(value)
    while start >= 0:
        stop = start + len(value)
        behind = text[stop : stop + 1]
        follows = behind in _SETS_OFF and behind != "" if alone else not _is_word(behind)
        if follows and not _is_word(text[start - 1 : start]):
            parts += text[end:start], "~"
            end = stop
            start = text.find(value, stop)
        else:
            start = text.find(value, start + 1)
    return "".join((*parts, text[end:])) if parts else text


def _is_word(character: str) -> bool:
    return character.isalnum() or character == "_"


def _echoes(params: Any, text: str) -> Iterator[str]:
    """Yield the values in `params`, and the words in them, that `text` repeats."""
    for value in _scalars(params):
        if len(value) <= _SIGNATURE and value in text:
            yield value
        if len(value) <= _SIGNATURE:  # the names in a longer text are its subject, no echo
            words = {*_QUOTABLE.findall(value), *value.split()}
            yield from (word for word in words if word in text)


def _scalars(params: Any, depth: int = 0) -> Iterator[str]:
    if isinstance(params, str):
        yield params.strip()
    elif isinstance(params, int | float) and not isinstance(params, bool):
        yield str(params)
    elif isinstance(params, Mapping) and depth < 4:
        told = (value for key, value in params.items() if key not in IGNORED_PARAMS)
        yield from _all_scalars(told, depth)
    elif isinstance(params, list | tuple) and depth < 4:
        yield from _all_scalars(params[:_ECHOES], depth)


def _all_scalars(values: Iterable[Any], depth: int) -> Iterator[str]:
    for value in values:
        yield from _scalars(value, depth + 1)
