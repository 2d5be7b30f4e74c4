"""Guidance, feedback and completion checks on the OpenAI Agents SDK: `TrimtabRunner`."""

from trimtab_openai_agents._runner import (
    HOST,
    GuidedStream,
    TrimtabRunner,
)

__all__ = ["HOST", "GuidedStream", "TrimtabRunner"]
