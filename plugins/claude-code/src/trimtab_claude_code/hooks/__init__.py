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

from __future__ import annotations

from collections.abc import Callable, Iterable
from threading import Lock
from typing import TYPE_CHECKING, Any

from trimtab import Host, Prompt, Run, Session, Usage
from trimtab.text import shorten
from trimtab_claude_code._host_config import CLAUDE_CODE, UnsupportedPoint, check_prompt
from trimtab_claude_code.hooks._agent import HANDLERS, STRUCTURED_OUTPUT, Agent, run_id_of
from trimtab_claude_code.hooks._payload import EVENTS, HookFailed, HookOutput, Payload, ending

if TYPE_CHECKING:
    from trimtab import Budget, Deadline, TaskCompletionChecker

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


PromptOf = Callable[[str | None], Prompt[Any] | None]
"""From an agent's type (None for the main agent) to its prompt; None leaves it alone."""

PROVIDER_TIMEOUT = 1.0
MAX_ERROR_TEXT = 500


class ClaudeCodeHooks:
    """Answers hook events; every agent of every Claude Code session has a run of its own.

    `answer` may be called from several threads: events of one agent are handled one at a time,
    so that parallel calls are counted and decided on as if they came one after another.

    Args:
        session: where the runs are kept.
        prompts: the prompt of all agents, or a function from an agent's type (None for the main
            agent) to its prompt, where None leaves the agent alone.
        host: what is recorded as the host; its `delivery` decides what may be said where.
        deadline, budget: of the main agent; subagents share the deadline.
        checkers: the client's own completion checkers, asked after those of the main agent's
            prompt. A subagent is held only by a prompt of its own: one that shares the main
            agent's does a part of the work and can't be asked for the whole.
        provider_timeout: how long each provider may take at one event.
        recorders: of every run, beside its prompt's: as for `Session.open_run`.
    """

    def __init__(
        self,
        session: Session,
        prompts: Prompt[Any] | PromptOf,
        *,
        host: Host = CLAUDE_CODE,
        deadline: Deadline | None = None,
        budget: Budget | None = None,
        checkers: Iterable[TaskCompletionChecker] = (),
        provider_timeout: float = PROVIDER_TIMEOUT,
        recorders: Iterable[Any] = (),
    ) -> None:
        self.session = session
        self._prompt_of = (lambda _: prompts) if isinstance(prompts, Prompt) else prompts
        self._host = host
        self._deadline = deadline
        self._budget = budget
        self._checkers = tuple(checkers)
        self._seconds = provider_timeout
        self._recorders = tuple(recorders)
        self._agents: dict[tuple[str, str | None], Agent] = {}
        self._lock = Lock()

    def answer(self, payload: object, until: Deadline | None = None) -> HookOutput:
        """Return the output for one hook event: ``{}`` for no output.

        Takes at most `provider_timeout` for each provider (a completion checker its own timeout).
        Never raises: what goes wrong becomes a `HookFailed` in the session.

        Args:
            payload: the JSON object that Claude Code gave the hook.
            until: when the host stops waiting; after it the event is recorded and no provider
                asked, since the output would be dropped.
        """
        event = Payload.of(payload)
        try:
            return self._answer(event, until)
        except Exception as error:  # noqa: BLE001 - a hook must never break the agent
            self.failed(event.raw, error)
            return {}

    def open(self, session_id: str, agent_id: str | None = None) -> Run | None:
        """Return the run of an agent before its first event, e.g. to render its prompt.

        None if the agent has no prompt.
        """
        agent = self._agent(session_id, agent_id, None)
        return agent.run if agent else None

    def used(self, usage: Usage, session_id: str, agent_id: str | None = None) -> None:
        """Count tokens that the agent has used; hooks don't tell them, so budgets need this."""
        agent = self._agents.get((session_id, agent_id))
        if agent is not None:
            agent.used(usage)

    def close(self, session_id: str, reason: str = "") -> None:
        """End the runs of a Claude Code session; calls still running were interrupted."""
        for key, agent in tuple(self._agents.items()):
            if key[0] == session_id:
                with agent.lock:
                    agent.settle_compaction()
                    agent.abandoned()
                    agent.responded("")
                    agent.run.close(reason)

    def set_deadline(self, deadline: Deadline | None) -> None:
        """Put another deadline in the place of the one given; it holds for open runs too."""
        self._deadline = deadline
        for agent in tuple(self._agents.values()):
            agent.run.deadline = deadline

    def failed(self, payload: object, error: BaseException) -> None:
        """Record that an event could not be handled, e.g. because the host's time was up."""
        event = Payload.of(payload)
        agent = self._agents.get((event.session_id, event.agent_id))
        self.session.dispatch(
            HookFailed(
                event=event.name,
                error=shorten(f"{type(error).__name__}: {error}", MAX_ERROR_TEXT),
                run_id=agent.run.run_id if agent else event.session_id,
            )
        )

    def _answer(self, event: Payload, until: Deadline | None) -> HookOutput:
        if event.name == "SessionEnd":
            self.resume(event.session_id)
            self.close(event.session_id, event.text("reason"))
        handler = HANDLERS.get(event.name)
        # A compaction ends like a subagent, but one of no type.
        if handler is None or not event.session_id or (event.agent_id and not event.agent_type):
            return {}
        agent = self._agent(event.session_id, event.agent_id, event.agent_type)
        if agent is None:
            return {}
        with agent.lock:
            agent.until = until
            if event.name != "PostCompact":
                agent.settle_compaction()
            output = handler(agent, event)
            stopped = agent.run.state.guidance.stop
            return output if stopped is None else ending(stopped.summary)

    def resume(self, session_id: str) -> None:
        """Open the main agent's run where a restored session holds it, so that its time goes on."""
        prompt = self._prompt_of(None)
        state = self.session.runs().get(run_id_of(prompt, session_id)) if prompt else None
        if state is not None and not state.closed:
            self._agent(session_id, None, None)

    def _agent(self, session_id: str, agent_id: str | None, kind: str | None) -> Agent | None:
        key = (session_id, agent_id)
        with self._lock:
            agent = self._agents.get(key)
            if agent is None or agent.run.state.closed:
                prompt = self._prompt_of(kind)
                if prompt is None:
                    return None
                agent = self._watch(prompt, session_id, agent_id)
                self._agents[key] = agent
        return agent

    def _watch(self, prompt: Prompt[Any], session_id: str, agent_id: str | None) -> Agent:
        run = self.session.open_run(
            prompt,
            agent_id,
            run_id_of(prompt, session_id, agent_id),
            host=self._host,
            deadline=self._deadline,
            budget=None if agent_id else self._budget,
            timeout=self._seconds,
            recorders=self._recorders,
        )
        if agent_id is None:
            return Agent(run, self._seconds, checkers=self._checkers)
        main = self._prompt_of(None)
        return Agent(run, self._seconds, gated=main is None or main.name != prompt.name)


RECORDS = (HookFailed,)
"""Record types beside core's that the session may hold; for `Session.restore`."""
