"""What tokens cost, by litellm's table of prices."""

from __future__ import annotations

from trimtab import Usage


def cost(model: str, usage: Usage) -> float:
    """Return the price of one response in US dollars; 0.0 for models that the table lacks."""
    import litellm

    try:
        read, written = litellm.cost_per_token(
            model=model, prompt_tokens=usage.input_tokens, completion_tokens=usage.output_tokens
        )
    except Exception:  # noqa: BLE001 - litellm raises plain Exception for an unknown model
        return 0.0
    return float(read + written)
