"""The translation between Claude Code's hooks and trimtab's runs; no I/O, no SDK, no state on disk.

Claude Code gives every kind of hook (SDK callback or command) the same JSON object and takes the
same JSON object back. `ClaudeCodeHooks.answer` is the function between the two::

    hooks = ClaudeCodeHooks(Session(), prompt)      # or a function: agent type → prompt or None
    output = hooks.answer(payload)                  # a dict, ``{}`` for no output

It never raises, takes a bounded time, and may be called from several threads. A host has to:

* register it for `EVENTS` (no matcher: all tools), with a timeout above the slowest checker's;
* hand over each payload as it comes and return the answer as it is;
* keep the session: in memory, or as ``session.snapshot()``, which is read back by
  ``Session.restore(text, types=RECORDS)``. Runs are found again by their ids (`run_id_of`), so
  nothing else has to be kept;
* call `close(session_id)` where no SessionEnd hook fires (SDK callbacks).

What goes wrong inside is a `HookFailed` in the session, faults of providers are core's events.
"""

from trimtab_claude_code._host_config import CLAUDE_CODE, UnsupportedPoint, check_prompt
from trimtab_claude_code.hooks._agent import STRUCTURED_OUTPUT, run_id_of
from trimtab_claude_code.hooks._payload import EVENTS, HookFailed, HookOutput
from trimtab_claude_code.hooks._translation import (
    PROVIDER_TIMEOUT,
    ClaudeCodeHooks,
    PromptOf,
)

RECORDS = (HookFailed,)
"""Record types beside core's that the session may hold; for `Session.restore`."""

__all__ = [
    "CLAUDE_CODE",
    "EVENTS",
    "PROVIDER_TIMEOUT",
    "RECORDS",
    "STRUCTURED_OUTPUT",
    "ClaudeCodeHooks",
    "HookFailed",
    "HookOutput",
    "PromptOf",
    "UnsupportedPoint",
    "check_prompt",
    "run_id_of",
]
