"""One agent, many conversations: the driver of each."""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from typing import TYPE_CHECKING, Any

import attrs

from trimtab._contract.hosts import LOCAL_HOST
from trimtab._hosting.chat import Chat, off_loop
from trimtab._run.session import Session
from trimtab._types.limits import Deadline

if TYPE_CHECKING:
    from trimtab._contract.hosts import Host
    from trimtab._prompt.template import Prompt
    from trimtab._types.limits import Budget

IDLE_SECONDS = 3600.0
"""After an hour without a report a conversation's run is closed; it goes on when it is needed."""


@attrs.define(eq=False)
class _Held:
    chat: Chat
    session: Session
    used: float = 0.0


class Drivers:
    """Finds the driver of a conversation; opens its run, or opens it again.

    Agents are built once and serve many users at the same time, so a host asks for the driver with
    every report: ``drivers.of(conversation)``. May be called from several threads and loops.
    The id of a run is made of the prompt's name, the conversation and the subagent, so that a
    session which was saved finds it again.

    Args:
        prompt: the prompt of the agent, bound.
        session: where all conversations are recorded; or a function from a conversation's name to
            its session, e.g. one restored from a snapshot. None makes a session for each
            conversation, which is dropped with it.
        host: the runtime that the agent runs on.
        timeout, strict: as for `Driver`.
        deadline: of all conversations; as a number, seconds of each from its opening.
        budget: of each conversation.
        idle: seconds after which the run of a conversation that nobody asked for is closed.
    """

    def __init__(
        self,
        prompt: Prompt[Any],
        session: Session | Callable[[str], Session] | None = None,
        host: Host = LOCAL_HOST,
        *,
        timeout: float | None = 1.0,
        strict: bool = False,
        deadline: Deadline | float | None = None,
        budget: Budget | None = None,
        idle: float = IDLE_SECONDS,
    ) -> None:
        self.prompt = prompt
        self.host = host
        self._session = session
        self._timeout = timeout
        self._strict = strict
        self._deadline = deadline
        self._budget = budget
        self._idle = idle
        self._lock = Lock()
        self._held: dict[tuple[str, str | None], _Held] = {}

    def of(
        self, conversation: str, agent_id: str | None = None, *, host: Host | None = None
    ) -> Chat:
        """Return the driver of a conversation, or of a subagent in it.

        Args:
            conversation: the runtime's name of it, such as a thread's id.
            agent_id: the subagent; None for the main agent.
            host: the runtime, with what is known of this agent's tools, if its run is opened;
                that of all conversations if None.
        """
        key = (conversation, agent_id)
        with self._lock:
            held = self._held.get(key)
            if held is None or held.chat.run.state.closed:
                session = self._session_of(conversation) if held is None else held.session
                chat = self._open(session, conversation, agent_id, host or self.host)
                held = self._held[key] = _Held(chat, session)
            held.used = now = held.session.clock.monotonic()
            idle = [k for k, other in self._held.items() if now - other.used > self._idle]
            left = [self._held.pop(k) for k in idle]
        for other in left:
            other.chat.close("idle")
        return held.chat

    async def aof(
        self, conversation: str, agent_id: str | None = None, *, host: Host | None = None
    ) -> Chat:
        """As `of`, off the event loop if a run has to be opened."""
        held = self._held.get((conversation, agent_id))
        opens = held is None or held.chat.run.state.closed
        return await off_loop(opens, self.of, conversation, agent_id, host=host)

    def __len__(self) -> int:
        """Return how many drivers are held, those of closed runs included."""
        return len(self._held)

    def close(self, reason: str = "completed") -> None:
        """End the runs of all conversations, and forget them.

        Args:
            reason: why, for the record.
        """
        with self._lock:
            held, self._held = list(self._held.values()), {}
        for one in held:
            one.chat.close(reason)

    def _session_of(self, conversation: str) -> Session:
        if isinstance(self._session, Session):
            return self._session
        if self._session is not None:
            return self._session(conversation)
        known = next((h for key, h in self._held.items() if key[0] == conversation), None)
        return Session() if known is None else known.session

    def _open(self, session: Session, conversation: str, agent_id: str | None, host: Host) -> Chat:
        limit = self._deadline
        if limit is not None and not isinstance(limit, Deadline):
            limit = Deadline(limit, session.clock)
        names = (self.prompt.name, conversation, *([] if agent_id is None else [agent_id]))
        run = session.open_run(
            self.prompt,
            agent_id,
            "/".join(names),
            host=host,
            deadline=limit,
            budget=self._budget,
            timeout=self._timeout,
        )
        return Chat(run, timeout=self._timeout, strict=self._strict)
