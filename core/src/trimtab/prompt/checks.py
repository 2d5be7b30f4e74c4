"""Checks of what a prompt declares: validators of attrs fields."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from trimtab.errors import PromptError

if TYPE_CHECKING:
    import attrs


def some_text(_: object, attribute: attrs.Attribute[str], value: Any) -> None:
    """Check that a field holds text and not blanks alone.

    Raises:
        PromptError: it doesn't.
    """
    if not isinstance(value, str) or not value.strip():
        raise PromptError(f"{attribute.name} must be text, not {value!r:.100}")


def only_tools(_: object, __: object, tools: tuple[Any, ...]) -> None:
    """Check that a field holds tools.

    Raises:
        PromptError: it doesn't.
    """
    if tools:
        from trimtab.runtime.tools import Tool

        strange = [item for item in tools if not isinstance(item, Tool)]
        if strange:
            raise PromptError(f"tools hold Tool(…), not {strange[0]!r:.100}")
