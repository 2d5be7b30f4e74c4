"""Whether a tool call failed, and the signature by which one failure is known again.

A failure is told by the host's flag, an exit status, a structured ``success: false`` or by what
a tool's profile declares; never by words such as "error" in an answer.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from trimtab._events.run import Outcome, ToolInvoked
from trimtab._types.patterns import LazyPattern
from trimtab.trajectory._normalise import bounded, normalise_text, text_of
from trimtab.trajectory._profiles import ToolProfile
from trimtab.trajectory._shell import says_no

_EXIT = LazyPattern(
    r"^\W*(?:(?:the )?(?:process|command|shell|script) )?"
    r"(?:(?:failed|finished|completed|exited|terminated) with )?"
    r"(?:exit(?:ed)?(?: with)?(?: (?:code|status))?|return ?code|status|code)\W{1,3}(-?\d+)\W*$"
    r"|<(?:returncode|exit_code)>\s*(-?\d+)\s*</",
    re.IGNORECASE | re.MULTILINE,
)
_EXIT_FIELDS = ("exit_code", "exitCode", "returncode", "return_code", "exit_status")
_SUCCESS_FIELDS = ("success", "ok", "succeeded")
_ERROR_FIELDS = ("is_error", "isError", "iserror")
_EDGE = 200
_LONGEST_JSON = 20_000
_TELLING = LazyPattern(
    r"error|exception|fail|fatal|cannot|can't|could not|denied|refused|not found|no such|invalid"
    r"|unknown|timed? ?out|missing|unable|must",
    re.IGNORECASE,
)
_MUTE = LazyPattern(
    r"\W*(?:</?[\w:]+>\W*)*(?:error|errors|failed|output|stderr|stdout)?\W*$",
    re.IGNORECASE,
)
_PLACES = LazyPattern(
    r"(?i:\b(?:line|lines|column|col|char|character|position|offset|cell|row|index)s?\b"
    r"[ :=#]{1,2}(?:line |cell )?\d+)|(?<=[\w)\]]):\d+(?::\d+)?(?!\d)|\(\d+, ?\d+\)"
)
_QUOTABLE = LazyPattern(r"\w[\w./@-]*")
# "name: what is wrong", where the name repeats the arguments, however it was cut out of them.
_SUBJECT = LazyPattern(r"^[^:]*~[^:]*(?=: )")
# What hosts answer for the user who said no, where they call it an error.
_REFUSED = LazyPattern(
    r"\buser (?:doesn't|does not|didn't|did not) want\b|\buser (?:has )?(?:declined|rejected)\b"
    r"|\b(?:cancelled|declined|denied|rejected|refused) by (?:the )?user\s*(?:$|[.:,;)\n])",
    re.IGNORECASE,
)
_SIGNATURE = 240
_ECHOES = 24


def exit_status(result: Any) -> int | None:
    """Return the exit status that an answer states, in a field or on a line of its own."""
    if isinstance(result, Mapping):
        return next((v for k in _EXIT_FIELDS if type(v := result.get(k)) is int), None)
    if not isinstance(result, str):
        return None
    return _stated_status(result)


def _stated_status(text: str) -> int | None:
    for edge in (text[-_EDGE:], text[:_EDGE]):
        if "xit" in edge or "returncode" in edge:
            for match in _EXIT.finditer(edge):
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
    error = result.get("error")
    return (isinstance(error, str) and bool(error)) or result.get("status") == "error"


def _parsed(result: str) -> Any:
    """Return an answer that is a JSON object as text, parsed; any other as it is."""
    if len(result) > _LONGEST_JSON:
        return result
    try:
        return json.loads(result)
    except ValueError:
        return result


def failed(event: ToolInvoked, profile: ToolProfile, command: str | None) -> bool:
    """Tell whether the call failed, as far as flags, statuses and declarations tell.

    Args:
        event: the ended call.
        profile: what is known about its tool.
        command: its command line, where the tool is a shell.
    """
    outcome = event.outcome
    if outcome is Outcome.DENIED or outcome is Outcome.INTERRUPTED:
        return False
    result = event.result
    if type(result) is str and result[:1] == "{":
        result = _parsed(result)
    is_text = type(result) is str
    status = exit_status(result) if command is not None or not is_text else None
    if status is not None and _answers_no(status, command, profile):
        return False
    if status or outcome is not Outcome.OK:
        return outcome is not Outcome.ERROR or not _refused(event)
    if is_text and profile.error_pattern is None:
        return False
    return structured_failure(result) or _declared(result, profile)


def _refused(event: ToolInvoked) -> bool:
    """Tell whether an error is the user's refusal; nothing went wrong then."""
    said = event.result if isinstance(event.result, str) else event.error
    return _REFUSED.search((said or "")[:_EDGE]) is not None


def _answers_no(status: int, command: str | None, profile: ToolProfile) -> bool:
    return status in profile.says_no or (command is not None and says_no(command, status))


def _declared(result: Any, profile: ToolProfile) -> bool:
    if profile.error_pattern is None:
        return False
    return profile.error_pattern.search(bounded(text_of(result))) is not None


def failure_text(event: ToolInvoked) -> str:
    """Return what a failed call said."""
    result = event.result
    if isinstance(result, str) and result[:1] == "{":
        result = _parsed(result)
    if isinstance(result, Mapping):
        for name in ("error", "stderr", "message", "output", "text"):
            if isinstance(result.get(name), str) and result[name].strip():
                return str(result[name])
    return text_of(result) or event.error or ""


def telling_line(text: str) -> str:
    """Return the line of a failure's text that says most: the last of a traceback, the first
    that sounds like a failure, else the last. Tags, rules, bare labels and exit statuses say
    nothing; empty where nothing else is there.
    """
    lines = [line for raw in bounded(text).splitlines() if (line := raw.strip())]
    lines = [line for line in lines if not _MUTE.match(line) and not _EXIT.match(line)]
    if not lines:
        return ""
    if any(line.startswith("Traceback") for line in lines):
        return lines[-1]
    return next((line for line in lines if _TELLING.search(line)), lines[-1])


def error_signature(text: str, params: Any = None) -> str:
    """Return what is the same whenever this failure comes back.

    The telling line, normalised, without line and column numbers, and with the values of `params`
    that it repeats taken out: ``element 3 not found`` for ``{"i": 3}`` is the failure of any
    other element. Counts and codes stay.
    """
    line = telling_line(text)[: 2 * _SIGNATURE]
    line = _without_echo(_PLACES.sub("~", normalise_text(line)), params)
    return _SUBJECT.sub("~", line)[:_SIGNATURE]


def _without_echo(text: str, params: Any) -> str:
    for value in sorted(set(_echoes(params, text)), key=len, reverse=True)[:_ECHOES]:
        # A short word is everywhere; it is an echo where punctuation sets it off.
        end = r"(?!\w)" if len(value) > 2 or not value.isalpha() else r"(?=['\":`])"
        text = re.sub(rf"(?<!\w){re.escape(value)}{end}", "~", text)
    return text


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
        yield from _all_scalars(params.values(), depth)
    elif isinstance(params, list | tuple) and depth < 4:
        yield from _all_scalars(params[:_ECHOES], depth)


def _all_scalars(values: Iterable[Any], depth: int) -> Iterator[str]:
    for value in values:
        yield from _scalars(value, depth + 1)
