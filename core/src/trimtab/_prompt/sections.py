"""Checks of what a prompt declares: validators of attrs fields."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast, get_args

import attrs

from trimtab._types.errors import PromptError
from trimtab._types.options import as_tuple, names_known, text
from trimtab._types.text import field_names, shown

if TYPE_CHECKING:
    from string import Template

    from trimtab._contract.tools import Tool


def check_text(_: object, attribute: attrs.Attribute[str], value: Any) -> None:
    if not isinstance(value, str) or not value.strip():
        raise PromptError(f"{attribute.name} must be text, not {shown(value)}")


def check_tools(_: object, __: object, tools: Any) -> None:
    if not isinstance(tools, tuple):
        raise PromptError(f"tools must be a list of Tool(…), not {shown(tools)}")
    if tools:
        from trimtab._contract.tools import Tool

        strange = [item for item in tools if not isinstance(item, Tool)]
        if strange:
            raise PromptError(f"tools must hold Tool(…), not {shown(strange[0])}")


def type_argument(instance: object) -> Any:
    """Return the argument of the alias that made `instance`; None if there was none.

    `typing` leaves the alias on the instance as ``__orig_class__`` after ``__init__``, so this
    serves from then on; classes that use it must let that attribute be set.
    """
    arguments = get_args(getattr(instance, "__orig_class__", None))
    return None if not arguments or isinstance(arguments[0], TypeVar) else arguments[0]


if TYPE_CHECKING:
    from typing_extensions import TypeVar as DefaultTypeVar

    Params = DefaultTypeVar("Params", default=Any)
else:
    Params = TypeVar("Params")


# Not attrs.frozen: `typing` must be able to leave `__orig_class__` on the instance.
@names_known()
@attrs.define(slots=False, eq=False, kw_only=True, on_setattr=attrs.setters.frozen)
class MarkdownSection(Generic[Params]):
    """One section: ``MarkdownSection[MyParams](key=…, title=…, template="…${field}…")``.

    The generic argument names the attrs class or dataclass whose fields the placeholders take;
    without it the text has no placeholders. The template is dedented before the values go in,
    so values of several lines keep their shape; ``$$`` writes a dollar sign.

    Args:
        key: identifier, unique in its prompt.
        title: heading, written as ``## title``.
        template: Markdown with ``${name}`` placeholders.
        enabled: whether the section is rendered, or a function that says so from the
            parameters (called without any where the section takes none).
        tools: tools that the agent has while the section is enabled.
    """

    key: str = attrs.field(validator=check_text)
    title: str = attrs.field(validator=check_text)
    template: str = attrs.field(validator=text())
    enabled: bool | Callable[..., bool] = True
    tools: tuple[Tool[Any, Any], ...] = attrs.field(
        default=(), converter=as_tuple, validator=check_tools
    )

    @property
    def params_type(self) -> type[Params] | None:
        """The class of the parameters, None if the section takes none."""
        argument = type_argument(self)
        return None if argument is type(None) else cast("type[Params] | None", argument)

    def check(self) -> None:
        """Check the placeholders against the parameters.

        Raises:
            PromptError: a placeholder is malformed or names no field, or the parameters are
                no attrs class or dataclass.
        """
        template = self._template()
        if not template.is_valid():
            raise PromptError(f"section {self.key!r}: a lone '$' in the template; write '$$'")
        unknown = sorted(set(template.get_identifiers()).difference(self._fields()))
        if unknown:
            raise PromptError(self._unknown(unknown[0]))

    def is_enabled(self, params: Params | None) -> bool:
        """Return whether the section is to be rendered with `params`."""
        if isinstance(self.enabled, bool):
            return self.enabled
        return bool(self.enabled() if self.params_type is None else self.enabled(params))

    def render(self, params: Params | None = None) -> str:
        """Return heading and text with the values of `params` filled in."""
        template = self._template()
        values = {name: getattr(params, name) for name in template.get_identifiers()}
        body = template.substitute(values)
        return f"## {self.title}\n\n{body}" if body else f"## {self.title}"

    def _template(self) -> Template:
        from string import Template
        from textwrap import dedent

        return Template(dedent(self.template).strip())

    def _fields(self) -> tuple[str, ...]:
        kind: Any = self.params_type
        names = () if kind is None else field_names(kind)
        if names is None:
            raise PromptError(f"parameters {kind!r} must be an attrs class or a dataclass")
        return names

    def _unknown(self, name: str) -> str:
        if self.params_type is None:
            return (
                f"section {self.key!r} takes no parameters but its template has ${{{name}}};"
                " write MarkdownSection[YourParams](…)"
            )
        return (
            f"section {self.key!r}: placeholder ${{{name}}} names no field of"
            f" {self.params_type.__name__}; it has {', '.join(sorted(self._fields()))}"
        )


Parameters = Mapping[type[Any], Any]


def by_type(params: Iterable[Any], sections: Iterable[MarkdownSection[Any]]) -> Parameters:
    taken = {section.params_type for section in sections}
    found: dict[type[Any], Any] = {}
    for param in params:
        cls = type(param)
        if cls in found:
            raise PromptError(f"two parameter objects of type {cls.__name__}; give one")
        if cls not in taken:
            raise PromptError(f"no section takes parameters of type {cls.__name__}; leave them out")
        found[cls] = param
    return found


def _parameters_of(section: MarkdownSection[Any], params: Parameters) -> Any:
    """Return the parameter object of one section, None if it takes none."""
    if section.params_type is None:
        return None
    if section.params_type not in params:
        names = ", ".join(sorted(section._fields()))
        raise PromptError(
            f"section {section.key!r} needs a {section.params_type.__name__}"
            f" (fields: {names}); give one to bind() or render()"
        )
    return params[section.params_type]


def enabled_sections(
    sections: Iterable[MarkdownSection[Any]], params: Parameters
) -> Iterator[tuple[MarkdownSection[Any], Any]]:
    for section in sections:
        if section.enabled is False:
            continue
        given = _parameters_of(section, params)
        if section.is_enabled(given):
            yield section, given
