"""trimtab for the OpenAI client."""
