"""Providers as plugins: discovery, selection, loading, configuration, the prompt's runtime."""
