"""litellm as an OpenAI client, and what tokens cost by its table of prices."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import Any

from trimtab import Usage


def cost(model: str, usage: Usage) -> float | None:
    """Return the price of one response in US dollars; None for a model that the table lacks.

    Args:
        model: litellm's name of it.
        usage: its tokens; those from the service's cache cost what the table says of them.
    """
    import litellm

    try:
        read, written = litellm.cost_per_token(
            model=model,
            prompt_tokens=usage.input_tokens,
            completion_tokens=usage.output_tokens,
            cache_read_input_tokens=usage.cached_tokens,
        )
    except Exception:  # noqa: BLE001 - litellm raises plain Exception for an unknown model
        return None
    return float(read + written)


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
