"""Guidance as the agent reads it."""

from __future__ import annotations

from collections.abc import Iterable

from trimtab.guidance.types import GuidanceInjection
from trimtab.text import block


def format_guidance(injections: Iterable[GuidanceInjection]) -> str:
    """Return one tagged, escaped block per injection; empty text for none."""
    return "\n".join(block("guidance", i.content, source=i.source) for i in injections)
