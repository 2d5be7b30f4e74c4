"""When feedback is due: counted per run and per provider, owned by the runner, never derived."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

from trimtab.feedback.types import Feedback, FeedbackTrigger


@attrs.frozen
class Last:
    """A provider's last delivery: at which call and second of the run."""

    calls: int
    seconds: float


class FeedbackState:
    """What the triggers of one run have seen."""

    def __init__(self) -> None:
        self.last: Feedback | None = None
        self._by_provider: dict[str, Feedback] = {}
        self._delivered: dict[str, Last] = {}
        self._created: set[str] = set()
        self._reserved: set[str] = set()

    def of(self, provider: str) -> Feedback | None:
        """Return the last feedback of one provider."""
        return self._by_provider.get(provider)

    def due(
        self, provider: str, trigger: FeedbackTrigger, *, calls: int, seconds: float, created: bool
    ) -> bool:
        """Whether a condition of `trigger` is met.

        Args:
            calls, seconds: of the run so far.
            created: the file of ``on_file_created`` exists and did not when the run opened.
        """
        last = self._delivered.get(provider)
        since = calls - (last.calls if last else 0)
        if trigger.every_n_calls is not None and since >= trigger.every_n_calls:
            return True
        pause = trigger.every_n_seconds
        if pause is not None and (last is None or seconds - last.seconds >= pause):
            return True
        return created and provider not in self._created

    def reserve(self, provider: str) -> bool:
        """Take the provider for one asking; False where another thread has it."""
        if provider in self._reserved:
            return False
        self._reserved.add(provider)
        return True

    def release(self, provider: str) -> None:
        """Give the provider back, delivered or not."""
        self._reserved.discard(provider)

    def file_created(self, provider: str) -> None:
        """Note that the provider spoke about the file; it will not again in this run."""
        self._created.add(provider)

    def delivered(self, event: Feedback) -> None:
        """Count one delivery."""
        self.last = event
        self._by_provider[event.provider_name] = event
        self._delivered[event.provider_name] = Last(event.call_index, event.elapsed or 0.0)

    def state(self) -> dict[str, Any]:
        """Return what a snapshot keeps."""
        return {
            "last": self.last,
            "by_provider": list(self._by_provider.values()),
            "created": sorted(self._created),
        }

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> FeedbackState:
        """Return the state that a snapshot holds."""
        made = cls()
        for event in state["by_provider"]:
            made.delivered(event)
        made.last = state["last"]
        made._created = set(state["created"])
        return made
