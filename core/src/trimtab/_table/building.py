"""Resolve what a prompt or its configuration names, and compile it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from trimtab._plugins.config_records import Configuration
from trimtab._policy.settings import (
    CompletionCheckerConfig,
    FeedbackProviderConfig,
    GuidanceProviderConfig,
    RecorderConfig,
)
from trimtab._table.compiling import compile_table
from trimtab._types.errors import ConfigurationError

if TYPE_CHECKING:
    from trimtab._events.providers import ProviderSkipped
    from trimtab._plugins.validation import LoadedProvider
    from trimtab._policy.settings import ProviderConfig
    from trimtab._table.entries import FeedbackDelivery, PromptTable


def build_table(
    prompt_name: str,
    *,
    guidance: Sequence[GuidanceProviderConfig] = (),
    feedback: Sequence[FeedbackProviderConfig] = (),
    completion: Sequence[CompletionCheckerConfig] = (),
    recorders: Sequence[RecorderConfig] = (),
    guidance_limit: int = 3,
    feedback_delivery: FeedbackDelivery = "first",
    config: Configuration | Literal["auto"] | None = "auto",
    environment: Mapping[str, str] | None = None,
) -> PromptTable:
    """Resolve what a prompt declares, or what its table in `config` says instead, kind by kind.

    Args:
        prompt_name: under which the configuration has a table.
        guidance, feedback, completion, recorders: what the prompt declares.
        guidance_limit: injections per decision.
        feedback_delivery: whether the first provider that speaks is delivered, or all.
        config: ``"auto"`` looks for a file, None reads nothing.
        environment: variables by name; `os.environ` if None.

    Raises:
        ProviderError: a provider can't be used; the message names it and the remedy.
        ConfigurationError: the configuration file is wrong.
    """
    from trimtab._plugins.config_records import Configuration, PromptSettings
    from trimtab._plugins.configuration import active_configuration, state_home

    configuration = (
        active_configuration(environment=environment)
        if config == "auto"
        else config or Configuration()
    )
    if not isinstance(configuration, Configuration):
        raise ConfigurationError(
            f'config={config!r:.100} is no configuration: give load_configuration(path), "auto"'
            " or None"
        )
    table = configuration.prompts.get(prompt_name) or PromptSettings()
    wanted = (
        *_either(table.guidance, guidance),
        *_either(table.feedback, feedback),
        *_either(table.completion, completion),
        *_either(table.recorders, recorders),
    )
    loaded, skipped = _resolved(wanted, configuration, environment)
    return compile_table(
        loaded,
        skipped=skipped,
        guidance_limit=table.guidance_limit or guidance_limit,
        feedback_delivery=table.feedback_delivery or feedback_delivery,
        state_folder=state_home(configuration.path, environment=environment),
    )


def _resolved(
    wanted: Sequence[ProviderConfig],
    configuration: Configuration,
    environment: Mapping[str, str] | None,
) -> tuple[Sequence[LoadedProvider], Sequence[ProviderSkipped]]:
    if not wanted and not configuration.require:
        return (), ()
    from trimtab._plugins.resolution import resolve_all

    resolution = resolve_all(wanted, configuration, environment=environment)
    return resolution.providers, resolution.skipped


def _either(said: Sequence[Any] | None, declared: Sequence[Any]) -> Sequence[Any]:
    return declared if said is None else said
