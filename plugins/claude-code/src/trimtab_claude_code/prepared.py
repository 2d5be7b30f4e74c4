"""Resolved providers, written down: a hook that lives for one event looks nothing up again.

What is written (see `preparing`) holds as long as the configuration, the packages and trimtab are
the same. The file lies in the user's own folder: it names what is imported, so no project may
write it.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trimtab import (
    CompletionCheckerConfig,
    DecisionPoint,
    FeedbackProviderConfig,
    GuidanceProviderConfig,
    Provenance,
    ProviderKind,
    Resources,
    RootedFilesystem,
)
from trimtab.inspection import LoadedProvider, compile_table
from trimtab_claude_code.assignment import Assignment, build_prompt
from trimtab_claude_code.noting import is_switched, read_prepared

if TYPE_CHECKING:
    from trimtab import FeedbackTrigger, Prompt

_CONFIGS: Mapping[ProviderKind, type[Any]] = {
    ProviderKind.GUIDANCE: GuidanceProviderConfig,
    ProviderKind.FEEDBACK: FeedbackProviderConfig,
    ProviderKind.COMPLETION: CompletionCheckerConfig,
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
    if is_switched():
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


def _prompt(name: str, saved: Mapping[str, Any]) -> Prompt[Any]:
    table = compile_table(
        tuple(map(_loaded, saved["providers"])),
        guidance_limit=saved["guidance_limit"],
        feedback_delivery=saved["feedback_delivery"],
    )
    return build_prompt(name, table=table)


def _loaded(saved: Mapping[str, Any]) -> LoadedProvider:
    instance: Any = import_module(saved["module"])
    for part in saved["attr"].split("."):
        instance = getattr(instance, part)
    instance = instance(**saved["options"])
    source = Provenance(**{**saved["source"], "kind": ProviderKind(saved["source"]["kind"])})
    return LoadedProvider(
        source=source,
        config=_CONFIGS[source.kind](instance, **saved["settings"]),
        instance=instance,
        hooks={hook: getattr(instance, name) for hook, name in saved["hooks"].items()},
        points=frozenset(map(DecisionPoint, saved["points"])),
        trigger=_trigger(saved["trigger"]),
    )


def _trigger(saved: Mapping[str, Any] | None) -> FeedbackTrigger | None:
    if saved is None:
        return None
    from trimtab import FeedbackTrigger

    return FeedbackTrigger(**saved)
