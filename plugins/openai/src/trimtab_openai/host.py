"""What these packages can do with the words of providers (DESIGN 4, study of runtimes)."""

from __future__ import annotations

from trimtab import DecisionPoint, Delivery, Host

DELIVERY = dict.fromkeys(DecisionPoint, Delivery.EPHEMERAL)
"""Every request carries the whole conversation, so guidance is added to the request alone."""

HOST = Host(name="openai", delivery=DELIVERY, parallel_calls=True)
