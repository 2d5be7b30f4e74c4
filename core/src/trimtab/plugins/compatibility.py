"""Versions, checked from metadata before anything is imported."""

from __future__ import annotations

from collections.abc import Iterable

from trimtab.errors import IncompatibleProvider, ProviderNotAllowed
from trimtab.plugins.advice import pip_install
from trimtab.plugins.discovery import installed_version
from trimtab.plugins.inventory import Entry
from trimtab.plugins.versions import parse_requirement

_CORE = "trimtab"


def mismatch(entry: Entry) -> str | None:
    """Say why the installed trimtab is not what the entry's package declares; None where it is.

    A requirement with a marker is left to the installer, who knows its environment; so is a
    package that declares nothing.
    """
    version = installed_version(_CORE)
    for text in entry.requires:
        requirement = parse_requirement(text)
        if requirement is None:
            return f"{entry.package} declares {text!r}, which is no requirement"
        if version and not requirement.marker and not requirement.admits(version):
            return f"{entry.package} asks for {text!r}, and trimtab {version} is installed"
    return None


def check_compatible(entry: Entry) -> None:
    """Hold what the entry's package declares about trimtab against what is installed.

    Raises:
        IncompatibleProvider: they differ, or the declaration can't be read.
    """
    wrong = mismatch(entry)
    if wrong:
        raise IncompatibleProvider(
            f"The provider {entry.full_name!r} can't be used: {wrong}. Install versions that fit: "
            f"{pip_install('--upgrade', entry.distribution, _CORE)}"
        )


def check_required(require: Iterable[str]) -> None:
    """Hold the configuration's require-list against what is installed.

    Args:
        require: e.g. ``"acme-nudges>=0.1"``, well-formed.

    Raises:
        ProviderNotAllowed: one is missing, or installed in a version that won't do.
    """
    for text in require:
        requirement = parse_requirement(text)
        version = installed_version(requirement.name) if requirement else None
        if requirement is None or version is None or not requirement.admits(version):
            found = f"version {version} is installed" if version else "it is not installed"
            raise ProviderNotAllowed(
                f"The configuration requires {text!r}, and {found}: {pip_install(text)}"
            )
