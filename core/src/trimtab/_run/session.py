"""A session: the record, the runs that are opened on it, and functions on the run of a prompt."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from trimtab._contract import GuidanceContext
from trimtab._contract.hosts import LOCAL_HOST, Host
from trimtab._events import DecisionPoint, RunOpened, ToolInvoked
from trimtab._policy import RecorderConfig
from trimtab._run.run import Run
from trimtab._session import Reducer
from trimtab._session.record import Record, new_id
from trimtab._session.state import RECENT_CALLS, RunState
from trimtab._table import load_alone, recorder_hooks
from trimtab._types.errors import SessionError
from trimtab._types.limits import SYSTEM_CLOCK, Budget, Clock, Deadline
from trimtab._types.options import (
    as_instance,
    as_member,
    as_text,
    as_timeout,
    names_known,
    tuple_of,
)
from trimtab._types.text import plural

if TYPE_CHECKING:
    from trimtab._boundary import Ask
    from trimtab._events.guidance import CompletionChecked, GuidanceInjection
    from trimtab._prompt import Prompt


@names_known()
class Session(Record):
    """A typed, append-only record, and the runs that are opened on it.

    Args:
        clock: the source of time.
        keep: how many calls, starts and responses are kept whole. Of older calls the results and
            long arguments are reduced to length and digest; older starts and responses are
            dropped and counted (`Slice.dropped`). None keeps all.
    """

    def __init__(self, *, clock: Clock = SYSTEM_CLOCK, keep: int | None = 200) -> None:
        super().__init__(clock=clock, keep=keep)
        self._runs: dict[str, Run] = {}

    def __repr__(self) -> str:
        runs, records = len(self._states), sum(map(len, tuple(self._slices.values())))
        return f"<Session of {plural(runs, 'run')}, {plural(records, 'record')}>"

    def open_run(
        self,
        prompt: Prompt[Any],
        agent_id: str | None = None,
        run_id: str | None = None,
        *,
        host: Host = LOCAL_HOST,
        deadline: Deadline | None = None,
        budget: Budget | None = None,
        timeout: float | None = None,
        recorders: Iterable[Any] = (),
    ) -> Run:
        """Open a prompt for one agent.

        Args:
            prompt: the prompt, bound.
            agent_id: the subagent; None for the main agent.
            run_id: a known one resumes that run; otherwise counters start at zero.
            host: the runtime that the agent runs on.
            deadline: the run's time limit, or None.
            budget: the run's limits; those of the prompt's configuration if None.
            timeout: seconds that each provider may take for the opening and the closing of the
                run, on a worker thread; None calls them on this one. The same for each event
                that a recorder takes.
            recorders: recorders of this run beside the prompt's: objects, entry names or
                ``enable(…)``.

        Raises:
            ProviderError: one of `recorders` can't be used; nothing is recorded.
            SessionError: `run_id` is a run of another prompt, or an argument has the wrong type.
        """
        _check_arguments(prompt, deadline, budget)
        as_instance("host", host, Host)
        _check_names(agent_id=agent_id, run_id=run_id)
        timeout = as_timeout(timeout)
        budget = prompt.table.budget if budget is None else budget
        more = recorder_hooks(load_alone(RecorderConfig, recorders))
        hooks = (*prompt.table.recorders, *more)
        if run_id in self._runs:
            self._runs[run_id]._save()
        with self.lock:
            state, resumed = self._state_for(prompt, agent_id, run_id)
            state.feeds.use_profiles((*prompt.template.tool_profiles, *host.tool_profiles))
            self._adopt(state)
            run = Run(
                self, prompt, state, host=host, deadline=deadline, budget=budget, timeout=timeout
            )
            earlier = self._runs.get(run.run_id)
            self._runs[run.run_id] = run
        if earlier is not None:
            earlier._stop_recording()
        return self._opened(run, hooks, {"resumed": resumed}, resumed=resumed)

    def _opened(
        self, run: Run, hooks: Sequence[Ask], event: Mapping[str, Any], *, resumed: bool
    ) -> Run:
        """Open recorders, then record the opening; outside the lock, as they may open files."""
        if hooks:
            from trimtab._run.recording import Recordings

            run._recordings = Recordings(run, hooks, self._keep, run._timeout)
        run.dispatch(RunOpened, **event)
        run._tell_opened(resumed=resumed)
        return run

    def fork_run(
        self,
        run: Run,
        *,
        calls: int | None = None,
        run_id: str | None = None,
        agent_id: str | None = None,
        recorders: Iterable[Any] = (),
    ) -> Run:
        """Open a run that starts as `run` was after some of its calls; `run` stays as it is.

        Counters, signals, episodes and limits are those of that moment. What was reduced to a
        digest since (see `keep`) stays a digest. Calls that were still running are not taken
        over. The new run has the prompt, host, deadline and budget of `run`.

        Args:
            run: the run to branch off; it may be closed.
            calls: how many of its ended calls the new run has seen; all if None.
            run_id: the new run's identifier; made up if None.
            agent_id: the subagent that the new run belongs to; None for the main agent.
            recorders: recorders of the new run beside the prompt's, as for `open_run`.

        Raises:
            ProviderError: one of `recorders` can't be used; nothing is recorded.
            SessionError: `run_id` is known already, or `run` has not that many calls.
        """
        from trimtab._run.saving import fork

        _check_names(agent_id=agent_id, run_id=run_id)
        as_instance("run", run, Run)
        if run_id in self._states:
            raise SessionError(
                f"run {run_id!r:.100} is known already: give the fork another run_id"
            )
        more = recorder_hooks(load_alone(RecorderConfig, recorders))
        hooks = (*run.prompt.table.recorders, *more)
        run._save()
        with self.lock:
            state = fork(self, run.state, calls, run_id or new_id(), agent_id)
            self._adopt(state)
            made = Run(
                self, run.prompt, state, host=run.host, deadline=run.deadline, budget=run.budget
            )
            self._runs[made.run_id] = made
        origin = {"forked_from": run.run_id, "forked_at": state.calls}
        return self._opened(made, hooks, origin, resumed=True)

    def _state_for(
        self, prompt: Prompt[Any], agent_id: str | None, run_id: str | None
    ) -> tuple[RunState, bool]:
        state = self._states.get(run_id) if run_id else None
        if state is None:
            return RunState(
                run_id or new_id(), prompt.name, agent_id, lock=self.lock, history=self.events_of
            ), False
        if state.prompt_name != prompt.name:
            raise SessionError(
                f"run {run_id!r} belongs to prompt {state.prompt_name!r}, not {prompt.name!r}"
            )
        state.closed = False
        return state, True

    def run_of(self, prompt: Prompt[Any], *, deadline: Deadline | None = None) -> Run:
        """Return the open run of `prompt`, or open one.

        The run goes on with the resources that are bound to `prompt` now.

        Args:
            prompt: the prompt, bound.
            deadline: a new time limit; None keeps the run's own.

        Raises:
            SessionError: an argument has the wrong type.
        """
        _check_arguments(prompt, deadline)
        run_id = self._current.get(prompt.name)
        run = self._runs.get(run_id) if run_id else None
        if run is None or run.state.closed:
            waiting = run_id if run is None else None
            return self.open_run(prompt, run_id=waiting, deadline=deadline)
        run.deadline = deadline or run.deadline
        run.prompt = prompt
        return run

    # Saving.

    def snapshot(self) -> str:
        """Return the session as JSON text, to be read back by `restore`."""
        from trimtab._run.saving import SavedRun, dump

        for run in tuple(self._runs.values()):
            run._save()
        with self.lock:
            slices = {kind: records._copy() for kind, records in self._slices.items()}
            runs = [SavedRun.of(state) for state in self._states.values()]
            current = dict(self._current)
        return dump(self._keep, slices, runs, current)

    def stop_recording(self) -> None:
        """Close the recorders of all runs, which stay open for another process to go on with."""
        for run in tuple(self._runs.values()):
            run._stop_recording()

    @classmethod
    def restore(
        cls,
        text: str,
        *,
        clock: Clock = SYSTEM_CLOCK,
        types: Iterable[type[Any]] = (),
        reducers: Mapping[type[Any], Reducer] | None = None,
    ) -> Session:
        """Return the session that `text` describes; resume its runs with `open_run`.

        Args:
            text: what `snapshot` returned.
            clock: the source of time from now on.
            types: record types of your own that the session held.
            reducers: those that were registered; a snapshot does not hold functions.

        Raises:
            SnapshotError: the text is damaged, of another version, or holds an unknown type.
        """
        from trimtab._run.snapshot import load

        as_instance("reducers", reducers, Mapping, "a reducer by type", optional=True)
        saved = load(text, tuple_of("types", types, type))
        session = cls(clock=clock, keep=saved.keep)
        for kind, reducer in (reducers or {}).items():
            session.register(kind, reducer)
        for kind, (items, dropped) in saved.slices.items():
            old = saved.old if kind is ToolInvoked else None
            session._fill(kind, items, dropped, old)
        session._states = {
            run.run_id: run.restored(lock=session.lock, history=session.events_of)
            for run in saved.runs
        }
        session._current = dict(saved.current)
        for call in session[ToolInvoked].tail(RECENT_CALLS * max(1, len(session._states))):
            if call.run_id in session._states:
                session._states[call.run_id].recent.append(call)
        return session


def _check_names(**names: object) -> None:
    for name, value in names.items():
        if value is not None:
            as_text(name, value)


def _check_arguments(prompt: object, deadline: object, budget: object = None) -> None:
    from trimtab._prompt import Prompt

    as_instance("prompt", prompt, Prompt, "write Prompt(template)")
    as_instance("deadline", deadline, Deadline, "write Deadline(seconds)", optional=True)
    as_instance("budget", budget, Budget, optional=True)


def collect_guidance(
    context: GuidanceContext, *, decision_point: DecisionPoint
) -> tuple[GuidanceInjection, ...]:
    """Return the guidance of the enabled providers at a decision point, and record it.

    Like `Run.guide`, PRE_TOOL_SELECTION closes the open turn.

    Args:
        context: a context of the run, e.g. ``run.guidance_context(point)``.
        decision_point: where; it overrules the context's.

    Raises:
        SessionError: an argument has the wrong type.
    """
    as_instance("context", context, GuidanceContext, "write run.guidance_context(point)")
    run = context._run
    assert isinstance(run, Run)
    as_member("decision_point", DecisionPoint, decision_point)
    return run.guide(decision_point, pending=context.pending_tool_calls).injections


def collect_feedback(
    *, prompt: Prompt[Any], session: Session, deadline: Deadline | None = None
) -> str | None:
    """Return the feedback that is due, rendered, or None.

    Args:
        prompt: its open run in `session` is asked; one is opened if there is none.
        session: the session.
        deadline: a new time limit for the run; None keeps its own.

    Raises:
        SessionError: an argument has the wrong type.
    """
    as_instance("session", session, Session)
    return session.run_of(prompt, deadline=deadline).feedback()


def check_completion(
    *, prompt: Prompt[Any], session: Session, output: Any = None, extra: Iterable[Any] = ()
) -> CompletionChecked:
    """Return whether the work of a prompt is done, and record the verdict.

    Args:
        prompt: its open run in `session` is asked; one is opened if there is none.
        session: the session.
        output: what the agent would end with, if anything.
        extra: further checkers, as for `Run.check_completion`.

    Raises:
        ProviderError: one of `extra` is no completion checker.
        SessionError: an argument has the wrong type.
    """
    as_instance("session", session, Session)
    return session.run_of(prompt).check_completion(output=output, extra=extra)
