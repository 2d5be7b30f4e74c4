"""Guidance, feedback and completion checks on the Agent Development Kit: `TrimtabPlugin`."""

from trimtab_adk._plugin import HOST, TrimtabPlugin

__all__ = ["HOST", "TrimtabPlugin"]
