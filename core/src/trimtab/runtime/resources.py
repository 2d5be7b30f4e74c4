"""What a prompt brings along for its tools and providers, found by type."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

import attrs

from trimtab.errors import ResourceError

Resource = TypeVar("Resource")


@attrs.frozen
class Resources:
    """A typed container: ``Resources.of(filesystem, client).get(Client)``.

    Args:
        bound: objects by the type under which they are asked for.
    """

    bound: Mapping[type[Any], Any] = attrs.field(factory=dict, converter=dict)

    @classmethod
    def of(cls, *objects: object) -> Resources:
        """Return a container of `objects`, each under its own class.

        Raises:
            ResourceError: two objects of one class; give a mapping instead.
        """
        bound = {type(item): item for item in objects}
        if len(bound) < len(objects):
            raise ResourceError("two resources of one class; build Resources from a mapping")
        return cls(bound)

    def get_optional(self, wanted: type[Resource]) -> Resource | None:
        """Return the resource bound as `wanted`, else the first that is one, else None.

        A ``runtime_checkable`` protocol matches any object that implements it.
        """
        if wanted in self.bound:
            exact: Resource = self.bound[wanted]
            return exact
        return next((item for item in self.bound.values() if isinstance(item, wanted)), None)

    def get(self, wanted: type[Resource]) -> Resource:
        """Return the resource bound as `wanted`.

        Raises:
            ResourceError: there is none.
        """
        found = self.get_optional(wanted)
        if found is None:
            raise ResourceError(
                f"no resource of type {wanted.__name__} is bound; give one to"
                " Prompt.bind(resources=…)"
            )
        return found


NO_RESOURCES = Resources()
