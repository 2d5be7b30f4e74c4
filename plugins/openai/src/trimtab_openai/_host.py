"""How the OpenAI client's services place what providers say."""

from __future__ import annotations

from typing import Any, Literal
from urllib.parse import urlsplit

from trimtab import DecisionPoint, Delivery, Host

DELIVERY = dict.fromkeys(DecisionPoint, Delivery.EPHEMERAL)
"""Every request carries the whole conversation, so guidance is added to the request alone."""

HOST = Host(name="openai", delivery=DELIVERY, parallel_calls=True, stops=True)

READS_DEVELOPER = (".openai.com", ".openai.azure.com")
"""Ends of the host names whose services are known to read messages of developers."""


def guidance_role(client: Any) -> Literal["developer", "system"]:
    """Return the role of guidance that the client's service reads.

    Args:
        client: the official client or one like it; its ``base_url`` decides.
    """
    host = urlsplit(str(getattr(client, "base_url", ""))).hostname or ""
    return "developer" if f".{host}".endswith(READS_DEVELOPER) else "system"
