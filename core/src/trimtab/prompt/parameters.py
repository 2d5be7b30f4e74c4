"""Matching parameter objects to sections, by type."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from trimtab.errors import PromptError

if TYPE_CHECKING:
    from trimtab.prompt.sections import MarkdownSection

Parameters = Mapping[type[Any], Any]


def by_type(params: Iterable[Any], sections: Iterable[MarkdownSection[Any]]) -> Parameters:
    """Return parameter objects keyed by their type.

    Raises:
        PromptError: two objects of one type, or one that no section takes.
    """
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
    """Return the parameter object of one section, None where it takes none.

    Raises:
        PromptError: the section's parameters are missing.
    """
    if section.params_type is None:
        return None
    if section.params_type not in params:
        from trimtab.prompt.sections import field_names

        names = ", ".join(sorted(field_names(section.params_type)))
        raise PromptError(
            f"section {section.key!r} needs a {section.params_type.__name__}"
            f" (fields: {names}); give one to bind() or render()"
        )
    return params[section.params_type]


def enabled_sections(
    sections: Iterable[MarkdownSection[Any]], params: Parameters
) -> Iterator[tuple[MarkdownSection[Any], Any]]:
    """Yield the sections that are to be rendered, each with its parameter object.

    Raises:
        PromptError: the parameters of a section that may be rendered are missing.
    """
    for section in sections:
        if section.enabled is False:
            continue
        given = _parameters_of(section, params)
        if section.is_enabled(given):
            yield section, given
