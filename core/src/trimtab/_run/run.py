"""A run: one prompt, opened on a session by one agent. Hosts report to it and ask it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import attrs

from trimtab._boundary import Ask
from trimtab._contract import GuidanceContext, RunContext
from trimtab._events import (
    CompletionAsked,
    DecisionPoint,
    Delivery,
    FeedbackAsked,
    GuidanceAsked,
    PromptRendered,
    Provenance,
    ProviderKind,
    RunClosed,
    ToolCall,
)
from trimtab._policy import CompletionCheckerConfig
from trimtab._run import OpenRun
from trimtab._run.completion import check, feedback, note_existing_files
from trimtab._run.guidance import NOTHING, GuidanceBatch, guide
from trimtab._session.recorder import as_calls
from trimtab._table import compile_check, load_alone
from trimtab._types.errors import SessionError
from trimtab._types.options import as_flag, as_member, as_text, as_timeout, is_collection
from trimtab._types.text import shown

if TYPE_CHECKING:
    from trimtab._contract.tools import RenderedPrompt
    from trimtab._events.guidance import CompletionChecked, Feedback
    from trimtab._run.recording import Recordings
    from trimtab._table import GuidanceEntry

_NO_CALLS: tuple[ToolCall, ...] = ()
# A member that is looked up in its class takes ten times as long as a name.
_SELECTION, _NONE = DecisionPoint.PRE_TOOL_SELECTION, Delivery.NONE


class Run(OpenRun):
    """One prompt on one session; made by `Session.open_run`.

    Hosts report what happens (`model_responded`, `tool_started`, `tool_finished`, …) and ask
    for guidance, feedback and permission to stop. All methods may be called from several
    threads.

    Args:
        session, prompt, host, deadline, budget, timeout: as for `Session.open_run`.
        state: counters and signals; read it, don't write it.
    """

    _recordings: Recordings | None = None  # while the run is open, if it has any

    def __repr__(self) -> str:
        state = self.state
        ended = "closed" if state.closed else "open"
        return f"<Run {self.run_id!r} of {state.prompt_name!r}: {state.calls} calls, {ended}>"

    def _stop_recording(self) -> None:
        """Close the recorders of this run; they get no more events."""
        if self._recordings is not None:
            self._recordings.stop()
            self._recordings = None

    def _tell_opened(self, *, resumed: bool) -> None:
        """Call the providers' ``run_opened``."""
        for skipped in self.prompt.table.skipped:
            self.session.dispatch(self.stamp(skipped))
        if self.prompt.table.feedback and not resumed:
            note_existing_files(self, self._timeout)
        self._call_run_hooks(self.prompt.table.opened)

    def close(self, reason: str = "") -> None:
        """End the run; its record stays in the session. Closing twice is no error.

        Args:
            reason: why it ended, for the record.

        Raises:
            SessionError: `reason` is no text.
        """
        as_text("reason", reason)
        if self.state.closed:
            return
        self.dispatch(RunClosed, reason=reason)
        self._call_run_hooks(self.prompt.table.closed)
        self._stop_recording()

    def _call_run_hooks(self, hooks: Iterable[Ask]) -> None:
        context = RunContext(self)
        for ask in hooks:
            self.invoker.call(ask, context, self._timeout)

    def _save(self) -> None:
        """Keep in the state what no event recorded: the time until now, and the projections."""
        if not self.state.closed:
            self.state.active_seconds = self.active_seconds
        for name, feed in tuple(self.state.feeds.feeds.items()):
            self._call_projection(name, feed.save)

    def _begin(
        self, point: DecisionPoint, delivery: Delivery, timeout: float | None
    ) -> Sequence[GuidanceEntry]:
        """Return whom to ask at `point`; PRE_TOOL_SELECTION closes the turn."""
        state = self.state
        if state.closed:
            return ()
        if point is _SELECTION and state.open_turn is not None:
            with self.session.lock.guard:
                state.close_turn()
        entries: Sequence[GuidanceEntry] = self.prompt.table.guides.get(point, ())
        if not entries or delivery is _NONE:
            return ()
        episodes = state.guidance.episodes
        if episodes.open:
            with self.session.lock:
                episodes.sweep(state.turn)
        if state.quarantined:
            entries = tuple(e for e in entries if e.source.key not in state.quarantined)
        # An episode is followed by providers that have nothing to say of their own; a failure
        # counts until the provider has been asked and answers; with a timeout nothing runs on
        # this thread.
        if not state.feeds.quiet_feeds or episodes.open or state.faults or timeout is not None:
            return entries
        return self.invoker.not_quiet(entries)

    def _look_after(self) -> None:
        if self.invoker.busy:
            return
        for name in self.state.feeds.behind:
            self._call_projection(name, self.trajectory.projection)

    def _call_projection(self, name: str, call: Callable[[str], object]) -> None:
        known = (source for source in self.prompt.table.sources if source.name == name)
        source = next(known, Provenance(name, ProviderKind.GUIDANCE))
        self.invoker.call(Ask(source, "projection", call), name, self._timeout)

    def guidance_context(
        self, point: DecisionPoint, pending: Iterable[ToolCall] = ()
    ) -> GuidanceContext:
        """Return what guidance providers see at `point`.

        Args:
            point: the decision point.
            pending: calls about to run (PRE_TOOL_EXECUTION).
        """
        return GuidanceContext(
            run=self, decision_point=point, pending_tool_calls=as_calls(pending, "pending")
        )

    def guide(
        self,
        point: DecisionPoint,
        *,
        pending: Iterable[ToolCall] = _NO_CALLS,
        timeout: float | None = None,
        delivery: Delivery | None = None,
        replayed: bool = False,
    ) -> GuidanceBatch:
        """Ask the guidance providers at `point`, and record what is delivered.

        PRE_TOOL_SELECTION closes the open turn.

        Args:
            point: the decision point; its plain string is accepted too.
            pending: calls about to run (PRE_TOOL_EXECUTION).
            timeout: seconds per provider, on a worker thread; None calls them on this one.
            delivery: how the text is placed this time; as the host declares if None. Nobody is
                asked for `Delivery.NONE`.
            replayed: the decision was made before, by a run that is no longer known: what would
                be delivered is counted and recorded as `GuidanceSuppressed`, nothing returned.

        Raises:
            SessionError: an argument has the wrong type, or a provider of this run is asking.
        """
        if point.__class__ is not DecisionPoint:
            point = as_member("point", DecisionPoint, point)
        if timeout is not None:
            timeout = as_timeout(timeout)
        if delivery is not None and delivery.__class__ is not Delivery:
            delivery = as_member("delivery", Delivery, delivery)
        calls = _NO_CALLS if pending is _NO_CALLS else as_calls(pending, "pending")
        if (
            self._recordings is not None
            and not self.state.closed
            and (point is _SELECTION or self.prompt.table.guides.get(point))  # else no difference
        ):
            asked = GuidanceAsked(
                decision_point=point, pending=calls, delivery=delivery, replayed=replayed
            )
            self._recordings.tell(asked)
        way = delivery or self.host.delivery.get(point, _NONE)
        entries = self._begin(point, way, timeout)
        if not entries:
            return NOTHING
        return guide(self, entries, point, calls, timeout=timeout, delivery=way, replayed=replayed)

    def feedback(self, *, timeout: float | None = None, replayed: bool = False) -> str | None:
        """Return the feedback that is due now, rendered, or None.

        Args:
            timeout: as for `guide`.
            replayed: as for `guide`; recorded as `FeedbackSuppressed`.
        """
        due = self.due_feedback(timeout=timeout, replayed=replayed)
        return "\n\n".join(item.render() for item in due) or None

    def due_feedback(
        self, *, timeout: float | None = None, replayed: bool = False
    ) -> tuple[Feedback, ...]:
        """Return the feedback that is due now, as records.

        Args:
            timeout: as for `guide`.
            replayed: as for `feedback`.
        """
        if timeout is not None:
            timeout = as_timeout(timeout)
        if self.state.closed or not self.prompt.table.feedback:
            return ()
        if self._recordings is not None:
            self._recordings.tell(FeedbackAsked(replayed=replayed))
        return feedback(self, timeout, replayed=replayed)

    def check_completion(
        self,
        *,
        output: Any = None,
        stop_reason: str | None = None,
        extra: Iterable[Any] = (),
        background_work: bool = False,
        awaiting_user: bool = False,
        api_error: str | None = None,
        final: bool = False,
    ) -> CompletionChecked:
        """Return whether the agent may stop, and record the verdict.

        Args:
            output: what the agent would end with, if anything.
            stop_reason: why it stops, in the host's words.
            extra: the client's own checkers, asked after the prompt's: objects, entry names,
                ``enable(…)`` or `CompletionCheckerConfig`.
            background_work: whether something it started still runs and will wake it.
            awaiting_user: whether it has asked the user, or the user has paused it.
            api_error: the error's text, if the turn ended because the model's service failed.
            final: whether the run has ended already, so that the verdict can only be reported.

        Raises:
            ProviderError: one of `extra` is no completion checker; nothing is recorded.
            SessionError: an argument has the wrong type; nothing is recorded.
        """
        for name, said in (("stop_reason", stop_reason), ("api_error", api_error)):
            if said is not None:
                as_text(name, said)
        as_flag("background_work", background_work)
        as_flag("awaiting_user", awaiting_user)
        as_flag("final", final)
        if not is_collection(extra):
            raise SessionError(f"extra must be a list, not {shown(extra)}")
        own = tuple(map(compile_check, load_alone(CompletionCheckerConfig, extra)))
        asked = CompletionAsked(
            output=output,
            stop_reason=stop_reason,
            background_work=background_work,
            awaiting_user=awaiting_user,
            api_error=api_error,
            final=final,
            extra=tuple(entry.source.name for entry in own),
        )
        if self._recordings is not None:
            self._recordings.tell(asked)
        with self.session.lock.guard:
            self.state.close_turn()
        return check(self, asked, own)

    async def acheck_completion(self, **stop: Any) -> CompletionChecked:
        """As `check_completion`, off the event loop."""
        import asyncio  # half of the time that importing trimtab would take

        return await asyncio.to_thread(self.check_completion, **stop)

    def render(self, *params: Any, timeout: float | None = None) -> RenderedPrompt[Any]:
        """Return the prompt, rendered, with PRE_RENDER guidance as its last section.

        Args:
            params: as for `Prompt.render`.
            timeout: as for `guide`.
        """
        rendered = self.prompt.render(*params)
        batch = self.guide(DecisionPoint.PRE_RENDER, timeout=timeout)
        if batch:
            text = "\n\n".join(filter(None, (rendered.text, batch.text)))
            rendered = attrs.evolve(rendered, text=text)
        self.rendered = rendered
        if self._recordings is not None:
            self._recordings.tell(PromptRendered(text=rendered.text))
        return rendered
