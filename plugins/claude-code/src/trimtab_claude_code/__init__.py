"""trimtab for Claude Code, through its hooks."""
