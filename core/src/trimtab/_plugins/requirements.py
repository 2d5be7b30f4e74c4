"""Requirements on installed packages, such as ``acme-nudges>=0.1``."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from packaging.requirements import Requirement

_LONGEST = 500


def parse_requirement(text: str) -> Requirement | None:
    """Return a requirement, or None if `text` is none or is longer than 500 characters.

    Args:
        text: as in a package's metadata (PEP 508).
    """
    from packaging.requirements import InvalidRequirement, Requirement

    try:
        return Requirement(text) if len(text) <= _LONGEST else None
    except InvalidRequirement:
        return None


def admits(requirement: Requirement, version: str) -> bool:
    """Return whether an installed version will do; pre-releases that are installed count.

    Args:
        requirement: what is asked for.
        version: what is installed; one that is malformed (PEP 440) will not do.
    """
    from packaging.version import InvalidVersion, Version

    try:
        return requirement.specifier.contains(Version(version), prereleases=True)
    except InvalidVersion:
        return False
