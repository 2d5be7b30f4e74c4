"""The Claude Code program: where it is, which version it has, which hook events it knows."""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
from pathlib import Path

import attrs

from trimtab import TrimtabError
from trimtab_claude_code.hooks import EVENTS

MINIMUM = (2, 1, 119)
"""The first version that knows PostToolBatch, without which guidance has no place."""

_SINCE: dict[str, tuple[int, int, int]] = {
    "PostToolUseFailure": (2, 1, 1),
    "StopFailure": (2, 1, 85),
    "PostCompact": (2, 1, 85),
    "PostToolBatch": MINIMUM,
}
"""Where a name is unknown, the program rejects the whole file; versions in which it was seen."""

_WITHOUT_SHELL = (2, 1, 211)
"""A version in which hooks with ``args``, which are started without a shell, were seen to work."""

_VERSION = re.compile(r"(?<![\d.])(\d{1,5})\.(\d{1,5})\.(\d{1,6})")
_TIMEOUT = 30.0


class ProgramError(TrimtabError):
    """The program is missing, too old, or does not say its version."""


@attrs.frozen
class Version:
    """A version of the program.

    Args:
        parts: major, minor and patch.
    """

    parts: tuple[int, int, int]

    @classmethod
    def parse(cls, text: str) -> Version:
        """Read the first version in a text, e.g. ``2.1.332 (Claude Code)``.

        Raises:
            ProgramError: there is none.
        """
        found = _VERSION.search(text)
        if found is None:
            raise ProgramError(f"{text.strip()[:80]!r} holds no version such as 2.1.119")
        return cls((int(found[1]), int(found[2]), int(found[3])))

    def __str__(self) -> str:
        return ".".join(map(str, self.parts))

    @property
    def supported(self) -> bool:
        """Whether the hooks can do their work."""
        return self.parts >= MINIMUM

    @property
    def events(self) -> tuple[str, ...]:
        """The hook events of ours that it knows."""
        return tuple(event for event in EVENTS if self.parts >= _SINCE.get(event, (0, 0, 0)))

    @property
    def without_shell(self) -> bool:
        """Whether it can start the program of a hook without a shell."""
        return self.parts >= _WITHOUT_SHELL

    def require(self) -> None:
        """Make sure that it is supported.

        Raises:
            ProgramError: it is too old.
        """
        if not self.supported:
            minimum = Version(MINIMUM)
            raise ProgramError(
                f"Claude Code {self} is too old: the hooks need {minimum} or later, and an older "
                "version would ignore the whole settings file, permission rules included. "
                "Update it with: claude update"
            )


def find_program() -> Path | None:
    """Return the program on the PATH, else the one that the Agent SDK brings along."""
    found = shutil.which("claude")
    if found:
        return Path(found)
    sdk = importlib.util.find_spec("claude_agent_sdk")
    for folder in (sdk and sdk.submodule_search_locations) or ():
        bundled = Path(folder) / "_bundled" / "claude"
        if bundled.is_file():
            return bundled
    return None


def version_of(program: Path) -> Version:
    """Ask the program for its version.

    Raises:
        ProgramError: it can't be run, or does not say.
    """
    try:
        done = subprocess.run(
            [program, "--version"],
            check=False,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_TIMEOUT,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ProgramError(f"{program} can't be asked for its version: {error}") from error
    return Version.parse(done.stdout)
