"""Prompts whose providers are given, not discovered."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal

import attrs

from trimtab._events.provenance import ProviderKind, ProviderRef
from trimtab._plugins.loading import construct
from trimtab._plugins.registry import PluginInfo, Registry, normalise_name
from trimtab._plugins.selection import select
from trimtab._policy.settings import (
    CompletionCheckerConfig,
    FeedbackProviderConfig,
    GuidanceProviderConfig,
    ProviderConfig,
    RecorderConfig,
)
from trimtab._prompt.template import Prompt
from trimtab._testing.player import Player

Factory = Callable[..., Any]
_CONFIGS: Mapping[ProviderKind, type[ProviderConfig]] = {
    ProviderKind.GUIDANCE: GuidanceProviderConfig,
    ProviderKind.FEEDBACK: FeedbackProviderConfig,
    ProviderKind.COMPLETION: CompletionCheckerConfig,
    ProviderKind.RECORDER: RecorderConfig,
}


class Lab:
    """Resolves providers by name from tables of yours.

    Nothing that is installed is looked at and no configuration file is read, so a test says
    the same on every machine. Names and options are checked as those of installed providers are.

    Args:
        guidance, feedback, completion, recorders: factories by entry name, as a package would
            declare them.
    """

    def __init__(
        self,
        *,
        guidance: Mapping[str, Factory] | None = None,
        feedback: Mapping[str, Factory] | None = None,
        completion: Mapping[str, Factory] | None = None,
        recorders: Mapping[str, Factory] | None = None,
    ) -> None:
        tables = {
            ProviderKind.GUIDANCE: guidance,
            ProviderKind.FEEDBACK: feedback,
            ProviderKind.COMPLETION: completion,
            ProviderKind.RECORDER: recorders,
        }
        self._factories = {
            (kind.value, normalise_name(name)): factory
            for kind, table in tables.items()
            for name, factory in (table or {}).items()
        }
        self._registry = Registry(
            tuple(
                PluginInfo(group, name, "lab", "0", "lab", name, "lab")
                for group, name in self._factories
            )
        )

    def prompt(
        self,
        *,
        guidance: Iterable[Any] = (),
        feedback: Iterable[Any] = (),
        completion: Iterable[Any] = (),
        recorders: Iterable[Any] = (),
        **template: Any,
    ) -> Prompt[Any]:
        """Return a prompt with these providers.

        Args:
            guidance, feedback, completion, recorders: names, ``enable(…)``, configurations or
                instances.
            template: further arguments of `PromptTemplate`, e.g. ``sections``.

        Raises:
            ProviderError: a name is unknown or an option is refused.
        """
        given = {"ns": "lab", "key": "main", **template}
        return Prompt(
            given.pop("ns"),
            given.pop("key"),
            config=None,
            guidance_providers=self._resolved(ProviderKind.GUIDANCE, guidance),
            feedback_providers=self._resolved(ProviderKind.FEEDBACK, feedback),
            completion_checkers=self._resolved(ProviderKind.COMPLETION, completion),
            recorders=self._resolved(ProviderKind.RECORDER, recorders),
            **given,
        )

    def player(
        self,
        *,
        points: Iterable[Any] = (),
        faults: Literal["raise", "record"] = "raise",
        **prompt: Any,
    ) -> Player:
        """Return a player of a prompt with these providers.

        Args:
            points, faults: as for `Player`.
            prompt: as for `prompt`.
        """
        return Player(self.prompt(**prompt), points=points, faults=faults)

    def _resolved(self, kind: ProviderKind, declared: Iterable[Any]) -> list[Any]:
        return [self._one(kind, item) for item in declared]

    def _one(self, kind: ProviderKind, item: Any) -> Any:
        config = item if isinstance(item, ProviderConfig) else _CONFIGS[kind](item)
        if not isinstance(config.provider, ProviderRef):
            return config
        entry = select(kind.value, config.provider.name, self._registry)
        factory = self._factories[kind.value, entry.name]
        return attrs.evolve(config, provider=construct(entry, factory, config.provider.options))
