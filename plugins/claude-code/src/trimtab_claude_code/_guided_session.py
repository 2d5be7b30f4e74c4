"""One guided session of Claude Code, and how long it has waited for answers that came late."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from threading import Lock
from typing import Any

from trimtab import (
    Deadline,
    Event,
    Feedback,
    GuidanceDelivered,
    Session,
    SnapshotError,
    ToolInvoked,
    TrimtabError,
    keep_last,
)
from trimtab.events import (
    CompactionHappened,
    CompletionChecked,
    GuidanceSuppressed,
    ModelResponded,
    ProviderFaulted,
    ProviderKind,
    ProviderQuarantined,
    ProviderSkipped,
    ProviderSlow,
    RunClosed,
    RunOpened,
    ToolStarted,
    UserMessage,
)
from trimtab.text import sanitize
from trimtab_claude_code._breaker import EVENT_SECONDS, Cost
from trimtab_claude_code._journal import Journal, Recorded, ReplayClock, Superseded
from trimtab_claude_code._responses import Responses
from trimtab_claude_code.hooks import (
    PROVIDER_TIMEOUT,
    RECORDS,
    STRUCTURED_OUTPUT,
    ClaudeCodeHooks,
    HookFailed,
    HookOutput,
    PromptOf,
)
from trimtab_trace import GuidanceStopped, Redaction, SessionJournal, bounded

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
"""Events whose checkers are never asked again: they might find another state of the files."""


class SessionTime:
    """Counts the time during which at least one event of the session is being answered.

    May be called from several threads.
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


KEPT_CALLS = 64
KEPT_EVENTS = 50
EVENTS_BEFORE_SNAPSHOT = 256
BYTES_BEFORE_SNAPSHOT = 1_000_000
"""What the journal grows by before it is replaced by a snapshot, whichever comes first.

A snapshot takes as long as reading 70 events again, which happens when a server starts.
"""

SLOW_SECONDS = 0.5
"""What took longer is not done again when the journal is read: a snapshot takes its place."""

DECISIONS: tuple[type[Event], ...] = (
    GuidanceDelivered,
    GuidanceSuppressed,
    Feedback,
    CompletionChecked,
    ProviderFaulted,
    ProviderQuarantined,
    ProviderSkipped,
    HookFailed,
)
_OVERDUE = "no answer within"
_REDUCERS = {
    ToolInvoked: keep_last(KEPT_CALLS),
    **dict.fromkeys((ToolStarted, ModelResponded, RunOpened, RunClosed), keep_last(1)),
    **dict.fromkeys(
        (UserMessage, CompactionHappened, ProviderSlow, *DECISIONS), keep_last(KEPT_EVENTS)
    ),
}
_LONGEST_NOTICE = 300
_NEVER_LEFT_OUT = frozenset({ProviderKind.COMPLETION, ProviderKind.RECORDER})
"""Checkers are asked where the agent stops, with a timeout of their own; recorders say nothing."""


class GuidedSession:
    """Answers the hook events of one session as if its process had never been interrupted.

    May be called from several threads.

    Args:
        journal: where the session is kept; None keeps it in memory only.
        prompts: from an agent's type to its prompt.
        recorder: writes what happens, and what is said, for `trimtab status`; None for none.
        time: counts what providers take of the session's time.
    """

    def __init__(
        self,
        journal: Journal | None,
        prompts: PromptOf,
        note: Callable[[str], None],
        *,
        session_id: str = "",
        redaction: Redaction | None = None,
        recorder: SessionJournal | None = None,
        timeout: float | None = None,
        time: SessionTime | None = None,
        notify: bool = False,
        clock: ReplayClock | None = None,
    ) -> None:
        self._journal = journal
        self._note = note
        self._session_id = session_id
        self._redaction = redaction or Redaction()
        self._recorder = recorder
        self._responses = Responses()
        self._timeout = timeout
        self._clock = clock or ReplayClock()
        self._lock = Lock()
        self._answering = 0
        self._unsaved = 0
        self._unsaved_bytes = 0
        self._notify = notify
        self._said: list[str] = []
        self._decided = False
        self._due = False
        self._time = time or SessionTime(Cost())
        recorded = self._read()
        self.session = self._restored(recorded)
        self._began = recorded.began
        recorders = () if recorder is None else (recorder,)
        self._hooks = ClaudeCodeHooks(self.session, prompts, recorders=recorders)
        self._replay(recorded)
        self._observe()

    def answer(self, payload: Mapping[str, Any]) -> HookOutput:
        """Write an event down and return its output; never raises.

        A decision is saved before it is returned.
        """
        event = bounded(dict(payload), self._redaction)
        with self._lock:
            self._answering += 1
            self._begin(event)
            self._write(event)
        began = self._clock.monotonic()
        try:
            return self._notified(self._hooks.answer(event))
        finally:
            self._answered(self._clock.monotonic() - began)

    def _notified(self, output: HookOutput) -> HookOutput:
        """Return an output that also shows the user what was said."""
        if not self._notify:
            return output
        with self._lock:
            said, self._said = self._said, []
        if not said or not output:
            return output
        return {**output, "systemMessage": "\n".join(f"trimtab: {line}" for line in said)}

    def after(self, payload: Mapping[str, Any]) -> None:
        """Do what can wait until an answer is sent: note responses, save a session that is due."""
        if self._recorder is not None:
            self._recorded(*self._responses.after(payload))
        with self._lock:
            if self._due and not self._answering:
                self._save()

    def stop(self, cost: Cost) -> None:
        """End the runs of the session, which goes on without guidance."""
        self._recorded(GuidanceStopped(seconds=cost.seconds, providers=cost.providers))
        self._hooks.close(self._session_id, str(cost))

    def release(self) -> None:
        """Save the session if it has news, and let another process write its journal."""
        with self._lock:
            if self._unsaved and not self._answering:
                self._save()
        if self._recorder is not None:
            self._recorder.close()

    def _recorded(self, *events: object) -> None:
        """Write what no run tells into the journal."""
        try:
            for event in events:
                if self._recorder is not None:
                    self._recorder.record(event)
        except (OSError, TrimtabError) as error:
            self._note(f"The journal of a session can't be written: {error}")

    def _observe(self) -> None:
        for kind in DECISIONS:
            self.session.observe(kind, self._on_decision)
        self.session.observe(ProviderFaulted, self._on_fault)
        self.session.observe(HookFailed, self._on_failure)
        self.session.observe(ProviderSlow, lambda event: self._took(event, event.seconds))

    def _on_decision(self, event: Event) -> None:
        self._decided = True
        words = said_by(event) if self._notify else ""
        if words:
            self._said.append(words)

    def _on_fault(self, event: ProviderFaulted) -> None:
        self._note(f"{event.source.full_name} failed: {event.error}")
        if _OVERDUE in event.error:
            self._took(event, PROVIDER_TIMEOUT)

    def _took(self, event: ProviderFaulted | ProviderSlow, seconds: float) -> None:
        source = event.source
        if source.kind in _NEVER_LEFT_OUT or not self._time.took(source.name, seconds):
            return
        self._note(f"{source.full_name} took too long, and is left out of the session")
        reason = f"the agent has waited {self._time.providers[source.name]:.1f} s for it"
        self.session.dispatch(ProviderSkipped(source=source, reason=reason, run_id=event.run_id))

    def _on_failure(self, event: HookFailed) -> None:
        self._note(f"A hook event ({event.event}) could not be handled: {event.error}")

    def _begin(self, event: Mapping[str, Any]) -> None:
        """Start the session's time anew where its process starts."""
        starts = event.get("hook_event_name") == "SessionStart" and event.get("source") != "compact"
        if self._timeout is not None and (starts or self._began is None):
            self._began = self._clock.monotonic()
            self._set_deadline()

    def _set_deadline(self) -> None:
        if self._timeout is not None and self._began is not None:
            self._hooks.set_deadline(Deadline(self._timeout, self._clock, self._began))

    def _read(self) -> Recorded:
        if self._journal is None:
            return Recorded()
        try:
            return self._journal.read()
        except OSError as error:
            self._note(f"The journal of a session can't be read: {error}")
            return Recorded()

    def _restored(self, recorded: Recorded) -> Session:
        if recorded.snapshot is not None and recorded.moment is not None:
            self._clock.show(recorded.moment)
            try:
                return Session.restore(
                    recorded.snapshot, clock=self._clock, types=RECORDS, reducers=_REDUCERS
                )
            except SnapshotError as error:
                self._note(f"The session {self._session_id} starts anew: {error}")
        session = Session(clock=self._clock)
        for kind, reducer in _REDUCERS.items():
            session.register(kind, reducer)
        return session

    def _replay(self, recorded: Recorded) -> None:
        """Record what came after the snapshot.

        Providers are asked only if they are the same as then: nothing new may be decided. What
        happens again stands in the journal already.
        """
        if self._recorder is not None:
            self._recorder.paused = True
        if recorded.snapshot is not None:
            self._hooks.resume(self._session_id)
        same = self._journal is not None and recorded.stamp == self._journal.stamp
        for received in recorded.received:
            self._clock.show(received.moment)
            self._begin(received.payload)
            ask = same and received.payload.get("hook_event_name") not in _CHECKING
            until = None if ask else Deadline(0, self._clock)
            self._hooks.answer(received.payload, until)
        self._unsaved = len(recorded.received)
        if self._recorder is not None:
            self._recorder.paused = False
        self._clock.go_on()
        self._set_deadline()

    def _write(self, event: Mapping[str, Any]) -> None:
        self._unsaved += 1
        if self._journal is None:
            return
        try:
            self._unsaved_bytes += self._journal.append(self._clock.moment(), event)
        except OSError as error:
            self._note(f"The journal of a session can't be written: {error}")

    def _answered(self, seconds: float) -> None:
        with self._lock:
            self._answering -= 1
            self._due = self._due or (
                self._unsaved >= EVENTS_BEFORE_SNAPSHOT
                or self._unsaved_bytes >= BYTES_BEFORE_SNAPSHOT
            )
            if (self._decided or seconds > SLOW_SECONDS) and not self._answering:
                self._save()

    def _save(self) -> None:
        """Put a snapshot in the place of the journal."""
        if self._journal is None:
            return
        try:
            moment, snapshot = self._clock.moment(), self.session.snapshot()
            self._journal.replace(moment, snapshot, self._began)
        except Superseded:
            pass  # this process is about to end
        except (OSError, ValueError, TypeError) as error:
            self._note(f"The state of a session can't be saved: {error}")
            return
        self._unsaved = self._unsaved_bytes = 0
        self._decided = self._due = False


def said_by(event: Event) -> str:
    """Return in one line what the agent is told by a decision; empty if nothing."""
    match event:
        case GuidanceDelivered():
            provider, words = event.provider_name, event.injection.content
        case Feedback():
            provider, words = event.provider_name, event.summary
        case CompletionChecked(may_stop=False):
            provider, words = event.sources[-1].name, event.feedback or ""
        case _:
            return ""
    return f"{sanitize(provider, 60)} said: {sanitize(words, _LONGEST_NOTICE)}"
