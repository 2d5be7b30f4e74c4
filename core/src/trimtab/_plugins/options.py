"""The options of a plugin: read from the signature of what makes it, and checked against it."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from math import isnan
from typing import Any, get_origin, get_type_hints

import attrs

from trimtab._plugins import parameters_of
from trimtab._types.annotations import Resolver
from trimtab._types.errors import ToolError
from trimtab._types.json_types import ANYTHING, JsonType, Misfit, Problems, either, scalar
from trimtab._types.options import is_number
from trimtab._types.text import as_text, shorten

_UNNAMED = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
_SHOWN = 200
"""Characters of a default in the table of options."""


@attrs.frozen(kw_only=True)
class Option:
    """An option that a plugin takes, as its class or function declares it.

    Args:
        name: its name.
        type: the annotation as text; empty if there is none.
        required: whether the plugin can't be made without it.
        default: the default as Python writes it; empty if it is required.
        description: what the docstring says about it, in one line; empty if it says nothing.
    """

    name: str
    type: str = ""
    required: bool = False
    default: str = ""
    description: str = ""


def options_of(factory: Callable[..., Any]) -> tuple[Option, ...]:
    """Return the options of a provider or another plugin; none if it hides its signature.

    Args:
        factory: the class or function that an entry point names.
    """
    described = _described(factory)
    return tuple(
        Option(
            name=parameter.name,
            type=_as_written(_annotation(factory, parameter)),
            required=parameter.default is parameter.empty,
            default=_default(factory, parameter),
            description=described.get(parameter.name, ""),
        )
        for parameter in _parameters(factory)
    )


def read_options(
    factory: Callable[..., Any], options: Mapping[str, Any]
) -> tuple[dict[str, Any], Problems]:
    """Hold options against the annotations of what takes them.

    A value that a file can write for a type is converted: a list for a set, text for a path, a
    table for a record. An annotation that can't be resolved admits everything. The options are
    returned converted, with what is wrong with them, each in a sentence.
    """
    known = {parameter.name: parameter for parameter in _parameters(factory)}
    made, found = dict(options), Problems()
    for name, value in options.items():
        if name in known:
            kind = _type(factory, known[name])
            made[name] = kind.read(value, name, found)
    return made, found


def _parameters(factory: Callable[..., Any]) -> list[inspect.Parameter]:
    return [one for one in parameters_of(factory) or () if one.kind not in _UNNAMED]


def _fields(factory: Any) -> Sequence[attrs.Attribute[Any]]:
    return attrs.fields(factory) if isinstance(factory, type) and attrs.has(factory) else ()


def _field(factory: Any, name: str) -> attrs.Attribute[Any] | None:
    return next((field for field in _fields(factory) if field.alias == name), None)


def _annotation(factory: Any, parameter: inspect.Parameter) -> Any:
    """Return the annotation of an argument.

    attrs annotates an argument like the argument of its converter, and leaves it out if the
    converter has no annotation. A bare collection as converter (``converter=tuple``) takes what
    the field is declared as.
    """
    field = _field(factory, parameter.name)
    if parameter.annotation is not parameter.empty or field is None:
        return parameter.annotation
    declared = _resolved(factory, field.type)
    same = field.converter is not None and field.converter is get_origin(declared)
    return field.type if same else parameter.annotation


def _as_written(annotation: Any) -> str:
    if annotation is inspect.Parameter.empty:
        return ""
    text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    return text.replace("typing.", "").replace("collections.abc.", "")


def _default(factory: Any, parameter: inspect.Parameter) -> str:
    default = parameter.default
    if default is parameter.empty:
        return ""
    field = _field(factory, parameter.name)
    if default is attrs.NOTHING and field is not None:
        made: Any = field.default
        default = None if made.takes_self else made.factory()
    return shorten(repr(default) if isinstance(default, str) else as_text(default), _SHOWN)


def _described(factory: Any) -> dict[str, str]:
    """Return what docstrings say in a section ``Args:``, by name; later ones add to it."""
    texts = [inspect.getdoc(factory) or ""]
    if isinstance(factory, type) and "__init__" in vars(factory):
        texts.append(inspect.getdoc(vars(factory)["__init__"]) or "")
    return {name: words for text in texts for name, words in _arguments(text)}


def _arguments(text: str) -> Iterator[tuple[str, str]]:
    _, _, section = f"\n{text}".partition("\nArgs:\n")
    entries: list[list[str]] = []
    for line in section.splitlines():
        depth = len(line) - len(line.lstrip())
        if line.strip() and not depth:
            break
        if depth == 4 and ":" in line:
            entries.append([])
        if entries:
            entries[-1].append(line.strip())
    for lines in entries:
        names, _, words = " ".join(filter(None, lines)).partition(":")
        for name in names.split(","):
            yield name.partition("(")[0].strip(" *"), words.strip()


def _type(factory: Any, parameter: inspect.Parameter) -> JsonType:
    annotation = _annotation(factory, parameter)
    if annotation is inspect.Parameter.empty:
        return ANYTHING
    try:
        return _OptionResolver().resolve(_resolved(factory, annotation), parameter.name)
    except ToolError:
        return ANYTHING


def _resolved(factory: Any, annotation: Any) -> Any:
    """Return an annotation without forward references; `Any` if a name in it is unknown."""

    def holder() -> None: ...

    holder.__annotations__ = {"it": annotation}
    try:
        return get_type_hints(holder, _namespace(factory), include_extras=True)["it"]
    except Exception:  # noqa: BLE001  # an annotation is an expression of the plugin
        return Any


def _namespace(factory: Any) -> dict[str, Any]:
    """Return the names that annotations of a factory may use: of its modules, nearest last."""
    bases = factory.__mro__ if isinstance(factory, type) else (inspect.unwrap(factory),)
    converters = [field.converter for field in _fields(factory)]
    names: dict[str, Any] = {}
    for home in (*converters, *reversed(bases)):
        module = sys.modules.get(getattr(home, "__module__", None) or "")
        names |= {} if module is None else vars(module)
    return names


def _is_collection(value: Any) -> bool:
    text_or_table = (str, bytes, bytearray, Mapping)
    return isinstance(value, Collection) and not isinstance(value, text_or_table)


class _OptionResolver(Resolver):
    """Knows the types of options: those of JSON, and objects, which only Python can give."""

    is_list = staticmethod(_is_collection)
    is_table = staticmethod(lambda value: isinstance(value, Mapping))

    def resolve(self, annotation: Any, where: str) -> JsonType:
        made = _NONE if annotation in (None, type(None)) else super().resolve(annotation, where)
        word = _WORDS_OF_TOML.get(str(made.schema.get("type")))
        return attrs.evolve(made, told=word) if word and not made.told else made

    def leaf(self, kind: Any, cls: Any, where: str) -> JsonType:
        if cls is float:
            return _FLOAT
        try:
            made = super().leaf(kind, cls, where)
        except ToolError:
            return _native(cls, None)
        return made if cls in _AS_IN_JSON else _native(cls, made)

    def key(self, annotation: Any, where: str) -> JsonType:
        """Return what Python has for the names of a table, or a file, which writes them as text."""
        try:
            written = super().key(annotation, where)
        except ToolError:
            return ANYTHING
        return either([self.resolve(annotation, where), written])


def _native(cls: type[Any], written: JsonType | None) -> JsonType:
    """Return the type of the objects of a class, or of what a file can write for one."""

    def convert(value: Any, path: str, found: Problems) -> Any:
        if isinstance(value, cls):
            return value
        if written is None:
            raise Misfit
        return written.convert(value, path, found)

    try:
        isinstance(None, cls)
    except TypeError:
        return written or ANYTHING
    if written is None:
        return JsonType({}, convert, told=f"an object of {cls.__name__}")
    return attrs.evolve(written, convert=convert)


_NONE = scalar({"type": "null"}, lambda value: value is None, words="None")
_FLOAT = scalar(  # unlike JSON, Python and TOML have infinity
    {"type": "number"}, lambda value: is_number(value) and not isnan(value), float
)
_WORDS_OF_TOML = {"array": "array", "object": "table"}
_AS_IN_JSON = frozenset({str, bool, int})
