"""Versions of a prompt and of its tools: digests of what they say, so that a change shows."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import lru_cache
from hashlib import blake2b
from typing import Any

import attrs

from trimtab_trace._envelope import References


@attrs.frozen
class Versions:
    """What the events of one prompt's runs refer to.

    Args:
        prompt: of the prompt; empty where it has neither sections nor tools.
        tools: of its tools, by name.
    """

    prompt: str = ""
    tools: Mapping[str, str] = attrs.field(factory=dict)

    def added(self, references: References, record: Any) -> References:
        """Return `references` with the versions, as far as they say none.

        Args:
            references: of an event.
            record: what happened; a call of a tool names it.
        """
        tool = getattr(record, "tool", None)
        version = self.tools.get(tool, "") if isinstance(tool, str) else ""
        return _added(references, self.prompt, version)


@lru_cache(maxsize=1024)
def _added(references: References, prompt: str, tool: str) -> References:
    return attrs.evolve(
        references,
        prompt_version=references.prompt_version or prompt or None,
        tool_version=references.tool_version or tool or None,
    )


def versions_of(prompt: Any) -> Versions:
    """Return the versions of a prompt's template: digests of its sections, and of each tool.

    A tool changes with its description or its parameters, not with its code.

    Args:
        prompt: as a run knows it; one that declares nothing has no version.
    """
    template = getattr(prompt, "template", None)
    sections = tuple(getattr(template, "sections", ()))
    tools = {
        tool.name: _digest([tool.name, tool.description, tool.schema])
        for tool in (*getattr(template, "tools", ()), *_tools(sections))
    }
    if not sections and not tools:
        return Versions()
    texts = [[section.key, section.title, section.template] for section in sections]
    return Versions(_digest([texts, sorted(tools.items())]), tools)


def _tools(sections: Iterable[Any]) -> Iterable[Any]:
    return (tool for section in sections for tool in section.tools)


def _digest(value: Any) -> str:
    text = json.dumps(value, sort_keys=True, default=str)
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
