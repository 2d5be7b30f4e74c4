"""When feedback is due: counted per run and per provider, owned by the runner, never derived."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

if TYPE_CHECKING:
    from trimtab._events.providers import Feedback
    from trimtab._policy.settings import FeedbackTrigger


@attrs.frozen
class Mark:
    """A moment of the run: at which call, at which second."""

    calls: int = 0
    seconds: float = 0.0


class FeedbackState:
    """What the triggers of one run have seen."""

    def __init__(self) -> None:
        self.last: Feedback | None = None
        self._by_provider: dict[str, Feedback] = {}
        self._times: dict[str, int] = {}
        self.watched: frozenset[str] = frozenset()
        self._used: dict[str, Mark] = {}
        self.created: set[str] = set()
        self._reserved: set[str] = set()

    def of(self, provider: str) -> Feedback | None:
        """Return the last feedback of one provider."""
        return self._by_provider.get(provider)

    def due(self, provider: str, trigger: FeedbackTrigger, *, now: Mark, created: bool) -> bool:
        """Whether a condition of `trigger` is met.

        Args:
            now: where the run is.
            created: the file of ``on_file_created`` exists and did not when the run opened.
        """
        times = self._times.get(provider, 0)
        if trigger.max_per_run is not None and times >= trigger.max_per_run:
            return False
        if created and provider not in self.created:
            return True
        since = self._since(provider, trigger)
        return _counted(trigger, now, since, trigger.backoff**times)

    def _since(self, provider: str, trigger: FeedbackTrigger) -> Mark | None:
        """Return the last delivery, or the last use of the tool that counts like one."""
        used = self._used.get(trigger.reset_by or "")
        event = self._by_provider.get(provider)
        if event is None:
            return used
        last = Mark(event.call_index + 1, event.elapsed or 0.0)
        return last if used is None or used.calls < last.calls else used

    def used(self, tool: str, now: Mark) -> None:
        """Note the use of a tool."""
        self._used[tool] = now

    def reserve(self, provider: str) -> bool:
        """Take the provider for one asking; False if another thread has it."""
        if provider in self._reserved:
            return False
        self._reserved.add(provider)
        return True

    def release(self, provider: str) -> None:
        """Give the provider back, delivered or not."""
        self._reserved.discard(provider)

    def file_created(self, provider: str) -> None:
        """Note that the provider spoke about the file; it will not again in this run."""
        self.created.add(provider)

    def delivered(self, event: Feedback) -> None:
        """Count one delivery."""
        name = event.provider_name
        self.last = event
        self._by_provider[name] = event
        self._times[name] = self._times.get(name, 0) + 1


def _counted(trigger: FeedbackTrigger, now: Mark, since: Mark | None, factor: float) -> bool:
    start = since or Mark()
    calls = trigger.every_n_calls
    if calls is not None and now.calls - start.calls >= calls * factor:
        return True
    if trigger.every_n_seconds is None:
        return False
    return since is None or now.seconds - start.seconds >= trigger.every_n_seconds * factor
