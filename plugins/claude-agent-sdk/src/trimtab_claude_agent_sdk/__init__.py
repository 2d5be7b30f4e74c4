"""trimtab for the Claude Agent SDK."""
