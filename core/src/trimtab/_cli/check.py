"""``trimtab check``: build, in another process, all that a configuration names."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, cast

import attrs

from trimtab._cli.doctor import add_timeout, from_setup, report, unmet_requirements
from trimtab._cli.explain import needed_configuration
from trimtab._cli.output import problem_json, say_json
from trimtab._cli.probe import ask
from trimtab._events.provenance import ProviderKind, ProviderRef
from trimtab._plugins.config_tables import Configuration, PromptSettings
from trimtab._plugins.discovery import discover
from trimtab._plugins.registry import Problem, did_you_mean, quoted_list
from trimtab._plugins.resolution import presumed_source
from trimtab._plugins.selection import matching
from trimtab._policy.settings import ProviderConfig
from trimtab._types.stdout import say
from trimtab._types.text import plural, sanitize


def register(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``trimtab check``."""
    parser.add_argument("--config", metavar="FILE", help="the configuration, else the one found")
    parser.add_argument(
        "--import",
        dest="modules",
        action="append",
        default=[],
        metavar="MODULE",
        help="a module that declares your prompts: a table of another prompt is a problem then",
    )
    add_timeout(parser)
    parser.add_argument("--json", action="store_true", help="write JSON")
    parser.set_defaults(run=run_check)


@attrs.frozen
class Named:
    """A provider that a configuration names.

    Args:
        prompt: the prompt's name.
        config: its settings.
        place: where it stands in the file.
    """

    prompt: str
    config: ProviderConfig
    place: str


def providers_of(configuration: Configuration) -> tuple[Named, ...]:
    """Return the providers of a configuration, prompt by prompt in the order of the file.

    Args:
        configuration: the file, read.
    """
    return tuple(
        Named(prompt, config, f'[prompts."{sanitize(prompt, 80)}"], {kind.value}[{index}]')
        for prompt, settings in configuration.prompts.items()
        for kind in ProviderKind
        for index, config in enumerate(_of_kind(settings, kind))
    )


def _of_kind(settings: PromptSettings, kind: ProviderKind) -> tuple[ProviderConfig, ...]:
    return getattr(settings, kind.value) or ()


def run_check(options: argparse.Namespace) -> int:
    """Check a configuration; 1 if a problem was found that stops something."""
    configuration = needed_configuration(options.config)
    path = str(configuration.path)
    named = providers_of(configuration)
    problems = [*from_setup(path, discover())]
    problems += _unbuilt(path, named, configuration.prompts, options.timeout)
    if options.modules:
        problems += _undeclared(configuration, options.modules, options.timeout)
    if options.json:
        say_json(
            {
                "path": path,
                "prompts": [*configuration.prompts],
                "providers": [_named_json(one) for one in named],
                "problems": [problem_json(problem) for problem in problems],
            }
        )
    else:
        report(problems)
        prompts, providers = len(configuration.prompts), len(named)
        built = "all are built" if not problems else "see above"
        say(f"{path}: {plural(providers, 'provider')} of {plural(prompts, 'prompt')}, {built}.")
    return int(any(problem.is_error for problem in problems))


def _named_json(one: Named) -> dict[str, Any]:
    source = presumed_source(one.config)
    return {
        "prompt": one.prompt,
        "kind": one.config.kind.value,
        "use": one.config.provider.name,
        "full_name": source.full_name,
        "version": source.version,
    }


def _unbuilt(
    path: str, named: tuple[Named, ...], prompts: Iterable[str], timeout: float
) -> Iterator[Problem]:
    """Yield why providers can't be built, and then prompts whose providers can."""
    verdicts = _verdicts("providers", path, len(named), timeout)
    bad: set[str] = set()
    for one, wrong in zip(named, verdicts, strict=True):
        if wrong is not None:
            yield _problem(path, one, wrong)
            bad.add(one.prompt)
    names = list(prompts)
    for prompt, wrong in zip(names, _verdicts("prompts", path, len(names), timeout), strict=True):
        if wrong is not None and prompt not in bad:
            place = f'{path}, [prompts."{sanitize(prompt, 80)}"]'
            yield Problem("configuration", place, wrong, "correct it")


def _verdicts(job: str, path: str, count: int, timeout: float) -> list[str | None]:
    """Return what is wrong with each of several things, or None; after a crash, go on behind it."""
    found: list[str | None] = []
    while len(found) < count:
        answers = ask(job, path, str(len(found)), timeout=timeout)
        found += answers.values
        if len(found) < count:
            found.append(f"it can't be built: {answers.failure}")
    return found


def _problem(path: str, one: Named, wrong: str) -> Problem:
    reference = cast("ProviderRef", one.config.provider)  # a table gives no instances
    entries = matching(reference.name, discover().of(one.config.kind.value))
    lacking = [*unmet_requirements(entries[0].distribution)] if len(entries) == 1 else []
    message = f"{wrong} {' '.join(lacking)}".strip()
    severity: Any = "note" if reference.optional else "error"
    where = entries[0].distribution if entries else "configuration"
    return Problem(where, f"{path}, {one.place}", message, "correct it", severity)


def _undeclared(
    configuration: Configuration, modules: list[str], timeout: float
) -> Iterator[Problem]:
    """Yield the tables of prompts that neither the code nor a host's table names."""
    path = str(configuration.path)
    answers = ask("declared", *modules, timeout=timeout)
    if answers.failure:
        what = f"{quoted_list(modules)} can't be imported: {answers.failure}"
        yield Problem("code", path, what, "correct it")
        return
    found: dict[str, Any] = answers.values[0]
    if found["wrong"]:
        yield Problem("code", path, sanitize(found["wrong"], 500), "correct it")
        return
    known = [*found["prompts"], *_texts(configuration.hosts)]
    for prompt in configuration.prompts:
        if prompt not in known:
            yield Problem(
                "configuration",
                f'{path}, [prompts."{sanitize(prompt, 80)}"]',
                f"no prompt is called {sanitize(prompt, 80)!r}.{did_you_mean(prompt, known)} "
                f"Prompts of {quoted_list(modules)}: {quoted_list(found['prompts'])}.",
                "correct the name, or remove the table",
            )


def _texts(table: Mapping[str, Any]) -> Iterator[str]:
    """Yield all texts in a table: the names of prompts are among them."""
    for value in table.values():
        if isinstance(value, str):
            yield value
        elif isinstance(value, Mapping):
            yield from _texts(value)
