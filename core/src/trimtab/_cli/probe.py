"""What code of other packages shows: in its source, or asked in a process of its own.

There each job writes its answers as lines of JSON.
"""

from __future__ import annotations

import ast
import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from importlib import import_module, util
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from typing import IO, TYPE_CHECKING, Any

import attrs

from trimtab._events import ProviderKind
from trimtab._plugins import PluginInfo
from trimtab._plugins.discovery import discover
from trimtab._plugins.loading import construct, load, needed_options
from trimtab._plugins.resolution import check_compatible, presumed_source, select
from trimtab._types.errors import TrimtabError
from trimtab._types.text import describe_error, sanitize

if TYPE_CHECKING:
    from trimtab._plugins.configuration import Configuration
    from trimtab._policy import ProviderConfig

_CODE = "from trimtab._cli.probe import do_job; do_job()"
_TAIL = 300
"""What a plugin printed last before it ended the process: its error, not its log."""


@attrs.frozen
class Answers:
    values: tuple[Any, ...] = ()
    failure: str = ""
    hung: bool = False


def ask(job: str, *arguments: str, timeout: float) -> Answers:
    """Run one of `_JOBS` in another process."""
    command = [sys.executable, "-P", "-c", _CODE, job, *arguments]
    import subprocess  # this and the next are a third of what `trimtab --help` takes
    import tempfile

    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        try:
            done = subprocess.run(
                command,
                check=False,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                timeout=timeout,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            )
        except subprocess.TimeoutExpired:
            return Answers(_values(out)[0], f"it was not done within {timeout:g} seconds", True)
        values, complete = _values(out)
        if complete:
            return Answers(values)
        return Answers(values, f"the process ended with status {done.returncode}. {_tail(err)}")


def _values(file: IO[bytes]) -> tuple[tuple[Any, ...], bool]:
    """Return the answers, and whether the last one says that the job is done."""
    file.seek(0)
    values: list[Any] = []
    for line in file.read().decode("utf-8", "replace").splitlines():
        try:
            values.append(json.loads(line))
        except ValueError:
            return tuple(values), False
    complete = bool(values) and values[-1] == "done"
    return tuple(values[:-1] if complete else values), complete


def _tail(file: IO[bytes]) -> str:
    file.seek(0, os.SEEK_END)
    file.seek(max(0, file.tell() - 10 * _TAIL))
    words = file.read().decode("utf-8", "replace").split()
    return sanitize(" ".join(words)[-_TAIL:], _TAIL)


def probe(entry: PluginInfo, timeout: float) -> str | None:
    """Load and validate an entry elsewhere; return what is wrong with it, or None."""
    answers = ask("load", entry.group, entry.full_name, timeout=timeout)
    if answers.hung:
        return f"{entry.full_name} hangs while it is loaded: {answers.failure}"
    if answers.failure:
        return f"{entry.full_name} can't be loaded: {answers.failure}"
    wrong: str | None = answers.values[0]
    return wrong


def probe_options(entry: PluginInfo, timeout: float) -> tuple[list[dict[str, Any]], str]:
    """Return an entry's options as JSON has them, read elsewhere, and why that failed."""
    answers = ask("options", entry.group, entry.full_name, timeout=timeout)
    if answers.failure:
        return [], f"{entry.full_name} can't be loaded: {answers.failure}"
    found: dict[str, Any] = answers.values[0]
    return found["options"], found["wrong"]


def static_problem(entry: PluginInfo) -> str | None:
    """Say that an entry's module is missing or no Python; None if neither shows."""
    spec = _find_module(entry.module)
    if spec is None:
        return f"{entry.full_name} points to {entry.module}, which is not installed"
    loader = spec.loader
    if not isinstance(loader, SourceFileLoader):
        return None
    try:
        compile(loader.get_data(loader.path), loader.path, "exec", dont_inherit=True)
    except (OSError, SyntaxError, ValueError) as error:
        return (
            f"{entry.full_name} points to {entry.module}, which is damaged: {describe_error(error)}"
        )
    return None


def command_summary(entry: PluginInfo) -> str:
    """Return the help of a command: the first line of its function's docstring.

    Read from the source, importing nothing; the package's summary if there is none.
    """
    spec = _find_module(entry.module)
    loader = spec.loader if spec else None
    if isinstance(loader, SourceFileLoader):
        try:
            tree = ast.parse(loader.get_data(loader.path))
        except (OSError, SyntaxError, ValueError, RecursionError):
            tree = ast.Module([], [])
        for node in tree.body:
            if isinstance(node, ast.FunctionDef) and node.name == entry.attr:
                text = ast.get_docstring(node) or ""
                return sanitize(text.partition("\n")[0], 200).rstrip(".") or entry.summary
    return entry.summary or "a command"


def _find_module(module: str) -> ModuleSpec | None:
    """Find a module's spec; `find_spec` with the dotted name would import the parents."""
    spec: ModuleSpec | None = None
    path: Iterable[str] | None = None
    name = ""
    for part in module.split("."):
        name = f"{name}.{part}" if name else part
        if path is not None:
            spec = PathFinder.find_spec(name, list(path))
        else:  # without a path, a parent is no package
            spec = None if spec else util.find_spec(name)
        if spec is None:
            return None
        path = spec.submodule_search_locations
    return spec


def do_job(arguments: Sequence[str] | None = None) -> None:
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
    from trimtab._plugins.options import options_of

    found: list[dict[str, Any]] = []
    entry = partial(_entry, group, full_name)
    wrong = _wrong(full_name, lambda: found.extend(map(attrs.asdict, options_of(load(entry())))))
    yield {"options": found, "wrong": wrong or ""}


@attrs.frozen
class Named:
    prompt: str
    config: ProviderConfig
    place: str


def providers_of(configuration: Configuration) -> tuple[Named, ...]:
    """Return the providers of a configuration, prompt by prompt in the order of the file."""
    return tuple(
        Named(prompt, config, f'[prompts."{sanitize(prompt, 80)}"], {kind.value}[{index}]')
        for prompt, settings in configuration.prompts.items()
        for kind in ProviderKind
        for index, config in enumerate(getattr(settings, kind.value) or ())
    )


def _providers(path: str, start: str) -> Iterator[str | None]:
    """Build the providers of a configuration, one after the other."""
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


def _table(path: str, full_name: str) -> Iterator[str | None]:
    """Let a host read its table of a configuration."""
    from trimtab._plugins.configuration import load_configuration

    configuration = load_configuration(path)
    yield _wrong(full_name, lambda: load(_entry("tables", full_name))(configuration))


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
    "table": _table,
}
