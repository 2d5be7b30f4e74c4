"""Checks before the agent may stop (seed 003)."""
