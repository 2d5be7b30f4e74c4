"""Resolved providers, written down: a hook that lives for one event looks nothing up again.

What is written holds as long as the configuration, the packages and trimtab are the same; else
the prompts are built the long way, and written down anew. The file lies in the user's own folder:
it names what is imported, so no project may write it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs

from trimtab import (
    CompletionCheckerConfig,
    Configuration,
    DecisionPoint,
    FeedbackProviderConfig,
    FeedbackTrigger,
    GuidanceProviderConfig,
    Kind,
    Prompt,
    ProviderRef,
    Resources,
    RootedFilesystem,
    Source,
)
from trimtab.plugins.provider import LoadedProvider
from trimtab.plugins.runtime import PromptTable, compile_table
from trimtab_claude_code.assignment import Assignment, assignment, build_prompt
from trimtab_claude_code.noting import read_prepared, validity
from trimtab_claude_code.state.folders import sessions_folder
from trimtab_claude_code.state.names import prepared_name

if TYPE_CHECKING:
    from trimtab.plugins.settings import ProviderConfig

_SWITCHES = ("TRIMTAB_PLUGINS", "TRIMTAB_DISABLE")
_CONFIGS: Mapping[Kind, type[Any]] = {
    Kind.GUIDANCE: GuidanceProviderConfig,
    Kind.FEEDBACK: FeedbackProviderConfig,
    Kind.COMPLETION: CompletionCheckerConfig,
}


class PreparedPrompts:
    """The prompts of a configuration, as they were written down: a `PromptOf`.

    Args:
        assigned: who gets which.
        prompts: by their names, bound to the project's files.
    """

    def __init__(self, assigned: Assignment, prompts: Mapping[str, Prompt[Any]]) -> None:
        self.failures: Mapping[str, str] = {}
        self._assigned = assigned
        self._prompts = prompts

    def __call__(self, agent_type: str | None) -> Prompt[Any] | None:
        name = self._assigned.of(agent_type)
        return self._prompts.get(name) if name else None

    def build_all(self) -> None:
        """Do nothing: they are built."""


def find_prepared(config: Path, folder: Path, project: Path) -> PreparedPrompts | None:
    """Return the prompts of a configuration file; None where they must be built the long way.

    Args:
        config: the configuration file.
        folder: the user's own folder.
        project: whose files completion checkers may look at.
    """
    if any(os.environ.get(name) for name in _SWITCHES):
        return None
    try:
        saved = read_prepared(config, folder)
        if not saved:
            return None
        resources = Resources.of(RootedFilesystem(project))
        prompts = {
            name: _prompt(name, table).bind(resources=resources)
            for name, table in saved["prompts"].items()
        }
        return PreparedPrompts(Assignment(**saved["assigned"]), prompts)
    except Exception:  # noqa: BLE001  # the long way says what is wrong
        return None


def prepare(configuration: Configuration, folder: Path) -> bool:
    """Write the prompts that agents may get down; return whether that could be done.

    Raises:
        TrimtabError: one of them can't be built.
    """
    if configuration.path is None or any(os.environ.get(name) for name in _SWITCHES):
        return False
    assigned = assignment(configuration)
    packages: set[str] = set()
    try:
        saved: dict[str, Any] = {
            "valid": validity(configuration.path),
            "assigned": attrs.asdict(assigned),
            "prompts": {n: _saved_prompt(n, configuration, packages) for n in assigned.prompts},
            "packages": sorted(packages),
            "sessions": str(sessions_folder(configuration)),
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


# From what is declared to what is written.


def _saved_prompt(name: str, configuration: Configuration, packages: set[str]) -> dict[str, Any]:
    from trimtab.plugins.resolution import admit, resolve_all

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


# And back.


def _prompt(name: str, saved: Mapping[str, Any]) -> Prompt[Any]:
    prompt = build_prompt(name, None)
    prompt.table = _table(saved["providers"], saved)
    return prompt


def _table(providers: Iterable[Mapping[str, Any]], saved: Mapping[str, Any]) -> PromptTable:
    return compile_table(
        tuple(map(_loaded, providers)),
        guidance_limit=saved["guidance_limit"],
        feedback_delivery=saved["feedback_delivery"],
    )


def _loaded(saved: Mapping[str, Any]) -> LoadedProvider:
    instance: Any = import_module(saved["module"])
    for part in saved["attr"].split("."):
        instance = getattr(instance, part)
    instance = instance(**saved["options"])
    source = Source(**{**saved["source"], "kind": Kind(saved["source"]["kind"])})
    return LoadedProvider(
        source=source,
        config=_CONFIGS[source.kind](instance, **saved["settings"]),
        instance=instance,
        hooks={hook: getattr(instance, name) for hook, name in saved["hooks"].items()},
        points=frozenset(map(DecisionPoint, saved["points"])),
        trigger=FeedbackTrigger(**saved["trigger"]) if saved["trigger"] else None,
    )
