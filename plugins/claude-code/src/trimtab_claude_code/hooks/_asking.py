"""Whether an agent ends with a question or a request to its user, and so may stop."""

from __future__ import annotations

_LOOKED_AT = 600
_MARKS = "*_`\"')]} \t\r\n"
_REQUESTS = (
    "let me know",
    "please confirm",
    "please tell me",
    "please provide",
    "waiting for your",
    "wait for your",
    "need your",
    "once you confirm",
    "once you've",
    "when you're ready",
    "tell me how you",
    "tell me which",
    "up to you",
    "your call",
)


def asks_user(text: str) -> bool:
    """Return whether the last paragraph asks something, or asks for something."""
    last = text[-_LOOKED_AT:].rstrip(_MARKS).rpartition("\n\n")[2].lower()
    return last.endswith("?") or any(request in last for request in _REQUESTS)
