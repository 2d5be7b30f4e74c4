"""What a settings file held before, so that it can be given back byte for byte."""

from __future__ import annotations

import base64
import json
import os
from hashlib import blake2b
from pathlib import Path

import attrs


def digest(content: bytes) -> str:
    """Return what tells whether a file is still the same."""
    return blake2b(content, digest_size=16).hexdigest()


@attrs.frozen
class Receipt:
    """One file that was written to.

    Args:
        path: the file.
        before: its bytes before; None if there was no file.
        after: digest of what was written.
    """

    path: str
    before: bytes | None
    after: str


class Receipts:
    """The receipts of a user.

    Args:
        folder: the user's own folder.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder / "installed"

    def find(self, path: Path) -> Receipt | None:
        """Return the receipt for a file; None if there is none that can be read."""
        try:
            found = json.loads(self._file(path).read_text(encoding="utf-8"))
            before = found["before"]
            raw = None if before is None else base64.b64decode(before)
            return Receipt(str(found["path"]), raw, str(found["after"]))
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def any(self) -> bool:
        """Return whether there is a receipt for any file."""
        return any(self._folder.glob("*.json"))

    def keep(self, receipt: Receipt) -> None:
        """Write a receipt down, for the user's eyes alone: settings may hold secrets.

        Raises:
            OSError: it can't be written.
        """
        before = None if receipt.before is None else base64.b64encode(receipt.before).decode()
        text = json.dumps({"path": receipt.path, "before": before, "after": receipt.after})
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        fresh = self._file(Path(receipt.path)).with_suffix(".new")
        with open(fresh, "w", encoding="utf-8", opener=_private) as file:
            file.write(text)
        fresh.replace(self._file(Path(receipt.path)))

    def drop(self, path: Path) -> None:
        """Forget a file."""
        self._file(path).unlink(missing_ok=True)

    def _file(self, path: Path) -> Path:
        return self._folder / f"{digest(os.fsencode(path))}.json"


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
