"""Why a settings file is left as it is."""

from __future__ import annotations

from trimtab import TrimtabError


class SettingsError(TrimtabError):
    """A settings file can't be edited safely; it was left untouched."""
