"""Provenance of providers, decision points and kinds of delivery."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum, StrEnum
from typing import Any

import attrs

from trimtab._types.options import as_mapping, instance_of, text, yes_or_no


class ProviderKind(StrEnum):
    """What a provider does; also the last part of its entry-point group."""

    GUIDANCE = "guidance"
    FEEDBACK = "feedback"
    COMPLETION = "completion"
    RECORDER = "recorders"

    @property
    def group(self) -> str:
        return f"trimtab.{self.value}"


@attrs.frozen
class Provenance:
    """Where the words of a provider come from; stands on every event that it caused.

    Args:
        name: the entry name, or the provider's own name where it was given as an object.
        kind: what it does.
        distribution: the installed package, normalised; None for an object made by the caller.
        version: the package's version; None if unknown.
    """

    name: str
    kind: ProviderKind
    distribution: str | None = None
    version: str | None = None

    @property
    def key(self) -> str:
        """Kind and name, by which the provider's failures are counted."""
        return f"{self.kind}:{self.name}"

    @property
    def full_name(self) -> str:
        """The long form ``distribution:name``."""
        return f"{self.distribution}:{self.name}" if self.distribution else self.name


@attrs.frozen
class ProviderRef:
    """A provider asked for by name, with the options for its constructor.

    Args:
        name: entry name, or ``distribution:name`` where two distributions offer it.
        options: keyword arguments for the provider's class or factory.
        optional: a provider that can't be used becomes a `ProviderSkipped` event, not an error.
    """

    name: str = attrs.field(validator=text(needed=True))
    options: Mapping[str, Any] = attrs.field(
        factory=dict, converter=as_mapping, validator=instance_of(Mapping)
    )
    optional: bool = attrs.field(default=False, validator=yes_or_no())


def enable(name: str, /, *, optional: bool = False, **options: Any) -> ProviderRef:
    """Ask for an installed provider by name: ``enable("doom-loop", window_size=5)``.

    Args:
        name: entry name, or ``distribution:name``.
        optional: whether the prompt does without it if it can't be used.
        options: keyword arguments for the provider's class or factory.
    """
    return ProviderRef(name, options, optional)


class DecisionPoint(Enum):
    """Where guidance can be asked for."""

    __hash__ = object.__hash__  # Enum's own is a function in Python; points key every decision
    PRE_RENDER = "pre_render"
    PRE_TOOL_SELECTION = "pre_tool_selection"
    PRE_TOOL_EXECUTION = "pre_tool_execution"
    POST_TOOL_RESULT = "post_tool_result"
    PRE_RESPONSE = "pre_response"


class Delivery(StrEnum):
    """How a host can place text at a point."""

    EPHEMERAL = "ephemeral"
    PERSISTED = "persisted"
    REFUSAL = "refusal"
    NONE = "none"
