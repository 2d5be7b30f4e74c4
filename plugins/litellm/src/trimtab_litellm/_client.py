"""litellm's functions in the shape of the official client, as the loop takes it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import Any


def client(router: Any = None, **connection: Any) -> Any:
    """Return a client for ``GuidedLoop.complete``.

    Args:
        router: a ``litellm.Router`` to ask through; litellm itself if None.
        connection: what every call of ``completion`` gets, e.g. ``api_base``.
    """
    asked = _asked(router)
    return _shaped(asked.completion, getattr(asked, "responses", None), connection)


def async_client(router: Any = None, **connection: Any) -> Any:
    """Return a client for ``GuidedLoop.acomplete``, over ``acompletion``.

    Args:
        router, connection: as for `client`.
    """
    asked = _asked(router)
    return _shaped(asked.acompletion, getattr(asked, "aresponses", None), connection)


def _asked(router: Any) -> Any:
    if router is not None:
        return router
    import litellm

    return litellm


def _shaped(
    complete: Callable[..., Any],
    respond: Callable[..., Any] | None,
    connection: dict[str, Any],
) -> Any:
    responses = None if respond is None else partial(respond, **connection)
    return SimpleNamespace(
        chat=SimpleNamespace(completions=SimpleNamespace(create=partial(complete, **connection))),
        responses=SimpleNamespace(create=responses),
        timeout=connection.get("timeout"),
    )
