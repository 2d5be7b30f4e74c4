"""Sections of a prompt: Markdown with typed placeholders (seed 004)."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from string import Template
from textwrap import dedent
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

import attrs

from trimtab.convert import as_tuple
from trimtab.errors import PromptError
from trimtab.prompt.checks import only_tools, some_text
from trimtab.prompt.generics import type_argument
from trimtab.prompt.rendering import render_section

if TYPE_CHECKING:
    from trimtab.runtime.tools import Tool

Params = TypeVar("Params")


def field_names(params_type: type[Any]) -> frozenset[str]:
    """Return the fields of an attrs class or dataclass.

    Raises:
        PromptError: the type is neither.
    """
    if attrs.has(params_type):
        return frozenset(field.name for field in attrs.fields(params_type))
    if dataclasses.is_dataclass(params_type):
        return frozenset(field.name for field in dataclasses.fields(params_type))
    raise PromptError(f"parameters {params_type!r} must be an attrs class or a dataclass")


# Not attrs.frozen: `typing` must be able to leave `__orig_class__` on the instance.
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

    key: str = attrs.field(validator=some_text)
    title: str = attrs.field(validator=some_text)
    template: str = attrs.field(validator=attrs.validators.instance_of(str))
    enabled: bool | Callable[..., bool] = True
    tools: tuple[Tool[Any, Any], ...] = attrs.field(
        default=(), converter=as_tuple, validator=only_tools
    )

    @property
    def params_type(self) -> type[Params] | None:
        """The class of the parameters, None where the section takes none."""
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
        unknown = sorted(set(template.get_identifiers()) - self._fields())
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
        return render_section(self.title, template.substitute(values))

    def _template(self) -> Template:
        return Template(dedent(self.template).strip())

    def _fields(self) -> frozenset[str]:
        return field_names(self.params_type) if self.params_type else frozenset()

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
