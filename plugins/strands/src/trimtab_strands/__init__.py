"""Guidance, feedback and completion checks for agents on Strands: `TrimtabPlugin`."""

from trimtab_strands._plugin import HOST, TrimtabPlugin

__all__ = ["HOST", "TrimtabPlugin"]
