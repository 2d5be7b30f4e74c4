"""What a projection is: a provider's own state over a run, fed with what happens."""

from __future__ import annotations

from functools import cache
from typing import Any, ClassVar, Self

import attrs

from trimtab._events import ToolInvoked
from trimtab._types.resources import ToolProfile

HOOKS = ("call_ended", "turn_closed", "responded", "user_spoke", "compacted")


@attrs.frozen(eq=False)
class Turn:
    """One closed turn: the calls of one response, an unordered batch.

    Attributes:
        calls: in the order in which they ended, the first 64; without the harness's own.
        number: how many turns were closed before it.
    """

    calls: tuple[ToolInvoked, ...]
    number: int


@attrs.frozen(eq=False)
class TextRecord:
    """What a response said, beside its calls.

    Attributes:
        text, reasoning: as they came; don't keep them.
        has_calls: whether the response also asked for tools.
    """

    text: str
    reasoning: str
    has_calls: bool


@attrs.frozen(eq=False)
class MessageRecord:
    """What the user, or the harness as a `notification`, said; don't keep the text."""

    text: str
    notification: bool


class BaseProjection:
    """What a provider keeps of a run: ignores everything that happens, so override what matters.

    The methods are called when the provider asks for it (``context.trajectory.projection``),
    in order, with everything that has happened since; so their time and failures are the
    provider's own. If much waits, a run hands it over unasked, isolated in the same way. Keep
    no event or record forever: a run may have 100,000 calls.

    Example:
        >>> @attrs.define(eq=False)
        ... class Denials(BaseProjection):
        ...     count: int = 0  # the fields are saved with the session
        ...     quiet: bool = True
        ...     def call_ended(self, call):
        ...         self.count += call.outcome == "denied"
        ...         self.quiet = self.count == 0

    Attributes:
        quiet: while it is True and no episode of the run is open, the guidance provider under whose
            name the projection is attached is not asked, which is most of what a decision costs.
            Set it where the facts seen so far call for no guidance, whatever else `classify` looks
            at.
        rests: whether facts may wait while it is quiet, until the projection that it needs stirs.
            Then it takes all of them, in order. Set it where nothing else can end the quiet.
        stirs: of a projection that others need, whether the last fact may end the quiet of those
            that rest.
        needs: the class of a projection that takes each fact first, one for all that need it in a
            run. What its method returns for a fact, a tuple, is what the methods of this one take
            in place of the fact; where it returns None, they take the fact itself.
    """

    quiet: bool = False
    rests: bool = False
    stirs: bool = True
    needs: ClassVar[type[BaseProjection] | None] = None

    @classmethod
    def of_run(cls, tool_profiles: tuple[ToolProfile, ...]) -> Self:  # noqa: ARG003 - for others
        """Return the projection of one run, for those that need this class.

        Args:
            tool_profiles: what prompt and host declare about the tools, in order of precedence.
        """
        return cls()

    def call_ended(self, *call: Any, **_: Any) -> Any:
        """Take a tool call that has ended; its turn is still open.

        Args:
            call: the event `trimtab.ToolInvoked`, with arguments and result; or what the
                projection that this one needs returned for it.
        """

    def turn_closed(self, turn: Any) -> Any:
        """Take a whole batch, before the next response is asked for.

        Args:
            turn: the `Turn`, with its calls.
        """

    def responded(self, text: TextRecord) -> Any:
        """Take the text of a response.

        Args:
            text: the text, and whether there were calls beside it.
        """

    def user_spoke(self, message: MessageRecord) -> Any:
        """Take a message of the user, or a notification of the harness.

        Args:
            message: the message.
        """

    def compacted(self) -> Any:
        """Take note that the model's history was shortened."""

    def state(self) -> Any:
        """Return everything; decisions after `load_state` of it are the same.

        Without an override that is a record of the fields of an attrs class, which must have types;
        other attributes are not kept. An override returns JSON-like data, or an attrs class (or
        dataclass) whose fields have types. The method's return annotation says which: a session
        saves and reads the state by it. A state that does not fit, such as that of another version,
        is made anew from the record.
        """
        kind: Any = type(self)
        record, names = saved_class(kind), saved_names(kind)
        if record is None:
            return {}
        return record(**{short: getattr(self, name) for short, name in names.items()})

    def load_state(self, state: Any) -> None:
        """Take back what `state` returned."""
        for short, name in saved_names(type(self)).items():
            setattr(self, name, getattr(state, short))


def saved_names(kind: Any) -> dict[str, str]:
    """Return the names of an attrs class's fields by those without their underscores."""
    fields = attrs.fields(kind) if attrs.has(kind) else ()
    return {each.name.lstrip("_"): each.name for each in fields}


@cache
def saved_class(kind: Any) -> Any:
    """Return the class of the records that `BaseProjection.state` makes of a projection.

    Args:
        kind: class of the projection.

    Returns:
        None for a class without fields of attrs.

    Raises:
        NameError: the type of a field can't be resolved.
    """
    if not attrs.has(kind):
        return None
    fields = attrs.fields_dict(attrs.resolve_types(kind))
    body = {
        short: attrs.field(default=fields[name].default, type=fields[name].type)
        for short, name in saved_names(kind).items()
    }
    return attrs.make_class(f"Saved{kind.__name__}", body)
