"""trimtab for LiteLLM: the loop of trimtab-openai over ``litellm.completion``.

`LiteLLMAdapter` runs a prompt to its end; `client` and `async_client` give ``GuidedLoop`` what it
asks the model through. litellm is imported when a client is made.
"""

from trimtab_litellm._adapter import (
    HOST,
    SETTINGS,
    LiteLLMAdapter,
    async_client,
    client,
    listed_price as cost,
)

__all__ = ["HOST", "SETTINGS", "LiteLLMAdapter", "async_client", "client", "cost"]
