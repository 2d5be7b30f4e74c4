"""Periodic words after tool calls (seeds 001 and 002)."""
