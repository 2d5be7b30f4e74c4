"""``python -m trimtab``."""

from __future__ import annotations

from trimtab._cli import main, run

__all__ = ["main", "run"]

if __name__ == "__main__":
    run()
