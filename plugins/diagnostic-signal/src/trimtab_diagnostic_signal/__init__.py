"""Guidance for LLM agents: says so when tool calls keep failing for one reason."""
