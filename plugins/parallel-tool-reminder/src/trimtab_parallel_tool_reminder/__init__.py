"""Guidance for LLM agents: suggests asking for independent tool calls together."""

from trimtab_parallel_tool_reminder._provider import ParallelToolReminder

__all__ = ["ParallelToolReminder"]
