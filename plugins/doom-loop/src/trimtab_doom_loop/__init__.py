"""Guidance for LLM agents: says so when an agent repeats itself without progress."""

from trimtab_doom_loop._provider import DoomLoopDetector

__all__ = ["DoomLoopDetector"]
