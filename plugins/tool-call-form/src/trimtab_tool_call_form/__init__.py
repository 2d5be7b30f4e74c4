"""Guidance for LLM agents: reminds of the form of tool calls when one was written as text."""

from trimtab_tool_call_form._provider import ToolCallForm

__all__ = ["ToolCallForm"]
