"""Guidance for LLM agents: reminds of independent tool calls that could share one turn."""
