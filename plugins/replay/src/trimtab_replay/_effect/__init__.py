"""``trimtab effect``: whether nudges help, measured on a user's own record."""
