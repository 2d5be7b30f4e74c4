"""What a prompt brings along for its tools and providers, found by type."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar, cast

import attrs

from trimtab.errors import ResourceError

Resource = TypeVar("Resource")
# Not `type[Resource]`: type checkers take no protocol there.
Wanted = Callable[..., Resource]


def _copied(bound: Mapping[type[Any], Any]) -> Mapping[Any, Any]:
    return dict(bound)


@attrs.frozen
class Resources:
    """A typed container: ``Resources.of(filesystem, client).get(Client)``.

    Args:
        bound: objects by the type under which they are asked for.
    """

    bound: Mapping[Any, Any] = attrs.field(factory=dict, converter=_copied)

    @classmethod
    def of(cls, *objects: object) -> Resources:
        """Return a container of `objects`, each under its own class.

        Raises:
            ResourceError: two objects of one class; give a mapping instead.
        """
        bound: dict[type[Any], Any] = {type(item): item for item in objects}
        if len(bound) < len(objects):
            raise ResourceError("two resources of one class; build Resources from a mapping")
        return cls(bound)

    def get_optional(self, wanted: Wanted[Resource]) -> Resource | None:
        """Return the resource bound as `wanted`, else the first that is one, else None.

        A ``runtime_checkable`` protocol matches any object that implements it.
        """
        cls: Any = wanted
        if cls in self.bound:
            return cast("Resource", self.bound[cls])
        return next((item for item in self.bound.values() if isinstance(item, cls)), None)

    def get(self, wanted: Wanted[Resource]) -> Resource:
        """Return the resource bound as `wanted`.

        Raises:
            ResourceError: there is none.
        """
        found = self.get_optional(wanted)
        if found is None:
            raise ResourceError(
                f"no resource of type {wanted!r} is bound; give one to Prompt.bind(resources=…)"
            )
        return found


NO_RESOURCES = Resources()
