"""The payload of a hook event; anything in it may be missing or of the wrong type."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

_NOTHING: Mapping[str, Any] = {}
_ENDED = frozenset({"completed", "failed", "killed", "stopped", "cancelled"})


@attrs.frozen(eq=False, repr=False)
class Payload:
    """One hook event of Claude Code, or one call in a batch.

    Args:
        raw: the JSON object as it came.
    """

    raw: Mapping[str, Any]

    @classmethod
    def of(cls, value: object) -> Payload:
        """Return the payload of any value; what is not an object is an empty one."""
        return cls(value if isinstance(value, Mapping) else _NOTHING)

    def text(self, key: str) -> str:
        """Return the text under `key`, empty if there is none."""
        value = self.raw.get(key)
        return value if isinstance(value, str) else ""

    def items(self, key: str) -> tuple[Payload, ...]:
        """Return the objects in the list under `key`."""
        value = self.raw.get(key)
        found = value if isinstance(value, list | tuple) else ()
        return tuple(Payload(item) for item in found if isinstance(item, Mapping))

    @property
    def name(self) -> str:
        return self.text("hook_event_name")

    @property
    def session_id(self) -> str:
        return self.text("session_id")

    @property
    def agent_id(self) -> str | None:
        """The subagent, None for the main agent."""
        return self.text("agent_id") or None

    @property
    def agent_type(self) -> str | None:
        """Kind of the (sub)agent, None if it has none."""
        return self.text("agent_type") or None

    @property
    def tool(self) -> str:
        return self.text("tool_name")

    @property
    def params(self) -> Any:
        return self.raw.get("tool_input", {})

    @property
    def call_id(self) -> str:
        return self.text("tool_use_id")

    def require_call(self) -> None:
        """Make sure that a call is named.

        Raises:
            ValueError: its tool or its id is missing.
        """
        if not self.tool or not self.call_id:
            raise ValueError(f"{self.name or 'a call'} came without tool_name or tool_use_id")

    @property
    def response(self) -> Any:
        return self.raw.get("tool_response")

    @property
    def interrupted(self) -> bool:
        response = self.response
        stopped = isinstance(response, Mapping) and response.get("interrupted") is True
        return stopped or self.raw.get("is_interrupt") is True

    @property
    def duration(self) -> float | None:
        """Seconds that the call took, None if unknown."""
        value = self.raw.get("duration_ms")
        return value / 1000 if isinstance(value, int | float) else None

    @property
    def background_work(self) -> bool:
        """Whether something is under way that will wake the agent by itself.

        A subagent that runs in the background is listed as a task, even in its own events.
        """
        tasks = any(
            task.text("status") not in _ENDED and task.text("id") != self.agent_id
            for task in self.items("background_tasks")
        )
        alarms = (cron.raw.get("recurring") is not True for cron in self.items("session_crons"))
        return tasks or any(alarms)
