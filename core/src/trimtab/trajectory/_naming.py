"""How a text names a call, and which other tools it may propose."""

from __future__ import annotations

from collections.abc import Iterable

from trimtab._types.text import quote, shorten
from trimtab.trajectory._profiles import ToolProfiles, name_words
from trimtab.trajectory._records import CallRecord

LONGEST_NAME = 60
_LONGEST_CALL = 90
_MOST_TOOLS = 4


def tool_name(name: str, limit: int = LONGEST_NAME) -> str:
    """Return a tool's name for a sentence, bounded, and quoted where it is no plain word."""
    plain = name.replace("_", "").replace("-", "").replace(".", "")
    return name if plain.isalnum() and len(name) <= limit else quote(name, limit)


def describe_call(call: CallRecord, limit: int = _LONGEST_CALL) -> str:
    """Return a call as a text names it: ``read(path='a.py')``; one line, bounded.

    Args:
        call: its record.
        limit: characters.
    """
    arguments = quote(call.params_text.removeprefix("{").removesuffix("}"), 2 * limit)[1:-1]
    name = tool_name(call.tool, limit // 2)
    return f"{name}({shorten(arguments, limit - len(name) - 2)})"


def untried_tools(
    tools: Iterable[str] | None, tried: Iterable[str], profiles: ToolProfiles
) -> tuple[str, ...]:
    """Return up to four tools of an agent that it has not tried on a problem.

    Those that read come first, then those whose names are most like those tried.

    Args:
        tools: all that the agent has; None if unknown.
        tried: those that the problem is about.
        profiles: what is known about tools.
    """
    used = set(tried)
    words = {word for name in used for word in name_words(name)}

    def rank(name: str) -> tuple[bool, int, str]:
        profile = profiles.of(name)
        reads = bool(profile.read_only) or bool(profile.command_params)
        return (not reads, -len(words.intersection(name_words(name))), name)

    left = (n for n in tools or () if n not in used and not profiles.of(n).polling)
    return tuple(sorted(left, key=rank)[:_MOST_TOOLS])
