"""Writing resolved providers down, for `prepared` to read."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs

from trimtab import Configuration, DecisionPoint, ProviderRef
from trimtab.inspection import admit, resolve_all
from trimtab_claude_code.assignment import assignment
from trimtab_claude_code.noting import is_switched, validity
from trimtab_claude_code.state.folders import sessions_folder
from trimtab_claude_code.state.names import prepared_name

if TYPE_CHECKING:
    from trimtab import ProviderConfig
    from trimtab.inspection import LoadedProvider


def prepare(configuration: Configuration, folder: Path) -> bool:
    """Write the prompts that agents may get down; return whether that could be done.

    Raises:
        TrimtabError: one of them can't be built.
    """
    if configuration.path is None or is_switched():
        return False
    assigned = assignment(configuration)
    packages: set[str] = set()
    try:
        saved: dict[str, Any] = {
            "valid": validity(configuration.path),
            "assigned": assigned._asdict(),
            "prompts": {n: _saved_prompt(n, configuration, packages) for n in assigned.prompts},
            "packages": sorted(packages),
            "sessions": str(sessions_folder(configuration.path)),
        }
        saved["quiet"] = _quiet(saved["prompts"].values())
        file = folder / "prepared" / prepared_name(configuration.path)
        _write(file, json.dumps(saved))
    except (OSError, TypeError, ValueError, AttributeError):
        return False  # e.g. an option that JSON lacks, or a full disk
    return True


def _write(file: Path, text: str) -> None:
    file.parent.mkdir(mode=0o700, exist_ok=True)
    fresh = file.with_suffix(f".{os.getpid()}")
    fresh.write_text(text, encoding="utf-8")
    fresh.replace(file)


def _saved_prompt(name: str, configuration: Configuration, packages: set[str]) -> dict[str, Any]:
    said = configuration.prompts[name]
    configs: tuple[ProviderConfig, ...] = (
        *(said.guidance or ()),
        *(said.feedback or ()),
        *(said.completion or ()),
    )
    resolution = resolve_all(configs, configuration)
    if resolution.skipped or configuration.require:
        raise ValueError("what is left out or required must be looked up each time")
    saved = []
    for loaded in resolution.providers:
        reference = loaded.config.provider
        if not isinstance(reference, ProviderRef):
            raise TypeError("an object can't be written down")
        entry = admit(loaded.source.kind, reference.name, configuration)
        packages.add(entry.where)
        target = {"module": entry.module, "attr": entry.attr, "options": dict(reference.options)}
        saved.append({**target, **_saved_provider(loaded)})
    return {
        "guidance_limit": said.guidance_limit or 3,
        "feedback_delivery": said.feedback_delivery or "first",
        "providers": saved,
    }


def _quiet(prompts: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the events at which nobody may speak."""
    providers = [provider for prompt in prompts for provider in prompt["providers"]]
    points = {point for provider in providers for point in provider["points"]}
    refusing = any(provider["settings"].get("refuse") for provider in providers)
    feedback = any(provider["trigger"] for provider in providers)
    quiet = [] if refusing else ["PreToolUse"]
    if not feedback and DecisionPoint.POST_TOOL_RESULT.value not in points:
        quiet += ["PostToolUse", "PostToolUseFailure"]
    return quiet


def _saved_provider(loaded: LoadedProvider) -> dict[str, Any]:
    settings = attrs.asdict(
        loaded.config, filter=lambda field, _: field.name not in ("provider", "trigger")
    )
    return {
        "source": attrs.asdict(loaded.source),
        "settings": settings,
        "hooks": {hook: _method_name(loaded, method) for hook, method in loaded.hooks.items()},
        "points": sorted(point.value for point in loaded.points),
        "trigger": attrs.asdict(loaded.trigger) if loaded.trigger else None,
    }


def _method_name(loaded: LoadedProvider, method: Any) -> str:
    name: str = method.__name__
    if getattr(loaded.instance, name) != method:
        raise ValueError(f"{name} is no plain method")
    return name
