"""A callback for LiteLLM's proxy: words for requests that pass it, as trimtab-proxy puts them in.

It needs trimtab-proxy (``pip install "trimtab-litellm[proxy]"``) and one line in LiteLLM's
configuration::

    litellm_settings:
      callbacks: trimtab_litellm.proxy.callback
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from litellm.integrations.custom_logger import CustomLogger

if TYPE_CHECKING:
    from trimtab_proxy import Guide

SECONDS = 10.0
"""How long a request waits for words at most; then it goes on without them."""

_APIS = {
    "anthropic_messages": "anthropic-messages",
    "completion": "openai-chat",
    "acompletion": "openai-chat",
    "responses": "openai-responses",
    "aresponses": "openai-responses",
}
_log = logging.getLogger(__name__)


class TrimtabCallback(CustomLogger):
    """Puts words into requests before LiteLLM sends them on.

    Args:
        guide: follows the conversations; read from trimtab's configuration, ``[hosts.proxy]``, at
            the first request where None.
    """

    def __init__(self, guide: Guide | None = None) -> None:
        super().__init__()
        self._guide = guide

    async def async_pre_call_hook(
        self,
        user_api_key_dict: Any,  # noqa: ARG002 - LiteLLM passes it by name
        cache: Any,  # noqa: ARG002 - as above
        data: dict[str, Any],
        call_type: str,
    ) -> dict[str, Any]:
        """Return the request, guided where there is something to say.

        Args:
            user_api_key_dict, cache: LiteLLM's, not used.
            data: the request as LiteLLM holds it.
            call_type: which of its functions is called.

        Raises:
            TrimtabError: trimtab's configuration can't be used. It is raised for every request, so
                that a proxy without any effect is noticed.
        """
        api = _APIS.get(str(call_type))
        if api is None:
            return data
        if self._guide is None:
            self._guide = await asyncio.to_thread(_read_guide)
        return await self._guided(self._guide, api, data)

    async def _guided(self, guide: Guide, api: str, data: dict[str, Any]) -> dict[str, Any]:
        from trimtab_proxy import guided_body

        work = asyncio.to_thread(guided_body, guide, api, _headers(data), data)
        try:
            return await asyncio.wait_for(work, SECONDS) or data
        except Exception as error:  # noqa: BLE001 - the request goes on as it is
            _log.warning("a request went on without guidance: %s", type(error).__name__)
            return data


def _read_guide() -> Guide:
    try:
        from trimtab_proxy import read_guide
    except ImportError:
        raise ImportError(
            "the callback for LiteLLM's proxy needs trimtab-proxy: "
            'pip install "trimtab-litellm[proxy]"'
        ) from None
    return read_guide()


def _headers(data: Mapping[str, Any]) -> dict[str, str]:
    """Return the headers of the client's request, as far as LiteLLM passes them on."""
    request = data.get("proxy_server_request")
    headers = request.get("headers") if isinstance(request, Mapping) else None
    if not isinstance(headers, Mapping):
        return {}
    return {str(name).lower(): str(value) for name, value in headers.items()}


callback = TrimtabCallback()
"""What ``litellm_settings: callbacks`` names."""
