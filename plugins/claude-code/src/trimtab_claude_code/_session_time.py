"""How long one session has waited for answers that came late, and for whom; in the hook server."""

from __future__ import annotations

from collections.abc import Mapping
from threading import Lock

from trimtab_claude_code._breaker import EVENT_SECONDS, Cost
from trimtab_claude_code.hooks import STRUCTURED_OUTPUT

FREE_SECONDS = 0.02
"""Of each event, what is not counted: about as long as the client takes to start."""

LOAD_SECONDS = 1.0
"""What is not counted each time that a process takes up the session, whose providers are loaded
then: it depends on the machine more than on them."""

MOST_SECONDS = 1.0
"""What a provider may take of a session's time, calls that are quick aside; then it is left out."""

_WORTH_KEEPING = 0.1
"""By how much the time must have changed to be stored: a server that is killed loses less."""

_CHECKING = frozenset({"Stop", "SubagentStop"})


class SessionTime:
    """Counts the time during which at least one event of the session is being answered.

    May be called from several threads.

    Args:
        cost: what the session had waited before.
    """

    def __init__(self, cost: Cost) -> None:
        self._lock = Lock()
        self._counted_until = 0.0
        self._kept = self._seconds = cost.answered
        self._free = LOAD_SECONDS
        self._providers = dict(cost.providers)

    @property
    def seconds(self) -> float:
        """What is counted so far."""
        return self._seconds

    @property
    def providers(self) -> dict[str, float]:
        """The same by provider, as far as it took long at once."""
        with self._lock:
            return dict(self._providers)

    @property
    def too_slow(self) -> frozenset[str]:
        """The providers that have taken too much of the session's time."""
        return frozenset(name for name, took in self.providers.items() if took >= MOST_SECONDS)

    def took(self, provider: str, seconds: float) -> bool:
        """Count a slow call of a provider; return whether that makes it too slow."""
        with self._lock:
            before = self._providers.get(provider, 0.0)
            self._providers[provider] = before + seconds
        return before < MOST_SECONDS <= before + seconds

    def answered(self, began: float, ended: float, payload: Mapping[str, object]) -> bool:
        """Count an event; return whether that is to be stored.

        Args:
            began, ended: monotonic seconds.
            payload: the event. One at which checkers are asked is not counted: they may take
                longer, each until its own timeout.
        """
        if _is_check(payload):
            return False
        client_gave_up = ended - began >= EVENT_SECONDS  # then it counts what it has waited
        with self._lock:
            begin = max(began, self._counted_until)  # parallel calls wait at the same time
            self._counted_until = max(self._counted_until, ended)
            if not client_gave_up:
                more = max(0.0, ended - begin) - FREE_SECONDS
                free = max(0.0, min(more, self._free))
                self._free -= free
                self._seconds = max(0.0, self._seconds + more - free)
            return client_gave_up or abs(self._seconds - self._kept) >= _WORTH_KEEPING

    def kept(self) -> None:
        """Note that it is stored."""
        self._kept = self._seconds


def _is_check(payload: Mapping[str, object]) -> bool:
    name, tool = payload.get("hook_event_name"), payload.get("tool_name")
    return name in _CHECKING or (name == "PreToolUse" and tool == STRUCTURED_OUTPUT)
