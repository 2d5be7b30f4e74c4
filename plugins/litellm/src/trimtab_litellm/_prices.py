"""What tokens cost, by litellm's table of prices."""

from __future__ import annotations

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
