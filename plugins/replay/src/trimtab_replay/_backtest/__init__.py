"""Scores what providers say about recorded runs against what they should have said."""
