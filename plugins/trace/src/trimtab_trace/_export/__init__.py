"""Traces in the formats of others."""
