"""What ``trimtab install``, ``uninstall``, ``status`` and ``doctor`` do for Claude Code."""
