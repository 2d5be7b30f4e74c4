"""Running prompts to their end through litellm."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractAsyncContextManager, AbstractContextManager, nullcontext
from typing import Any

from trimtab import Host, TaskCompletionChecker
from trimtab_litellm._client import async_client, client, cost as listed_price
from trimtab_openai import DELIVERY, Cost, OpenAIAdapter, Settings

HOST = Host(name="litellm", delivery=DELIVERY, parallel_calls=True, stops=True)

SETTINGS = Settings(role="user")
"""Guidance as a message of the user: litellm moves others to the head of some requests (Gemini),
where the service's prompt cache would lose the whole conversation."""


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
        super().__init__(
            model,
            settings=settings,
            checkers=checkers,
            cost=cost or listed_price,
        )
        given = {"api_base": base_url, "api_key": api_key}
        self._router = router
        self._connection = {name: value for name, value in given.items() if value is not None}

    def client(self) -> AbstractContextManager[Any]:
        """Return what the loop asks the model through."""
        return nullcontext(client(self._router, **self._connection))

    def async_client(self) -> AbstractAsyncContextManager[Any]:
        """Return what the loop asks the model through, asynchronously."""
        return nullcontext(async_client(self._router, **self._connection))
