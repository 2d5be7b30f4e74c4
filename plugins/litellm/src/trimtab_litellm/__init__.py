"""trimtab for LiteLLM."""
