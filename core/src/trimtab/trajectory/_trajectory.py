"""What the tool calls of one run look like so far: signals, kept incrementally (DESIGN 4)."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Any

from trimtab._events.run import (
    CallOrigin,
    CompactionHappened,
    Event,
    ModelResponded,
    ToolInvoked,
    UserMessage,
)
from trimtab._types.text import describe_error
from trimtab.trajectory._profiles import ToolProfiles
from trimtab.trajectory._projection import BaseProjection, Projection
from trimtab.trajectory._records import (
    CallRecord,
    MessageRecord,
    TextRecord,
    TurnRecord,
    record_of,
    turn_from,
    turn_state,
)

KEPT = 64
"""How many calls, and how many turns, are kept; older ones leave, their counts stay."""

_HOOKS = ("call_ended", "turn_closed", "responded", "user_spoke", "compacted")
_TOOLS_KEPT = 256
_BATCH_KEPT_WHOLE = 8
_COUNTERS = (
    "turns", "calls", "consecutive_errors", "error_signature", "repeats", "single_call_turns",
    "unchanged_answers",
)  # fmt: skip
_OTHER_TOOLS = "…"


class Trajectory:
    """Signals over the tool calls of one run, read by providers in constant time.

    A *step* is a closed turn with its answers, as a set: two turns with the same calls and the
    same answers are one step twice. The harness's own calls are left out everywhere, and the
    user's count as calls but open no step. A user message ends every count of errors and repeats.

    Args:
        profiles: what is known about the tools.
        lock: the session's; held while events come in, and taken where signals iterate.
    """

    def __init__(
        self,
        *,
        profiles: ToolProfiles | None = None,
        lock: AbstractContextManager[Any] | None = None,
    ) -> None:
        self.profiles = profiles or ToolProfiles()
        self.faults: dict[str, str] = {}
        self._lock: AbstractContextManager[Any] = lock or threading.RLock()
        self._projections: dict[str, Projection] = {}
        self._hearers: dict[str, tuple[tuple[str, Callable[..., None]], ...]] = {}
        self._listen()
        self._waiting: dict[str, dict[str, Any]] = {}
        self._open: list[CallRecord] = []
        self._closed: deque[TurnRecord] = deque(maxlen=KEPT)
        self._last: TurnRecord | None = None
        self._frequency: dict[str, int] = {}
        self._turns = 0
        self._calls = 0
        self._consecutive_errors = 0
        self._error_signature = ""
        self._repeats = 0
        self._single_call_turns = 0
        self._unchanged_answers = 0

    # Signals -----------------------------------------------------------------------------------

    @property
    def calls(self) -> int:
        """Ended tool calls, without the harness's own."""
        return self._calls

    @property
    def turns(self) -> int:
        """Closed turns with calls of the model."""
        return self._turns

    @property
    def consecutive_errors(self) -> int:
        """Closed turns in a row in which every call of the model failed."""
        return self._consecutive_errors

    @property
    def error_signature(self) -> str:
        """What is the same whenever the last failure comes back; empty before the first.

        It may quote a tool's output: escape and bound it before it enters a text.
        """
        return self._error_signature

    @property
    def repeats(self) -> int:
        """How many times in a row the last step was taken: 1 where it is new."""
        return self._repeats

    @property
    def single_call_turns(self) -> int:
        """Closed turns in a row that held exactly one call of the model."""
        return self._single_call_turns

    @property
    def unchanged_answers(self) -> int:
        """Closed turns in a row that brought the last answer of the same tools, whatever the
        arguments were: 1 where it is new.
        """
        return self._unchanged_answers

    @property
    def tool_frequency(self) -> Mapping[str, int]:
        """Calls by tool, over the whole run; names beyond the 256th together under ``…``."""
        with self._lock:
            return dict(self._frequency)

    def cycle(self, length: int, times: int) -> bool:
        """Tell whether the last `length` steps were taken `times` times running.

        False where `length` × `times` exceeds the 64 steps that are kept.
        """
        if length < 1 or times < 1:
            return False
        with self._lock:
            steps = [turn for turn in self._closed if turn.key][-length * times :]
            if len(steps) < length * times:
                return False
            pairs = zip(steps, steps[length:], strict=False)
            return all(later.repeats(earlier) for earlier, later in pairs)

    def recent(self, n: int) -> tuple[CallRecord, ...]:
        """Return the last `n` calls (at most 64), oldest first, those of the open turn too."""
        found: list[CallRecord] = []
        with self._lock:
            for calls in (tuple(self._open), *(turn.calls for turn in reversed(self._closed))):
                found.extend(reversed(calls))
                if len(found) >= n:
                    break
        return tuple(reversed(found[: max(0, min(n, KEPT))]))

    # Projections -------------------------------------------------------------------------------

    def attach(self, name: str, projection: Projection) -> Projection:
        """Feed `projection` from now on, and return what is fed under `name`.

        A provider calls it in its hook ``run_opened``, marked with `trimtab.hookimpl`:
        ``context.trajectory.attach(self.name, MyProjection())``. In a restored session the
        projection first gets its saved state. A name that is taken keeps what it has.
        """
        with self._lock:
            if name not in self._projections:
                if name in self._waiting:
                    projection.load_state(self._waiting.pop(name))
                self._projections[name] = projection
                self._listen()
            return self._projections[name]

    def projection(self, name: str) -> Projection | None:
        """Return what is fed under `name`, None where nothing is."""
        return self._projections.get(name)

    def _listen(self) -> None:
        """Work out who hears what: a method that a projection inherits does nothing."""
        self._hearers = {
            hook: tuple(
                (name, getattr(projection, hook))
                for name, projection in self._projections.items()
                if getattr(type(projection), hook, None) is not getattr(BaseProjection, hook)
            )
            for hook in _HOOKS
        }

    def _feed(self, hook: str, *facts: Any) -> None:
        for name, hear in self._hearers[hook]:
            try:
                hear(*facts)
            except Exception as error:  # noqa: BLE001  a provider's fault must not stop the run
                self.faults[name] = describe_error(error)
                self._projections.pop(name, None)
                self._listen()

    # Events ------------------------------------------------------------------------------------

    def apply(self, event: Event) -> None:
        """Take `event` in; called under the session's lock, in constant time."""
        if isinstance(event, ToolInvoked):
            self._ended(event)
        elif isinstance(event, ModelResponded):
            self._responded(event)
        elif isinstance(event, UserMessage):
            self._user_spoke(event)
        elif isinstance(event, CompactionHappened):
            self._feed("compacted")

    def _ended(self, event: ToolInvoked) -> None:
        if event.caller is CallOrigin.HARNESS:
            return
        if self._open and _begins_turn(event.turn, self._open[0].turn):
            self.close_turn()
        call = record_of(event, self.profiles.of(event.tool))
        self._calls += 1
        self._count(call.tool)
        if len(self._open) < KEPT:
            self._open.append(call)
        self._feed("call_ended", call, event)

    def _count(self, tool: str) -> None:
        frequency = self._frequency
        if tool not in frequency and len(frequency) >= _TOOLS_KEPT:
            tool = _OTHER_TOOLS
        frequency[tool] = frequency.get(tool, 0) + 1

    def _responded(self, event: ModelResponded) -> None:
        self.close_turn()
        if event.text or event.reasoning:
            text = TextRecord(event.text, event.reasoning, bool(event.tool_calls))
            self._feed("responded", text)

    def _user_spoke(self, event: UserMessage) -> None:
        self.close_turn()
        if not event.notification:
            self._consecutive_errors = self._repeats = self._unchanged_answers = 0
        self._feed("user_spoke", MessageRecord(event.text, event.notification))

    def close_turn(self) -> None:
        """Close the open turn, if there is one: its calls are a whole batch now; as `apply`."""
        if not self._open:
            return
        turn = TurnRecord(tuple(self._open), self._turns)
        self._open.clear()
        self._turns += 1
        if turn.key:
            self._note_step(turn)
        self._closed.append(turn)
        self._feed("turn_closed", turn)

    def _note_step(self, turn: TurnRecord) -> None:
        asked = turn.asked
        self._note_errors(asked)
        self._single_call_turns = self._single_call_turns + 1 if len(asked) == 1 else 0
        last = self._last
        self._last = turn
        repeated = last is not None and turn.repeats(last)
        unchanged = repeated or (last is not None and turn.answers_like(last))
        self._repeats = self._repeats + 1 if repeated else 1
        self._unchanged_answers = self._unchanged_answers + 1 if unchanged else 1
        if len(asked) > _BATCH_KEPT_WHOLE:
            for call in asked:
                call.release()

    def _note_errors(self, asked: tuple[CallRecord, ...]) -> None:
        every = True
        for call in asked:
            if call.failed:
                self._error_signature = call.signature
            else:
                every = False
        self._consecutive_errors = self._consecutive_errors + 1 if every else 0

    # State -------------------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """Return everything, JSON-like, the attached projections' states too."""
        with self._lock:
            projections = {name: p.state() for name, p in self._projections.items()}
            return {
                "open": [call.state() for call in self._open],
                "closed": [turn_state(turn) for turn in self._closed],
                "frequency": dict(self._frequency),
                "projections": {**self._waiting, **projections},
                **{name: getattr(self, f"_{name}") for name in _COUNTERS},
            }

    def load_state(self, state: dict[str, Any]) -> None:
        """Take back what `state` returned; projections get theirs when they are attached."""
        with self._lock:
            open_calls = turn_from({"calls": state["open"], "number": 0}, self.profiles).calls
            self._open = list(open_calls)
            self._closed.clear()
            for turn in state["closed"]:
                self._closed.append(turn_from(turn, self.profiles))
            self._last = next((turn for turn in reversed(self._closed) if turn.key), None)
            self._frequency = dict(state["frequency"])
            for name in _COUNTERS:
                setattr(self, f"_{name}", state[name])
            self._waiting = dict(state["projections"])
            for name in self._projections.keys() & self._waiting.keys():
                self._projections[name].load_state(self._waiting.pop(name))


def _begins_turn(turn: int | None, open_turn: int | None) -> bool:
    """Tell whether a call of `turn` ends the open turn; a late answer of an earlier one doesn't."""
    return turn is None or open_turn is None or turn > open_turn
