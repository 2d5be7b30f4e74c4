"""Replays recorded agent runs through trimtab's providers and shows who would have spoken."""
