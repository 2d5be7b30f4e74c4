"""``trimtab explain PROMPT``: the providers of a prompt, in order, and why some are not used."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from typing import Any, Literal, cast

import attrs

from trimtab._events import ProviderKind
from trimtab._plugins import PluginInfo
from trimtab._plugins.configuration import (
    Configuration,
    PromptSettings,
    active_configuration,
    load_configuration,
)
from trimtab._plugins.resolution import (
    Environment,
    admit,
    check_required,
    presumed_source,
    read_environment,
)
from trimtab._policy import ProviderConfig, ProviderRef
from trimtab._types.errors import ConfigurationError, ProviderError
from trimtab._types.stdout import say, say_json, say_table
from trimtab._types.text import did_you_mean, quoted_list, sanitize


def register(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("prompt", metavar="PROMPT", help="the prompt's name, e.g. agent/main")
    parser.add_argument("--config", metavar="FILE", help="the configuration, else the one found")
    parser.add_argument("--json", action="store_true", help="write JSON")
    parser.set_defaults(run=run_explain)


@attrs.frozen
class ProviderStatus:
    """How one provider would be used if the prompt were built."""

    config: ProviderConfig
    reference: ProviderRef
    entry: PluginInfo | None
    status: Literal["ready", "off", "skipped", "missing"]  # without what is missing, no prompt
    reason: str = ""


def run_explain(options: argparse.Namespace) -> int:
    """Explain a prompt of the configuration; 1 where it can't be built."""
    configuration = needed_configuration(options.config)
    settings = _settings(options.prompt, configuration)
    env = read_environment()
    found = {kind: _statuses(kind, settings, configuration, env) for kind in ProviderKind}
    unmet = _unmet(configuration, env)
    if options.json:
        say_json(_as_json(options.prompt, configuration, found, unmet))
    else:
        _print(options.prompt, configuration, found, unmet)
    missing = any(one.status == "missing" for some in found.values() for one in some or ())
    return int(missing or bool(unmet))


def needed_configuration(path: str | None) -> Configuration:
    configuration = load_configuration(path) if path else active_configuration()
    if configuration.path is None:
        raise ConfigurationError(
            "There is no configuration: no trimtab.toml, and no pyproject.toml with "
            "[tool.trimtab], in this folder or above. Name one with --config."
        )
    return configuration


def _settings(prompt: str, configuration: Configuration) -> PromptSettings:
    if prompt not in configuration.prompts:
        raise ConfigurationError(
            f"{configuration.path} has no table for the prompt {sanitize(prompt, 80)!r}, so what "
            f"code declares holds.{did_you_mean(prompt, configuration.prompts)} "
            f"Prompts there: {quoted_list(configuration.prompts)}."
        )
    return configuration.prompts[prompt]


def _unmet(configuration: Configuration, env: Environment) -> str:
    try:
        if not env.off:
            check_required(configuration.require)
    except ProviderError as error:
        return str(error)
    return ""


def _statuses(
    kind: ProviderKind, settings: PromptSettings, configuration: Configuration, env: Environment
) -> tuple[ProviderStatus, ...] | None:
    """Look at the providers of one kind; None if the code decides."""
    configs: Sequence[ProviderConfig] | None = getattr(settings, kind.value)
    if configs is None:
        return None
    found = [_look(config, configuration, env) for config in configs]
    names = [one.entry.name for one in found if one.entry]
    for index, one in enumerate(found):
        if one.entry and names.count(one.entry.name) > 1:
            why = f"two providers of this prompt are called {one.entry.name!r}: leave one out"
            found[index] = attrs.evolve(one, entry=None, status="missing", reason=why)
    return tuple(found)


def _look(config: ProviderConfig, configuration: Configuration, env: Environment) -> ProviderStatus:
    reference = cast("ProviderRef", config.provider)  # a table gives no instances
    reason = env.reason_against(presumed_source(config), installed=True)
    if reason:
        return ProviderStatus(config, reference, None, "off", reason)
    try:
        entry = admit(config.kind, reference.name, configuration)
    except ProviderError as error:
        return ProviderStatus(
            config, reference, None, "skipped" if reference.optional else "missing", str(error)
        )
    return ProviderStatus(config, reference, entry, "ready")


def _print(
    prompt: str,
    configuration: Configuration,
    found: dict[ProviderKind, tuple[ProviderStatus, ...] | None],
    unmet: str,
) -> None:
    say(f"{sanitize(prompt)}, as {configuration.path} says")
    if unmet:
        say(f"can't be built: {unmet}")
    for kind, statuses in found.items():
        if statuses is None:
            say(f"{kind}: as the code declares")
        elif not statuses:
            say(f"{kind}: none")
        else:
            say(f"{kind}:")
            say_table([*_rows(statuses)], indent="  ")


def _rows(statuses: Sequence[ProviderStatus]) -> Iterator[tuple[str, str, str]]:
    for index, one in enumerate(statuses, 1):
        name = f"{index}. {sanitize(one.reference.name, 80)}"
        if one.entry is None:
            yield name, one.status, one.reason
        else:
            pairs = {**_said(one.config), **dict(one.reference.options)}
            words = ", ".join(f"{key} = {value!r}" for key, value in pairs.items())
            yield name, one.entry.package, sanitize(words)


def _said(config: ProviderConfig) -> dict[str, Any]:
    """Return the settings that differ from their defaults, a trigger's conditions among them."""
    said = _changed(config)
    del said["provider"]
    trigger = said.pop("trigger", None)
    return said | (_changed(trigger) if trigger else {})


def _changed(record: Any) -> dict[str, Any]:
    values = {field.name: getattr(record, field.name) for field in attrs.fields(type(record))}
    defaults = {field.name: field.default for field in attrs.fields(type(record))}
    return {name: value for name, value in values.items() if value != defaults[name]}


def _as_json(
    prompt: str,
    configuration: Configuration,
    found: dict[ProviderKind, tuple[ProviderStatus, ...] | None],
    unmet: str,
) -> dict[str, Any]:
    kinds = {
        kind.value: None if statuses is None else [_status_json(one) for one in statuses]
        for kind, statuses in found.items()
    }
    return {"prompt": prompt, "path": configuration.path, "unmet": unmet or None, **kinds}


def _status_json(one: ProviderStatus) -> dict[str, Any]:
    facts = ("full_name", "version", "target")
    return {
        "use": one.reference.name,
        "status": one.status,
        "reason": one.reason or None,
        **{name: getattr(one.entry, name, None) for name in facts},
        "settings": _said(one.config),
        "options": dict(one.reference.options),
    }
