"""States of projections as JSON-like data, and back as what the projection declares."""

from __future__ import annotations

import logging
from functools import cache
from typing import Any, get_type_hints

from trimtab._session.codec import record_converter, structure_problems
from trimtab._session.projection import Projection

_log = logging.getLogger("trimtab")


def encode_state(projection: Projection) -> Any:
    """Return the state of a projection as JSON-like data of its own.

    Raises:
        Exception: whatever `state` raises, or its class can't be written.
    """
    declared = _declared(type(projection))
    return record_converter().unstructure(projection.state(), declared)


def decode_state(projection: Projection, saved: Any) -> tuple[Any] | None:
    """Return the state that `load_state` takes, None if what was saved does not fit.

    It does not fit if it is damaged, or if another version of the provider wrote it.
    """
    try:
        return (record_converter().structure(saved, _declared(type(projection))),)
    except Exception as error:  # noqa: BLE001 - also what the classes of the state raise
        _log.warning(
            "the saved state of %s does not fit and is made anew from the record: %s",
            type(projection).__qualname__,
            next(structure_problems(error, "state")),
        )
        return None


@cache
def _declared(kind: Any) -> Any:
    """Return the type that `state` of a projection's class is annotated with, else `Any`."""
    try:
        return get_type_hints(kind.state).get("return", Any)
    except NameError as error:
        raise TypeError(
            f"the annotation of {kind.__qualname__}.state can't be read: {error}; import its "
            "types where the module runs, not for type checkers only"
        ) from None
