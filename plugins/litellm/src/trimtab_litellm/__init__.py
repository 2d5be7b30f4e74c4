"""trimtab for LiteLLM: the loop of trimtab-openai over ``litellm.completion``.

`LiteLLMAdapter` runs a prompt to its end; `client` and `async_client` give ``GuidedLoop`` what it
asks the model through. litellm is imported where a client is made.
"""

from trimtab_litellm.adapter import HOST, SETTINGS, LiteLLMAdapter
from trimtab_litellm.client import async_client, client
from trimtab_litellm.prices import cost

__all__ = ["HOST", "SETTINGS", "LiteLLMAdapter", "async_client", "client", "cost"]
