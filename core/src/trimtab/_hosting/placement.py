"""Asking for text at a decision point, and keeping it until it can be placed."""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING

from trimtab._events import DecisionPoint, Delivery
from trimtab._types.errors import SessionError

if TYPE_CHECKING:
    from trimtab._events import ToolCall
    from trimtab._run.run import Run

REQUEST, TOOLS, RESULT = (
    DecisionPoint.PRE_TOOL_SELECTION,
    DecisionPoint.PRE_TOOL_EXECUTION,
    DecisionPoint.POST_TOOL_RESULT,
)


class Placement:
    """What was said and has not been placed yet.

    Attributes:
        refusal: the text by which all calls of the batch are refused, as a provider does not say
            which of its calls it means; empty if they may run.
    """

    def __init__(self, run: Run, timeout: float | None) -> None:
        _check(run)
        self._run = run
        self._timeout = timeout
        self._lock = Lock()
        self._asking = Lock()
        self._happened = 0
        self._carried: list[str] = []
        self._behind: list[str] = []
        self._request: str | None = None
        self.refusal = ""

    def way(self, point: DecisionPoint) -> Delivery:
        return self._run.host.delivers(point)

    def something_happened(self) -> None:
        """Note that the next request is no retry of the last one."""
        with self._lock:
            self._happened += 1
            self._request = None

    def carry(self, text: str) -> None:
        if text:
            with self._lock:
                self._carried.append(text)

    def ask(
        self,
        point: DecisionPoint,
        delivery: Delivery | None = None,
        *,
        pending: tuple[ToolCall, ...] = (),
    ) -> str:
        """Return guidance at `point`; ephemeral guidance is kept for the next request too."""
        way = delivery or self.way(point)
        batch = self._run.guide(point, pending=pending, timeout=self._timeout, delivery=way)
        if batch and way is Delivery.EPHEMERAL:
            self.carry(batch.text)
        return batch.text

    def request(self, delivery: Delivery | None) -> str:
        """Return the text of the next request; again until something happens."""
        with self._asking:  # threads that ask at the same time send one request, or retry it
            with self._lock:
                happened, known = self._happened, self._request
            if known is not None:
                return known
            way = delivery or self.way(REQUEST)
            kept = self.ask(REQUEST, way)
            with self._lock:
                said, self._carried = self._carried, []
                said += [kept] if kept and way is not Delivery.EPHEMERAL else []
                text = "\n".join(said)
                if happened == self._happened:
                    self._request = "" if way is Delivery.PERSISTED else text
            return text

    def before_tools(self, pending: tuple[ToolCall, ...], delivery: Delivery | None) -> str:
        way = delivery or self.way(TOOLS)
        text = self.ask(TOOLS, way, pending=pending)
        with self._lock:
            if way is Delivery.REFUSAL:
                self.refusal = text
                return ""
            if text and way is Delivery.PERSISTED:
                self._behind.append(text)
        return text

    def forget_calls(self) -> None:
        with self._lock:
            self._behind, self.refusal = [], ""

    def behind_result(self, delivery: Delivery | None) -> str:
        way = delivery or self.way(RESULT)
        text = self.ask(RESULT, way)
        feedback, placed = "", self._run.host.feedback_delivery
        if Delivery.NONE not in (placed, delivery):
            feedback = self._run.feedback(timeout=self._timeout) or ""
        if placed is not Delivery.PERSISTED:
            self.carry(feedback)
            feedback = ""
        with self._lock:
            behind, self._behind = self._behind, []
        behind += [text] if text and way is not Delivery.EPHEMERAL else []
        return "\n\n".join(filter(None, (*behind, feedback)))


def _check(run: Run) -> None:
    """Refuse a host whose next request would both keep and drop text."""
    host = run.host
    if host.delivers(REQUEST) is not Delivery.PERSISTED:
        return
    mixed = [p.name for p in DecisionPoint if host.delivers(p) is Delivery.EPHEMERAL]
    mixed += ["feedback"] if host.feedback is Delivery.EPHEMERAL else []
    if mixed:
        raise SessionError(
            f"host {host.name!r} declares PRE_TOOL_SELECTION persisted and {', '.join(mixed)} "
            "ephemeral, but both are placed in the next request: declare one delivery for all"
        )
