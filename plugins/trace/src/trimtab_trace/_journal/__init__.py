"""Journals: one file a session, on every host, for what was said and what was held back."""
