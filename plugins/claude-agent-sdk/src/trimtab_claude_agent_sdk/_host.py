"""How the Claude Agent SDK delivers a provider's text: as Claude Code does."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Any

import attrs

from trimtab import Prompt
from trimtab_claude_code.hooks import CLAUDE_CODE, check_prompt

CLAUDE_AGENT_SDK = attrs.evolve(CLAUDE_CODE, name="claude-agent-sdk")
"""The Claude Agent SDK, described."""


def check_prompts(prompts: Iterable[Prompt[Any]]) -> None:
    """Warn of providers that are not heard at some of their decision points.

    Raises:
        UnsupportedPoint: a provider would never be heard.
    """
    for prompt in prompts:
        for text in check_prompt(prompt, CLAUDE_AGENT_SDK):
            warnings.warn(f"prompt {prompt.name!r}: {text}", stacklevel=3)
