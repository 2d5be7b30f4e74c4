"""Hosts of trimtab for more agent frameworks, a module for each, behind extras.

A module imports its framework, so none is imported here.
"""

__all__: list[str] = []
