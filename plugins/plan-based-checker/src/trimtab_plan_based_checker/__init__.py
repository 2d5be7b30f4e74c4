"""Completion check for LLM agents: no stop while steps of the plan are open."""
