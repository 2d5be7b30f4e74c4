"""The texts that are compared, and where they stand."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import attrs

from trimtab_diagnostic_signal._provider import TEXTS as FAILURES
from trimtab_doom_loop._provider import TEXTS as LOOPS
from trimtab_signals import ToolProfiles, name_words
from words.guided import PROVIDERS, false_alarm, request_at
from words.moments import Moment

NEUTRAL = (
    "This is an automatic note. The session goes on as before and is kept for later reference. "
    "No answer to this note is needed. The clock is correct and all systems are in their usual "
    "state. The next note comes when there is something to report. "
)
DUE_ARMS = (
    "none",
    "placebo",
    "shipped",
    "seed",
    "terse",
    "shipped@user",
    "shipped@tool",
)
MORE_ARMS = ("unlisted", "likeness", "shipped#2", "shipped#3")
"""Asked for by name only; see the addenda of the plan."""
ORDER_ARMS = ("none", "placebo", "shipped", "likeness")
"""Those of the second pass."""
QUIET_ARMS = ("none", "placebo", "shipped")
_LIST = re.compile(r"\b[Cc]all ([\w-]+(?: or [\w-]+)?)\.")
"""The tools that a text proposes; "Call X again" and "Call X for" speak of what was called."""
BLOCK = re.compile(r"(?s)<guidance source=\"([^\"]*)\">(.*?)</guidance>")


@attrs.frozen
class Request:
    """What one arm sends at a moment.

    Args:
        arm: its name.
        messages: the conversation, the text included.
        text: what was placed; empty for the arm without.
        listed: tools that the shipped text names.
    """

    arm: str
    messages: Sequence[Any]
    text: str
    listed: tuple[str, ...]


def arms_at(moment: Moment) -> tuple[str, ...]:
    """Return the arms of the first pass at a moment."""
    return DUE_ARMS if moment.due else QUIET_ARMS


def requests(moment: Moment, names: Sequence[str] = ()) -> list[Request]:
    """Return what each arm sends at `moment`.

    Args:
        moment: one at which guidance is due, or not.
        names: of the arms; all that fit the moment where empty.
    """
    shipped = text_at(moment)
    found = _LIST.search(shipped)
    listed = tuple(found[1].split(" or ")) if found else ()
    made = []
    for arm in names or arms_at(moment):
        text = _text(arm, moment, shipped, listed)
        made.append(Request(arm, placed(moment.messages(), text, arm), text, listed))
    return made


def text_at(moment: Moment, **settings: Any) -> str:
    """Return the block that the providers place at a moment; a false alarm where none is due."""
    if not moment.due:
        return false_alarm(moment)
    sent = request_at(moment, **settings)
    if len(sent) == len(moment.messages()):
        if moment.right:
            return ""  # written without knowing when the providers speak: their silence counts
        raise ValueError(f"{moment.id}: the providers say nothing here")
    return str(sent[-1]["content"])


def by_likeness(
    tools: Iterable[str] | None, tried: Iterable[str], profiles: ToolProfiles, **_: Any
) -> str:
    """Return the tool that the order of the first pass puts first: by the likeness of names."""
    used = set(tried)
    words = {word for name in used for word in name_words(name)}

    def rank(name: str) -> tuple[bool, int, str]:
        profile = profiles.of(name)
        reads = bool(profile.read_only) or bool(profile.command_params)
        return (not reads, -len(words.intersection(name_words(name))), name)

    left = (n for n in tools or () if n not in used and not profiles.of(n).polling)
    return min(left, key=rank, default="")


@contextmanager
def choosing(function: Callable[..., str]) -> Iterator[None]:
    """Let the providers choose the tool that a text names in another way."""
    with patch("trimtab_signals._untried.proposed", function):
        yield


def _text(arm: str, moment: Moment, shipped: str, listed: Sequence[str]) -> str:
    kind, _, level = arm.partition("@")[0].partition("#")
    if level:
        return text_at(moment, options=_at_level(int(level)))
    if kind in ("none", "shipped"):
        return shipped if kind == "shipped" else ""
    if kind == "placebo":
        return BLOCK.sub(neutral_block, shipped)
    if kind == "terse":
        last = moment.steps[-1].tool
        follow = f" Call one of these: {', '.join(listed)}." if listed else ""
        return _block("doom-loop", f"Do not call {last} now.{follow}")
    return _as_before(kind, moment)


def _as_before(kind: str, moment: Moment) -> str:
    """Return what the providers say with other settings, or said once."""
    if kind == "seed":
        return text_at(moment, options=_with("wording", "seed"))
    if kind in ("unlisted", "likeness"):
        with choosing(by_likeness if kind == "likeness" else lambda *_, **__: ""):
            return text_at(moment)
    raise ValueError(f"no arm {kind!r}")


def neutral(length: int) -> str:
    """Return a text that says nothing, of `length` characters."""
    repeated = NEUTRAL * (length // len(NEUTRAL) + 1)
    return repeated[:length].rstrip()


def neutral_block(found: re.Match[str]) -> str:
    """Return the block that replaces one of the providers."""
    return _block(found[1], neutral(len(found[2])))


def placed(messages: Sequence[Any], text: str, arm: str) -> list[Any]:
    """Return the messages with the text where the arm has it."""
    if not text:
        return list(messages)
    where = arm.partition("@")[2]
    if where == "tool":
        last = messages[-1]
        return [*messages[:-1], {**last, "content": f"{last['content']}\n\n{text}"}]
    return [*messages, {"role": where or "system", "content": text}]


def _block(source: str, text: str) -> str:
    return f'<guidance source="{source}">{text}</guidance>'


def _at_level(level: int) -> Mapping[str, Mapping[str, Any]]:
    """Return options by which each provider says at first what it says at a later level."""
    texts = {"doom-loop": LOOPS, "diagnostic-signal": FAILURES}
    later = {name: {"texts": {1: found[level]}} for name, found in texts.items()}
    return {name: {**options, **later.get(name, {})} for name, options in PROVIDERS.items()}


def _with(option: str, value: Any) -> Mapping[str, Mapping[str, Any]]:
    return {name: {**options, option: value} for name, options in PROVIDERS.items()}
