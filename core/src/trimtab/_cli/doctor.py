"""``trimtab plugins doctor`` and ``trimtab check``: is what is installed, or configured, sound?"""

from __future__ import annotations

import argparse
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

import attrs

from trimtab._cli.explain import needed_configuration
from trimtab._cli.parsing import RESERVED_COMMANDS, add_timeout
from trimtab._cli.probe import Named, ask, probe, providers_of, static_problem
from trimtab._plugins import (
    WORDS,
    PluginInfo,
    Problem,
    Registry,
    Severity,
    admits,
    level_note,
    normalise_name,
    parse_requirement,
    pip_install,
)
from trimtab._plugins.configuration import Configuration, active_configuration, load_configuration
from trimtab._plugins.discovery import discover, installed_requirements, installed_version
from trimtab._plugins.resolution import (
    DISABLE,
    check_required,
    matching,
    mismatch,
    named,
    presumed_source,
    read_environment,
)
from trimtab._policy import ProviderRef
from trimtab._types.errors import TrimtabError
from trimtab._types.stdout import say, say_json
from trimtab._types.text import did_you_mean, plural, quoted_list, sanitize

if TYPE_CHECKING:
    from packaging.markers import Marker

_ENVIRONMENT = "the environment"


def from_metadata(registry: Registry) -> Iterator[Problem]:
    """Yield the problems that metadata and source files show, importing nothing."""
    for entry in registry.entries:
        wrong = mismatch(entry)
        if wrong:
            yield _about(entry, wrong, "install versions that fit each other")
        problem = static_problem(entry)
        if problem:
            yield _about(entry, problem, "reinstall the package, or ask its authors")
        if entry.group == "commands" and entry.name in RESERVED_COMMANDS:
            what = f"{entry.full_name} can't be called: `trimtab {entry.name}` is trimtab's own"
            yield _about(entry, what, "ask its authors to call the command otherwise")
        note = level_note(entry)
        if note:
            fix = f"nothing now; later {pip_install(entry.distribution, how='upgrade')}"
            yield _about(entry, note, fix, severity="note")
        if not entry.requires:
            what = f"{entry.full_name} declares no requirement on trimtab"
            yield _about(
                entry, what, "ask its authors to declare the versions it fits", severity="note"
            )
    places = {entry.distribution: entry.where for entry in registry.entries}
    for distribution, where in places.items():
        for problem in unmet_requirements(distribution):
            yield Problem(distribution, where, problem, "install what is missing")
    yield from _clashes(registry)


def unmet_requirements(distribution: str) -> Iterator[str]:
    """Yield a sentence for each requirement of a package that nothing installed meets.

    Requirements on trimtab are left to `mismatch`.
    """
    for text in installed_requirements(distribution):
        requirement = parse_requirement(text)
        if requirement is None or normalise_name(requirement.name) == "trimtab":
            continue
        if requirement.marker and not _holds(requirement.marker):
            continue
        version = installed_version(requirement.name)
        if version is None:
            found = "which is not installed"
        elif not admits(requirement, version):
            found = f"and version {version} is installed"
        else:
            continue
        wanted = sanitize(f"{requirement.name}{requirement.specifier}", 100)
        yield f"{distribution} needs {wanted}, {found}: {pip_install(wanted)}"


def _holds(marker: Marker) -> bool:
    try:
        return marker.evaluate({"extra": ""})
    except Exception:  # noqa: BLE001  # a marker of another package may name what is unknown
        return False


def _about(entry: PluginInfo, what: str, fix: str, *, severity: Severity = "error") -> Problem:
    return Problem(entry.distribution, entry.where, what, fix, severity)


def _clashes(registry: Registry) -> Iterator[Problem]:
    offers = Counter((entry.group, entry.name) for entry in registry.entries)
    for entry in registry.entries:
        if offers[entry.group, entry.name] > 1:
            what = f"another package offers a {WORDS[entry.group]} {entry.name!r} too"
            yield _about(
                entry, what, f"write {entry.full_name!r} where you mean this one", severity="note"
            )


def from_setup(config: str | None, registry: Registry) -> Iterator[Problem]:
    """Yield what is wrong with the configuration, its require-list and the switches."""
    configuration = Configuration()
    try:
        configuration = load_configuration(config) if config else active_configuration()
        check_required(configuration.require)
    except TrimtabError as error:
        yield _about_setup(str(configuration.path or config or os.curdir), str(error))
    try:
        disabled = read_environment().disabled
    except TrimtabError as error:
        yield _about_setup(_ENVIRONMENT, str(error))
        return
    for name in sorted(disabled):
        if not matching(name, registry.entries):
            what = f"{DISABLE} names {sanitize(name, 80)!r}, and nothing installed is called so"
            yield _about_setup(_ENVIRONMENT, what, severity="note")


def _about_setup(where: str, what: str, *, severity: Severity = "error") -> Problem:
    return Problem("configuration", where, what, "correct it", severity)


_REPAIR = "repair or replace the package; what names it fails until then"


def run_doctor(options: argparse.Namespace) -> int:
    """Report problems; return 1 if one of them is an error.

    With names, only the packages that offer them are looked at, and a configuration that is given.
    """
    registry = discover()
    asked_for = (entry for name in options.names for entry in named(name, registry))
    loaded = registry.entries if options.all else tuple(dict.fromkeys(asked_for))
    problems = [*registry.problems, *from_metadata(registry)]
    if options.names and not options.all:
        asked = {entry.distribution for entry in loaded}
        problems = [problem for problem in problems if problem.distribution in asked]
    if options.config or not options.names:
        problems += from_setup(options.config, registry)
    verdicts = {entry: probe(entry, options.timeout) for entry in loaded}
    problems += [_about(entry, wrong, _REPAIR) for entry, wrong in verdicts.items() if wrong]
    valid = [entry for entry, wrong in verdicts.items() if not wrong]
    if options.json:
        names = [entry.full_name for entry in valid]
        say_json({"problems": [attrs.asdict(problem) for problem in problems], "valid": names})
    else:
        report(problems)
        for entry in valid:
            say(f"{entry.full_name}: loads, and is a valid {WORDS[entry.group]}")
        if not problems and not valid:
            say("No problem found, without importing anything.")
    return int(any(problem.is_error for problem in problems))


def report(problems: Sequence[Problem]) -> None:
    for problem in problems:
        note = "" if problem.is_error else "note: "
        say(f"{problem.distribution}: {note}{problem.message}")
        say(f"  where: {problem.where}")
        say(f"  fix: {problem.fix}")


def register_check(parser: argparse.ArgumentParser) -> None:
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


def run_check(options: argparse.Namespace) -> int:
    """Check a configuration; 1 if a problem was found that stops something."""
    configuration = needed_configuration(options.config)
    path = str(configuration.path)
    named = providers_of(configuration)
    problems = [*from_setup(path, discover())]
    if not any(one.is_error and one.where == _ENVIRONMENT for one in problems):
        problems += _unbuilt(path, named, configuration.prompts, options.timeout)
    problems += _wrong_tables(configuration, options.timeout)
    if options.modules:
        problems += _undeclared(configuration, options.modules, options.timeout)
    if options.json:
        say_json(
            {
                "path": path,
                "prompts": [*configuration.prompts],
                "providers": [_named_json(one) for one in named],
                "problems": [attrs.asdict(problem) for problem in problems],
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


def _wrong_tables(configuration: Configuration, timeout: float) -> Iterator[Problem]:
    """Yield what is wrong with the tables of hosts, each read as its host reads it."""
    readers = {entry.name: entry for entry in discover().of("tables")}
    for name in configuration.hosts:
        place = f"{configuration.path}, [hosts.{sanitize(name, 80)}]"
        fix, severity = "correct it", "error"
        if name in readers:
            answers = ask(
                "table", str(configuration.path), readers[name].full_name, timeout=timeout
            )
            wrong = answers.failure or answers.values[0]
        else:
            near = did_you_mean(name, readers)
            if not near:
                fix, severity = "remove it, unless a host reads it that is not here", "note"
            known = quoted_list(readers)
            wrong = f"nothing that is installed reads this table.{near} Read here: {known}."
        if wrong:
            wrong = wrong.removeprefix(f"{place}: ")
            yield Problem("configuration", place, wrong, fix, cast("Severity", severity))


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
