"""Commands that this package adds to ``trimtab`` (entry points of group ``trimtab.commands``)."""
