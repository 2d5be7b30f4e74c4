"""The typed, append-only record of what happened, and the runs that are kept in it."""
