"""Feedback for LLM agents: how much time, and how much of the budget, is left."""

from trimtab_deadline_feedback._provider import DeadlineFeedback

__all__ = ["DeadlineFeedback"]
