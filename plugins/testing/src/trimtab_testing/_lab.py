"""Providers that do what a test says, and prompts that have them without discovery."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import attrs

from trimtab import (
    ClassificationResult,
    CompletionCheckerConfig,
    DecisionPoint,
    Feedback,
    FeedbackContext,
    FeedbackProviderConfig,
    GuidanceContext,
    GuidanceInjection,
    GuidanceProviderConfig,
    Prompt,
    ProviderRef,
    RecorderConfig,
    TaskCompletionContext,
    TaskCompletionResult,
)
from trimtab.events import ProviderKind
from trimtab.inspection import PluginInfo, Registry, construct, normalise_full_name, select
from trimtab_testing._player import PROVIDER_LISTS, Player

_CONFIGS: tuple[type[Any], ...] = (
    GuidanceProviderConfig,
    FeedbackProviderConfig,
    CompletionCheckerConfig,
    RecorderConfig,
)
"""What holds the settings of a provider, in the order of the kinds."""
ALWAYS = ClassificationResult(relevant=True)


def _points(named: Iterable[DecisionPoint | str]) -> tuple[DecisionPoint, ...]:
    return tuple(DecisionPoint(point) for point in named)


@attrs.define
class Speaker:
    """A guidance provider that says one text.

    Args:
        name: its name, and the key of what it says.
        category: as for `GuidanceInjection`.
        text: what it says; a function makes it from the context.
        verdict: whether it speaks, as `ClassificationResult` or bool; a function decides by the
            context.
        priority: as for `GuidanceInjection`.
        decision_points: where it is asked; plain strings are accepted.

    Attributes:
        asked: how often it was asked.
    """

    name: str = "speaker"
    category: str = "test"
    text: str | Callable[[GuidanceContext], Any] = "Look before you leap."
    verdict: Any = ALWAYS
    priority: int = 100
    decision_points: tuple[DecisionPoint, ...] = attrs.field(
        default=tuple(DecisionPoint), converter=_points
    )
    asked: int = attrs.field(default=0, init=False)

    def classify(self, *, context: GuidanceContext) -> Any:
        """Return the verdict."""
        self.asked += 1
        verdict = self.verdict(context) if callable(self.verdict) else self.verdict
        return ClassificationResult(relevant=verdict) if isinstance(verdict, bool) else verdict

    def provide(self, *, context: GuidanceContext) -> GuidanceInjection:
        """Return the text."""
        text = self.text(context) if callable(self.text) else self.text
        return GuidanceInjection(self.name, text, priority=self.priority, category=self.category)


@attrs.define
class Commentator:
    """A feedback provider; by default it counts the calls.

    Args:
        name: its name.
        say: makes the `Feedback`, or None, from the context.
        wanted: what `should_run` returns.

    Attributes:
        asked: how often it was asked.
    """

    name: str = "commentator"
    say: Callable[[FeedbackContext], Any] = lambda context: Feedback(
        summary=f"{context.tool_call_count} calls"
    )
    wanted: bool = True
    asked: int = attrs.field(default=0, init=False)

    def should_run(self, *, context: FeedbackContext) -> bool:  # noqa: ARG002 - the protocol
        """Return `wanted`."""
        return self.wanted

    def provide(self, *, context: FeedbackContext) -> Any:
        """Return the feedback."""
        self.asked += 1
        return self.say(context)


@attrs.define
class Checker:
    """A completion checker; by default all is done.

    Args:
        name: its name.
        answer: makes the `TaskCompletionResult` from the context; may be ``async def``.

    Attributes:
        asked: how often it was asked.
    """

    name: str = "checker"
    answer: Callable[[TaskCompletionContext], Any] = lambda _: TaskCompletionResult.ok()
    asked: int = attrs.field(default=0, init=False)

    def check(self, context: TaskCompletionContext) -> Any:
        """Return the verdict."""
        self.asked += 1
        return self.answer(context)


Factory = Callable[..., Any]


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
        tables = (guidance, feedback, completion, recorders)
        self._factories = {
            (kind.value, normalise_full_name(name)): factory
            for kind, table in zip(ProviderKind, tables, strict=True)
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
        declared = (guidance, feedback, completion, recorders)
        for name, kind, config, items in zip(
            PROVIDER_LISTS, ProviderKind, _CONFIGS, declared, strict=True
        ):
            given[name] = [self._resolved(kind, config, item) for item in items]
        return Prompt(given.pop("ns"), given.pop("key"), config=None, **given)

    def player(self, **prompt: Any) -> Player:
        """Return a player of a prompt with these providers.

        Args:
            prompt: as for `prompt`.
        """
        return Player(self.prompt(**prompt))

    def _resolved(self, kind: ProviderKind, settings: type[Any], item: Any) -> Any:
        config = item if isinstance(item, _CONFIGS) else settings(item)
        if not isinstance(config.provider, ProviderRef):
            return config
        entry = select(kind.value, config.provider.name, self._registry)
        factory = self._factories[kind.value, entry.name]
        made = construct(entry, factory, config.provider.options)
        return attrs.evolve(config, provider=made)
