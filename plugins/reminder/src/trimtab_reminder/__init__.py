"""Guidance for LLM agents: repeats the rules of the user where they fade in long runs."""

from trimtab_reminder._provider import Reminder
from trimtab_reminder._rule import Rule

__all__ = ["Reminder", "Rule"]
