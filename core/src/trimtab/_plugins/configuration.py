"""Configuration files: finding and reading them, and the objects that the Python API builds."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, Literal, TypeVar

import attrs
from attrs.validators import optional

from trimtab._events import ProviderKind
from trimtab._plugins import WORDS, parse_requirement
from trimtab._policy import (
    CONFIGS,
    IN_FILES,
    CompletionCheckerConfig,
    FeedbackProviderConfig,
    FeedbackTrigger,
    GuidanceProviderConfig,
    ProviderConfig,
    ProviderRef,
    RecorderConfig,
)
from trimtab._types.errors import ConfigurationError
from trimtab._types.limits import Budget
from trimtab._types.options import as_path, one_of, whole_number
from trimtab._types.text import (
    LazyPattern,
    did_you_mean,
    error_message,
    quoted_list,
    sanitize,
    shown,
)

T = TypeVar("T")
MAX_SIZE = 1_000_000
"""Bytes of a configuration file."""
OWN_FILE = "trimtab.toml"
SHARED_FILE = "pyproject.toml"
CONFIG = "TRIMTAB_CONFIG"
HOME = "TRIMTAB_HOME"


def find_configuration(
    start: str | os.PathLike[str] | None = None, *, environment: Mapping[str, str] | None = None
) -> Path | None:
    """Find the file that counts: ``TRIMTAB_CONFIG``, else the nearest one upwards.

    Args:
        start: folder to begin in; the working directory if None.
        environment: variables by name; `os.environ` if None.

    Raises:
        ConfigurationError: a pyproject.toml on the way mentions trimtab and can't be read.
        TypeError: an argument has the wrong type.
    """
    if environment is not None and not isinstance(environment, Mapping):
        raise TypeError(f"environment must be a mapping of texts, not {shown(environment)}")
    named = (os.environ if environment is None else environment).get(CONFIG)
    if named:
        return Path(named).absolute()
    for path in _candidates(start):
        found = stamp(path)
        if found is not None and (path.name == OWN_FILE or _has_table(path, found)):
            return path
    return None


def _candidates(start: str | os.PathLike[str] | None) -> Iterator[Path]:
    try:
        first = as_path("start", "" if start is None else start).absolute()
    except FileNotFoundError:
        return  # the working directory was deleted
    for folder in (first, *first.parents):
        yield folder / OWN_FILE
        yield folder / SHARED_FILE


def stamp(path: Path) -> tuple[int, ...] | None:
    """Return what changes when a file does; None if it is no file that can be looked at."""
    try:
        found = path.stat()
    except (OSError, ValueError):
        return None
    return (found.st_mtime_ns, found.st_size, found.st_ino) if path.is_file() else None


@lru_cache(maxsize=64)
def _has_table(path: Path, _: tuple[int, ...]) -> bool:
    try:
        content = path.read_bytes()
    except OSError:
        return False  # a file that can't be read is ignored
    return b"trimtab" in content and shared_table(read_toml(path)) is not None


def read_toml(path: Path) -> dict[str, Any]:
    import tomllib

    try:
        if path.stat().st_size > MAX_SIZE:
            raise ConfigurationError(f"{path}: larger than 1 MB; is this the right file?")
        return tomllib.loads(path.read_bytes().decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        wrong = f"byte {error.start} is not UTF-8; save it as UTF-8"
        raise ConfigurationError(f"{path}: it can't be read as TOML: {wrong}") from error
    except (OSError, ValueError, RecursionError) as error:
        raise ConfigurationError(f"{path}: it can't be read as TOML: {error}") from error


def shared_table(data: Mapping[str, Any]) -> Any:
    """Return the table ``[tool.trimtab]`` or None."""
    tools = data.get("tool")
    return tools.get("trimtab") if isinstance(tools, dict) else None


def state_home(
    configuration: Path | None = None, *, environment: Mapping[str, str] | None = None
) -> Path:
    """Return the folder for traces and journals, which may not exist yet.

    ``TRIMTAB_HOME``, else ``.trimtab`` beside the configuration, else the user's state folder.

    Args:
        configuration: the configuration's file or None.
        environment: variables by name; `os.environ` if None.
    """
    named = (os.environ if environment is None else environment).get(HOME)
    if named:
        return Path(named).absolute()
    if configuration:
        return configuration.parent / ".trimtab"
    if os.name == "nt":
        user = os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local"
    else:
        user = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(user, "trimtab")


def active_configuration(
    start: str | os.PathLike[str] | None = None, *, environment: Mapping[str, str] | None = None
) -> Configuration:
    """Return the configuration that `find_configuration` finds, or an empty one."""
    path = find_configuration(start, environment=environment)
    return load_configuration(path) if path else Configuration()


def load_configuration(path: str | os.PathLike[str]) -> Configuration:
    """Read a configuration file; again only when it has changed.

    Args:
        path: a trimtab.toml, whatever its name, or a pyproject.toml with ``[tool.trimtab]``.

    Raises:
        ConfigurationError: it can't be read, is no TOML, or holds a key or value that is
            wrong; names the file, the table and the key.
        TypeError: `path` is no path.
    """
    file = as_path("path", path).absolute()
    found = stamp(file)
    if found is None:
        raise ConfigurationError(f"{file}: {_hindrance(file)}.")
    return _load(file, found)


def _hindrance(file: Path) -> str:
    try:
        return "not a plain file" if file.exists() else "there is no such file"
    except OSError as error:  # its folder can't be entered, or its name is too long
        return f"it can't be read: {error.strerror}"


@lru_cache(maxsize=64)
def _load(path: Path, _: tuple[int, ...]) -> Configuration:
    data = read_toml(path)
    if path.name != SHARED_FILE:
        return attrs.evolve(read_tables(data, Place(str(path))), path=path)
    table = shared_table(data)
    if table is None:
        raise ConfigurationError(f"{path}: there is no table [tool.trimtab].")
    return attrs.evolve(read_tables(table, Place(str(path), ("tool", "trimtab"))), path=path)


@attrs.frozen(kw_only=True)
class PromptSettings:
    """One table ``prompts."ns/key"``; None if the table says nothing, so that code decides."""

    guidance: tuple[GuidanceProviderConfig, ...] | None = None
    feedback: tuple[FeedbackProviderConfig, ...] | None = None
    completion: tuple[CompletionCheckerConfig, ...] | None = None
    recorders: tuple[RecorderConfig, ...] | None = None
    guidance_limit: int | None = attrs.field(default=None, validator=whole_number(1, optional=True))
    feedback_delivery: Literal["first", "all"] | None = attrs.field(
        default=None, validator=optional(one_of("first", "all"))
    )
    budget: Budget | None = None


@attrs.frozen(kw_only=True)
class Configuration:
    """A configuration file, read and checked.

    Attributes:
        path: the file or None.
        prompts: settings by the prompt's name.
        hosts: the tables ``hosts.NAME`` as they stand, for the hosts' packages.
        allow: patterns of distributions that may be loaded; None allows all.
        require: distributions that must be installed, e.g. ``"acme-nudges>=0.1"``.
    """

    path: Path | None = None
    prompts: Mapping[str, PromptSettings] = attrs.field(factory=dict)
    hosts: Mapping[str, Mapping[str, Any]] = attrs.field(factory=dict)
    allow: tuple[str, ...] | None = None
    require: tuple[str, ...] = ()


_WORDS_OF_TOML: Mapping[type, str] = {dict: "a table", list: "an array"}


def keys_of(record: type[Any]) -> tuple[str, ...]:
    """Return the keys of the table that becomes a record: its fields but `provider` and `path`."""
    names = (field.name for field in attrs.fields(record))
    return tuple(name for name in names if name not in ("provider", "path"))


COMMON_KEYS = ("use", "options", "optional")
_BARE = LazyPattern("[A-Za-z0-9_-]+")
_PYTHON_NAMES = {
    "guidance_providers": "guidance",
    "feedback_providers": "feedback",
    "completion_checkers": "completion",
}


@attrs.frozen
class Place:
    """Where in a file something stands, for messages."""

    file: str
    table: tuple[str, ...] = ()
    detail: str = ""
    found: list[str] = attrs.field(factory=list, eq=False, repr=False)

    def into(self, *keys: str) -> Place:
        return attrs.evolve(self, table=self.table + keys)

    def wrong(self, what: str) -> None:
        """Take note of a mistake; all of a file are named at once."""
        table = ".".join(k if _BARE.fullmatch(k) else f'"{k}"' for k in self.table)
        parts = (self.file, f"[{table}]" if table else "", self.detail)
        self.found.append(f"{', '.join(filter(None, map(sanitize, parts)))}: {what}")


def read_tables(data: Mapping[str, Any], place: Place) -> Configuration:
    _known(data, keys_of(Configuration), place)
    prompts = _of(dict, data.get("prompts", {}), "prompts", place)
    hosts = _of(dict, data.get("hosts", {}), "hosts", place)
    read = Configuration(
        prompts={
            name: _prompt(table, place.into("prompts", name)) for name, table in prompts.items()
        },
        hosts={
            name: _of(dict, table, "it", place.into("hosts", name)) for name, table in hosts.items()
        },
        allow=_texts(data, "allow", place) if "allow" in data else None,
        require=_requirements(data, place),
    )
    if place.found:
        raise ConfigurationError("\n".join(place.found))
    return read


def _known(table: Mapping[str, Any], keys: Sequence[str], place: Place) -> dict[str, Any]:
    """Return what stands under known keys."""
    for key in table:
        if key not in keys:
            place.wrong(
                f"unknown key {sanitize(key, 80)!r}.{_hint(key, keys)} "
                f"Known here: {quoted_list(keys)}."
            )
    return {key: value for key, value in table.items() if key in keys}


def _of(kind: type[T], value: Any, what: str, place: Place) -> T:
    if isinstance(value, kind):
        return value
    place.wrong(f"{what} must be {_WORDS_OF_TOML[kind]}, not {value!r:.60}.")
    return kind()


def _hint(key: str, keys: Sequence[str]) -> str:
    """Return what an unknown key may be: misspelt, of another kind, or an option of a provider."""
    if key in _PYTHON_NAMES and "guidance" in keys:
        return f" In a file its name is {_PYTHON_NAMES[key]!r}."
    if "options" in keys:
        kinds = [WORDS[kind] for kind, config in IN_FILES.items() if key in keys_of(config)]
        if kinds:
            return f" It is a setting of a {' or a '.join(kinds)}."
    meant = did_you_mean(key, keys)
    if not meant and "options" in keys:
        return f" An option of the provider stands in options = {{ {sanitize(key, 40)} = … }}."
    return meant


def _texts(table: Mapping[str, Any], key: str, place: Place) -> tuple[str, ...]:
    values = _of(list, table.get(key, []), key, place)
    for value in values:
        if not isinstance(value, str):
            place.wrong(f"{key} must be an array of texts, not {value!r:.60}.")
    return tuple(value for value in values if isinstance(value, str))


def _requirements(table: Mapping[str, Any], place: Place) -> tuple[str, ...]:
    found = _texts(table, "require", place)
    for text in found:
        if parse_requirement(text) is None:
            place.wrong(f"require holds {text!r:.80}; write e.g. 'acme-nudges>=0.1'.")
    return found


def _prompt(value: Any, place: Place) -> PromptSettings:
    table = _named(_of(dict, value, "it", place), place)
    read = _known(table, keys_of(PromptSettings), place)
    read |= {k: _providers(read[k], k, place) for k in IN_FILES if k in read}
    if "budget" in read:
        inside = place.into("budget")
        limits = _known(_of(dict, read["budget"], "budget", place), keys_of(Budget), inside)
        read["budget"] = _made(Budget, limits, inside)
    return _made(PromptSettings, read, place) or PromptSettings()


def _made(
    make: Callable[..., T], settings: Mapping[str, Any], place: Place, what: str = ""
) -> T | None:
    """Return ``make(**settings)``; None if that failed even without the settings it refused."""
    settings = dict(settings)
    while True:
        try:
            return make(**settings)
        except (TypeError, ValueError) as error:
            message = error_message(error).replace("True or False", "true or false")  # as in TOML
            place.wrong(f"{what}{message}.")
            if settings.pop(message.partition(" ")[0], place) is place:
                return None


def _named(table: Mapping[str, Any], place: Place) -> Mapping[str, Any]:
    """Return a table without those of prompts whose names are not quoted."""
    known = keys_of(PromptSettings)
    unquoted = [key for key, value in table.items() if isinstance(value, dict) and key not in known]
    for key in unquoted:
        name = sanitize(f"{place.table[-1]}/{key}", 80)
        place.wrong(f'a prompt\'s name is one key: [prompts."{name}"].')
    return {key: value for key, value in table.items() if key not in unquoted}


def _providers(items: Any, kind: str, place: Place) -> tuple[ProviderConfig, ...]:
    keys = (*COMMON_KEYS, *keys_of(IN_FILES[kind]))
    make = _feedback if kind == ProviderKind.FEEDBACK else CONFIGS[ProviderKind(kind)]
    read = [
        _provider(item, make, keys, attrs.evolve(place, detail=f"{kind}[{index}]"))
        for index, item in enumerate(_of(list, items, kind, place))
    ]
    return tuple(filter(None, read))


def _provider(
    item: Any, make: Callable[..., ProviderConfig], keys: Sequence[str], place: Place
) -> ProviderConfig | None:
    table: Any = {"use": item} if isinstance(item, str) else item
    if not isinstance(table, dict):
        place.wrong(f"write a name, or a table with 'use', not {item!r:.60}.")
        return None
    settings = _known(table, keys, place)
    name = settings.pop("use", None)
    if not isinstance(name, str) or not name.strip():
        place.wrong("the key 'use' must name the provider.")
        return None
    about = {key: settings.pop(key) for key in COMMON_KEYS if key in settings}
    if "options" in about:
        about["options"] = _of(dict, about["options"], "options", place)
    reference = _made(partial(ProviderRef, name), about, place)
    make = partial(make, reference or ProviderRef(name))
    return _made(make, settings, place, f"{sanitize(name, 80)}: ")


def _feedback(reference: ProviderRef, **settings: Any) -> FeedbackProviderConfig:
    return FeedbackProviderConfig(reference, FeedbackTrigger(**settings) if settings else None)
