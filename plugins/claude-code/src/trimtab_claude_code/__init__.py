"""trimtab for Claude Code, through its hooks."""

# The hook client imports this module: keep it free of imports.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["installed_hooks"]


def installed_hooks() -> "tuple[Path, ...]":
    """Return the settings files with trimtab's hooks that Claude Code reads in this folder."""
    from trimtab_claude_code._settings_edit import with_our_hooks

    return tuple(with_our_hooks())
