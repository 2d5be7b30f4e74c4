"""The base of providers that follow a run with a projection of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

from trimtab._contract.hookspecs import hookimpl
from trimtab._session.projection import Projection

if TYPE_CHECKING:
    from trimtab._contract.context import RunContext

P = TypeVar("P", bound=Projection)


class Following(Generic[P]):
    """Attaches a provider's projection when a run opens, and hands it out up to date.

    Derive from ``Following[YourProjection]`` and say in `projection` how one is made; give the
    provider a ``name``, under which the projection is kept in snapshots.

    Example:
        >>> from trimtab.trajectory import BaseProjection, Following
        >>> class Count(BaseProjection):
        ...     calls = 0
        ...     def call_ended(self, call):
        ...         self.calls += 1
        >>> class Long(Following[Count]):
        ...     name = "long"
        ...     def projection(self, context):
        ...         return Count()
    """

    __slots__ = ()

    name: str

    def projection(self, context: RunContext) -> P:
        """Return a new projection for a run.

        Args:
            context: the run.
        """
        raise NotImplementedError(f"{type(self).__name__}.projection must return a projection")

    @hookimpl
    def run_opened(self, context: RunContext) -> None:
        """Begin to follow a run."""
        context.trajectory.attach(self.name, self.projection(context))

    def followed(self, context: RunContext) -> P:
        """Return the run's projection, up to date; one that joins late has seen the record.

        Args:
            context: the run.
        """
        found = context.trajectory.projection(self.name)
        if found is None:
            self.run_opened(context)
            found = context.trajectory.projection(self.name)
        return found  # type: ignore[return-value]
