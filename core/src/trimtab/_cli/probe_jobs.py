"""What the other process of `probe` does: each job writes its answers as lines of JSON."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

from trimtab._events import ProviderKind
from trimtab._plugins import PluginInfo
from trimtab._plugins.discovery import discover
from trimtab._plugins.loading import construct, load, needed_options
from trimtab._plugins.resolution import check_compatible, presumed_source, select
from trimtab._types.errors import TrimtabError
from trimtab._types.text import describe_error

if TYPE_CHECKING:
    from trimtab._policy import ProviderConfig


def main(arguments: Sequence[str] | None = None) -> None:
    """Do a job and leave, whatever threads the other package has started."""
    job, *rest = sys.argv[1:] if arguments is None else arguments
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what the package prints must not mix with the answers
    for answer in _JOBS[job](*rest):
        answers.write(f"{json.dumps(answer, default=str)}\n")
        answers.flush()
    answers.write('"done"\n')
    answers.flush()
    os._exit(0)


def _load(group: str, full_name: str) -> Iterator[str | None]:
    yield _wrong(full_name, lambda: _make(_entry(group, full_name)))


def _options(group: str, full_name: str) -> Iterator[dict[str, Any]]:
    import attrs

    from trimtab._plugins.options import options_of

    found: list[dict[str, Any]] = []

    def read() -> None:
        factory = load(_entry(group, full_name))
        found.extend(attrs.asdict(option) for option in options_of(factory))

    wrong = _wrong(full_name, read)
    yield {"options": found, "wrong": wrong or ""}


def _providers(path: str, start: str) -> Iterator[str | None]:
    """Build the providers of a configuration, one after the other."""
    from trimtab._cli.doctor import providers_of
    from trimtab._plugins.configuration import load_configuration
    from trimtab._plugins.resolution import read_environment, resolve

    configuration, environment = load_configuration(path), read_environment()
    for one in providers_of(configuration)[int(start) :]:
        off = environment.reason_against(presumed_source(one.config), installed=True)
        build = partial(resolve, one.config, configuration)
        yield None if off else _wrong(one.config.provider.name, build)


def _prompts(path: str, start: str) -> Iterator[str | None]:
    """Build the prompts of a configuration, one after the other, as their tables say."""
    from trimtab._plugins.configuration import load_configuration
    from trimtab._prompt import Prompt

    configuration = load_configuration(path)
    for name in [*configuration.prompts][int(start) :]:
        namespace, _, key = name.partition("/")
        make: Callable[..., object] = Prompt
        yield _wrong(name, partial(make, namespace, key or name, name=name, config=configuration))


def _declared(*modules: str) -> Iterator[dict[str, Any]]:
    """Import modules and find the prompts that exist then, wherever they are kept."""
    import gc

    from trimtab._prompt import PromptTemplate

    sys.path.insert(0, os.getcwd())  # noqa: PTH109
    wrong = [_wrong(module, partial(import_module, module)) for module in modules]
    found = {one.name for one in gc.get_objects() if isinstance(one, PromptTemplate)}
    yield {"prompts": sorted(found), "wrong": "; ".join(filter(None, wrong))}


def _wrong(full_name: str, act: Callable[[], object]) -> str | None:
    """Return why `act` failed; None if it did not."""
    try:
        act()
    except TrimtabError as error:
        return str(error)
    except BaseException as error:  # noqa: BLE001  # this process is here to see anything happen
        return f"{full_name}: {describe_error(error)}"
    return None


def _entry(group: str, full_name: str) -> PluginInfo:
    entry = select(group, full_name, discover())
    check_compatible(entry)
    return entry


def _make(entry: PluginInfo) -> None:
    """Construct and validate a provider with its default options; other kinds are only loaded."""
    from trimtab._plugins.resolution import source_of_entry
    from trimtab._plugins.validation import validate

    factory = load(entry)
    if entry.group not in list(ProviderKind) or needed_options(factory):
        return
    kind = ProviderKind(entry.group)
    instance = construct(entry, factory, {})
    validate(source_of_entry(kind, entry), _settings(kind, instance), instance)


def _settings(kind: ProviderKind, instance: Any) -> ProviderConfig:
    from trimtab._policy import CONFIGS, FeedbackProviderConfig, FeedbackTrigger

    if kind is ProviderKind.FEEDBACK:
        return FeedbackProviderConfig(instance, FeedbackTrigger(every_n_calls=1))
    return CONFIGS[kind](instance)


_JOBS: Mapping[str, Callable[..., Iterator[Any]]] = {
    "declared": _declared,
    "load": _load,
    "options": _options,
    "prompts": _prompts,
    "providers": _providers,
}
