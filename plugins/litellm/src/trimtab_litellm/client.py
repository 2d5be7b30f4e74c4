"""litellm's functions in the shape of the official client, as the loop takes it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import Any


def client(**connection: Any) -> Any:
    """Return a client for ``GuidedLoop.complete``.

    Args:
        connection: what every call of ``litellm.completion`` gets, e.g. ``api_base``.
    """
    import litellm

    return _shaped(litellm.completion, litellm.responses, connection)


def async_client(**connection: Any) -> Any:
    """Return a client for ``GuidedLoop.acomplete``, over ``litellm.acompletion``."""
    import litellm

    return _shaped(litellm.acompletion, litellm.aresponses, connection)


def _shaped(
    complete: Callable[..., Any], respond: Callable[..., Any], connection: dict[str, Any]
) -> Any:
    return SimpleNamespace(
        chat=SimpleNamespace(completions=SimpleNamespace(create=partial(complete, **connection))),
        responses=SimpleNamespace(create=partial(respond, **connection)),
        timeout=connection.get("timeout"),
    )
