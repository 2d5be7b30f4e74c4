"""Prompts: declared as a template, bound to parameters and providers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from copy import copy
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar, overload

import attrs

from trimtab._policy import (
    CompletionCheckerConfig,
    FeedbackProviderConfig,
    GuidanceProviderConfig,
    ProviderConfig,
    RecorderConfig,
    as_config,
)
from trimtab._prompt.sections import (
    MarkdownSection,
    Parameters,
    by_type,
    check_text,
    check_tools,
    enabled_sections,
    type_argument,
)
from trimtab._types.errors import PromptError
from trimtab._types.options import as_tuple, is_collection, names_known, one_of, whole_number
from trimtab._types.resources import NO_RESOURCES, Resources
from trimtab._types.text import shown

if TYPE_CHECKING:
    from trimtab._contract.tools import RenderedPrompt, Tool
    from trimtab._plugins.configuration import Configuration
    from trimtab._table import PromptTable
    from trimtab._types.resources import ToolProfile

if TYPE_CHECKING:
    from typing_extensions import TypeVar as DefaultTypeVar

    Output = DefaultTypeVar("Output", default=Any)
else:
    Output = TypeVar("Output")
FeedbackDelivery = Literal["first", "all"]

Several = tuple[Any, ...] | list[Any]
"""Providers: settings, instances, names, ``enable(…)``. A name alone is no such list."""


def _several(what: str, declared: object) -> tuple[Any, ...]:
    if not is_collection(declared):
        example = f": write [{declared!r:.60}]" if isinstance(declared, str) else ""
        raise PromptError(f"{what} are given as a tuple or list, not {shown(declared)}{example}")
    return as_tuple(declared)  # type: ignore[arg-type]


def _configs(cls: type[Any], declared: Several) -> tuple[Any, ...]:
    """Make settings of `cls` out of settings, instances, names and ``enable(…)``."""
    return tuple(_setting(cls, item) for item in _several(f"{cls.kind} providers", declared))


def _setting(cls: type[Any], item: Any) -> Any:
    if isinstance(item, ProviderConfig) and not isinstance(item, cls):
        raise PromptError(f"{type(item).__name__} stands where {cls.__name__} belongs")
    return as_config(cls, item)


def _guidance(declared: Several) -> tuple[GuidanceProviderConfig, ...]:
    return _configs(GuidanceProviderConfig, declared)


def _feedback(declared: Several) -> tuple[FeedbackProviderConfig, ...]:
    return _configs(FeedbackProviderConfig, declared)


def _completion(declared: Several) -> tuple[CompletionCheckerConfig, ...]:
    return _configs(CompletionCheckerConfig, declared)


def _recorders(declared: Several) -> tuple[RecorderConfig, ...]:
    return _configs(RecorderConfig, declared)


def _as_sections(declared: Iterable[Any]) -> tuple[MarkdownSection[Any], ...]:
    return _several("sections", declared)


def _check_sections(_: object, __: object, sections: tuple[Any, ...]) -> None:
    keys = set()
    for section in sections:
        if not isinstance(section, MarkdownSection):
            raise PromptError(f"sections must hold MarkdownSection, not {shown(section)}")
        if section.key in keys:
            raise PromptError(f"two sections have the key {section.key!r}; rename one")
        keys.add(section.key)
        section.check()


# Not attrs.frozen: `typing` must be able to leave `__orig_class__` on the instance.
@names_known()
@attrs.define(slots=False, eq=False, on_setattr=attrs.setters.frozen)
class PromptTemplate(Generic[Output]):
    """Declares a prompt: its sections and its providers.

    Args:
        ns: first part of the name ``ns/key``, under which configuration finds the prompt.
        key: second part of the name.
        sections: in the order in which the model reads them.
        name: another name, instead of ``ns/key``.
        guidance_providers, feedback_providers, completion_checkers: configurations, instances,
            entry names or ``enable(…)``, in the order in which they are asked.
        recorders: the same for recorders, which observe the prompt's runs.
        guidance_limit: injections per decision, over all providers.
        feedback_delivery: ``"first"`` delivers the first provider that speaks, ``"all"`` all.
        tools: tools that the agent has beside those of the sections.
        tool_profiles: how the tools of this prompt behave.
        output_type: type of the structured output; ``PromptTemplate[T](…)`` says it too.

    Raises:
        PromptError: sections or providers are declared wrongly.
        TypeError, ValueError: `guidance_limit` or `feedback_delivery` is not one of what is said.
    """

    ns: str = attrs.field(validator=check_text)
    key: str = attrs.field(validator=check_text)
    sections: tuple[MarkdownSection[Any], ...] = attrs.field(
        default=(), converter=_as_sections, validator=_check_sections
    )
    _name: str | None = attrs.field(kw_only=True, default=None, alias="name")
    guidance_providers: tuple[GuidanceProviderConfig, ...] = attrs.field(
        kw_only=True, default=(), converter=_guidance
    )
    feedback_providers: tuple[FeedbackProviderConfig, ...] = attrs.field(
        kw_only=True, default=(), converter=_feedback
    )
    completion_checkers: tuple[CompletionCheckerConfig, ...] = attrs.field(
        kw_only=True, default=(), converter=_completion
    )
    recorders: tuple[RecorderConfig, ...] = attrs.field(
        kw_only=True, default=(), converter=_recorders
    )
    guidance_limit: int = attrs.field(kw_only=True, default=3, validator=whole_number(1))
    feedback_delivery: FeedbackDelivery = attrs.field(
        kw_only=True, default="first", validator=one_of("first", "all")
    )
    tools: tuple[Tool[Any, Any], ...] = attrs.field(
        kw_only=True, default=(), converter=as_tuple, validator=check_tools
    )
    tool_profiles: tuple[ToolProfile, ...] = attrs.field(
        kw_only=True, default=(), converter=as_tuple
    )
    output_type: type[Output] | None = attrs.field(kw_only=True, default=None)

    @property
    def name(self) -> str:
        """The prompt's name, ``ns/key`` unless another was given."""
        return self._name or f"{self.ns}/{self.key}"

    @property
    def output(self) -> type[Output] | None:
        """Type of the structured output, however it was said; None for free text."""
        return self.output_type or type_argument(self)


def _declared(args: tuple[Any, ...], fields: dict[str, Any]) -> PromptTemplate[Any]:
    first, *others = args or (None,)
    if not isinstance(first, PromptTemplate):
        return PromptTemplate(*args, **fields)
    if others or fields:
        raise PromptError("a template goes alone: declare everything in PromptTemplate(…)")
    return first


class Prompt(Generic[Output]):
    """A template with its providers resolved, whose parameters are bound one after the other.

    ``Prompt(template)``, or ``Prompt(ns, key, sections, …)`` with the arguments of
    `PromptTemplate`. Building one resolves, loads, constructs and validates all providers.

    Args:
        args: the template, or namespace, key and sections.
        fields: further arguments of `PromptTemplate`.
        config: ``"auto"`` looks for trimtab.toml or pyproject.toml, a `Configuration` is taken
            as it is, None reads nothing.
        environment: variables by name, of which the switches and paths of trimtab are read;
            `os.environ` if None.
        table: providers that were resolved before, e.g. those of another prompt; takes the place
            of all that is declared.

    Raises:
        PromptError: the template is declared wrongly.
        ProviderError: a provider can't be used; the message says what to do.
    """

    @overload
    def __init__(
        self,
        template: PromptTemplate[Output],
        /,
        *,
        config: Configuration | Literal["auto"] | None = ...,
        environment: Mapping[str, str] | None = ...,
        table: PromptTable | None = ...,
    ) -> None: ...

    @overload
    def __init__(
        self,
        ns: str,
        key: str,
        sections: Iterable[MarkdownSection[Any]] = ...,
        *,
        config: Configuration | Literal["auto"] | None = ...,
        environment: Mapping[str, str] | None = ...,
        table: PromptTable | None = ...,
        name: str | None = ...,
        guidance_providers: Several = ...,
        feedback_providers: Several = ...,
        completion_checkers: Several = ...,
        recorders: Several = ...,
        guidance_limit: int = ...,
        feedback_delivery: FeedbackDelivery = ...,
        tools: Iterable[Tool[Any, Any]] = ...,
        tool_profiles: Iterable[ToolProfile] = ...,
        output_type: type[Output] | None = ...,
    ) -> None: ...

    def __init__(
        self,
        *args: Any,
        config: Configuration | Literal["auto"] | None = "auto",
        environment: Mapping[str, str] | None = None,
        table: PromptTable | None = None,
        **fields: Any,
    ) -> None:
        self.template: PromptTemplate[Output] = _declared(args, fields)
        self.resources = NO_RESOURCES
        self._params: Parameters = {}
        self.table: PromptTable
        if table is not None:
            self.table = table
            return
        from trimtab._table import build_table

        template = self.template
        declared: tuple[ProviderConfig, ...] = (
            *template.guidance_providers,
            *template.feedback_providers,
            *template.completion_checkers,
            *template.recorders,
        )
        limits = template.guidance_limit, template.feedback_delivery
        self.table = build_table(
            self.name, declared, *limits, config=config, environment=environment
        )

    def __repr__(self) -> str:
        asked = [entry.full_name for entry in self.table.sources]
        return f"<Prompt {self.name!r}: {', '.join(asked) or 'no providers'}>"

    @property
    def name(self) -> str:
        """``ns/key`` unless the template names it."""
        return self.template.name

    def bind(self, *params: Any, resources: Resources | None = None) -> Prompt[Output]:
        """Return the prompt with parameters and resources bound; the providers are shared.

        Args:
            params: objects that sections take, matched by type; one bound earlier gives way.
            resources: what tools, providers and checkers may use.

        Raises:
            PromptError: two objects of one type, or one that no section takes.
        """
        bound: Prompt[Output] = copy(self)
        bound._params = {**self._params, **by_type(params, self.template.sections)}
        bound.resources = self.resources if resources is None else resources
        return bound

    def render(self, *params: Any) -> RenderedPrompt[Output]:
        """Return what the model reads, with bound and given parameters filled in.

        Args:
            params: further parameters for this rendering alone, one of each type.

        Raises:
            PromptError: parameters are missing, of no section, or twice of one type.
        """
        from trimtab._contract.tools import RenderedPrompt

        values = {**self._params, **by_type(params, self.template.sections)}
        enabled = tuple(enabled_sections(self.template.sections, values))
        text = "\n\n".join(section.render(given) for section, given in enabled)
        tools = [*self.template.tools, *(tool for section, _ in enabled for tool in section.tools)]
        return RenderedPrompt(text, tuple(tools), self.template.output or type_argument(self))
