"""Feedback for LLM agents: reports how much time is left."""
