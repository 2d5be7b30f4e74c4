"""Guidance for LLM agents: says so when an agent repeats itself without progress."""
