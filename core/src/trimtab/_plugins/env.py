"""Switches of a whole process, for operators: ``TRIMTAB_PLUGINS`` and ``TRIMTAB_DISABLE``."""

from __future__ import annotations

import os
from collections.abc import Mapping

import attrs

from trimtab._events.provenance import Provenance
from trimtab._plugins.registry import normalise_full_name
from trimtab._types.errors import ConfigurationError
from trimtab._types.text import sanitize

PLUGINS = "TRIMTAB_PLUGINS"
DISABLE = "TRIMTAB_DISABLE"


@attrs.frozen
class Environment:
    """What the environment turns off.

    Args:
        off: no installed provider is loaded; objects given by the caller stay.
        disabled: providers turned off by ``name`` or ``distribution:name``, objects too.
    """

    off: bool = False
    disabled: frozenset[str] = frozenset()

    def reason_against(self, source: Provenance, *, installed: bool) -> str | None:
        """Return which switch turns a provider off, or None."""
        if self.off and installed:
            return f"{PLUGINS}=off"
        if self.disabled & {
            normalise_full_name(source.name),
            normalise_full_name(source.full_name),
        }:
            return f"{DISABLE} names it"
        return None


def read_environment(environment: Mapping[str, str] | None = None) -> Environment:
    """Read the switches.

    Args:
        environment: `os.environ` if None.

    Raises:
        ConfigurationError: ``TRIMTAB_PLUGINS`` is neither ``on`` nor ``off``.
    """
    found = os.environ if environment is None else environment
    state = found.get(PLUGINS, "").strip().lower()
    if state not in ("", "on", "off"):
        raise ConfigurationError(f"{PLUGINS}={sanitize(state, 40)!r}: write 'on' or 'off'.")
    names = (normalise_full_name(name) for name in found.get(DISABLE, "").split(","))
    return Environment(off=state == "off", disabled=frozenset(name for name in names if name))
