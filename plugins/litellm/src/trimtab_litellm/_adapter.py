"""Running prompts to their end through litellm: its client, and what tokens cost."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractAsyncContextManager, AbstractContextManager, nullcontext
from functools import partial
from types import SimpleNamespace
from typing import Any

from trimtab import Host, TaskCompletionChecker, Usage
from trimtab.hosting import names_known
from trimtab_openai import DELIVERY, Cost, OpenAIAdapter, Settings


def listed_price(model: str, usage: Usage) -> float | None:
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
    complete: Callable[..., Any], respond: Callable[..., Any] | None, connection: dict[str, Any]
) -> Any:
    responses = None if respond is None else partial(respond, **connection)
    return SimpleNamespace(
        chat=SimpleNamespace(completions=SimpleNamespace(create=partial(complete, **connection))),
        responses=SimpleNamespace(create=responses),
        timeout=connection.get("timeout"),
    )


HOST = Host(name="litellm", delivery=DELIVERY, parallel_calls=True, stops=True)

SETTINGS = Settings(role="user")
"""Guidance as a message of the user: litellm moves others to the head of some requests (Gemini),
where the service's prompt cache would lose the whole conversation."""


@names_known()
class LiteLLMAdapter(OpenAIAdapter):
    """Runs prompts on any service that litellm speaks to.

    Args:
        model: litellm's name of it, e.g. ``"anthropic/claude-sonnet-4-5"``, or the router's.
        router: a ``litellm.Router`` to ask through; litellm itself if None.
        base_url, api_key: of the service; litellm finds them in the environment if None.
        settings: how requests are made and guidance is placed;
            ``options`` go to ``litellm.completion``, e.g. ``{"num_retries": 2}``.
        checkers: completion checkers, asked after the prompt's own.
        cost: ``cost(model, usage)`` for ``Budget.max_cost``, asked if litellm reports no price
            with the response; litellm's table of prices, in US dollars, if None.
    """

    host = HOST

    def __init__(
        self,
        model: str,
        *,
        router: Any = None,
        base_url: str | None = None,
        api_key: str | None = None,
        settings: Settings = SETTINGS,
        checkers: Iterable[TaskCompletionChecker] = (),
        cost: Cost | None = None,
    ) -> None:
        super().__init__(model, settings=settings, checkers=checkers, cost=cost or listed_price)
        given = {"api_base": base_url, "api_key": api_key}
        self._router = router
        self._connection = {name: value for name, value in given.items() if value is not None}

    def client(self) -> AbstractContextManager[Any]:
        """Return what the loop asks the model through."""
        return nullcontext(client(self._router, **self._connection))

    def async_client(self) -> AbstractAsyncContextManager[Any]:
        """Return what the loop asks the model through, asynchronously."""
        return nullcontext(async_client(self._router, **self._connection))
