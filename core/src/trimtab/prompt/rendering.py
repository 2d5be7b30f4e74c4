"""A prompt as the model reads it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, TypeVar

import attrs

if TYPE_CHECKING:
    from trimtab.runtime.tools import Tool

Output = TypeVar("Output")


@attrs.frozen
class RenderedPrompt(Generic[Output]):
    """A prompt with its parameters filled in.

    Args:
        text: all enabled sections, each under its ``## Title``.
        tools: the tools of the template and of the enabled sections.
        output_type: type of the structured output, None for free text.
    """

    text: str
    tools: tuple[Tool[Any, Any], ...] = ()
    output_type: type[Output] | None = None


def render_section(title: str, body: str) -> str:
    """Return one section as Markdown; an empty body leaves the heading alone."""
    return f"## {title}\n\n{body}" if body else f"## {title}"


def join_sections(sections: tuple[str, ...]) -> str:
    """Return sections as one text, one blank line between them."""
    return "\n\n".join(text for text in sections if text)
