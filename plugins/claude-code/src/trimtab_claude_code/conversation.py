"""One Claude Code session: its hooks answered, its record kept, and found again after a crash."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from threading import Lock
from typing import Any

from trimtab import (
    CompactionHappened,
    CompletionChecked,
    Feedback,
    GuidanceDelivered,
    GuidanceSuppressed,
    ModelResponded,
    ProviderFaulted,
    ProviderQuarantined,
    ProviderSkipped,
    ProviderSlow,
    RunClosed,
    RunOpened,
    Session,
    SnapshotError,
    ToolInvoked,
    ToolStarted,
    UserMessage,
    keep_last,
)
from trimtab_claude_code.bounds import bounded
from trimtab_claude_code.hooks import RECORDS, ClaudeCodeHooks, HookFailed
from trimtab_claude_code.hooks.answers import Answer
from trimtab_claude_code.hooks.translation import PromptOf
from trimtab_claude_code.state.clock import ReplayClock
from trimtab_claude_code.state.journal import Journal, Recorded

KEPT_CALLS = 64
KEPT_EVENTS = 50
TOLD_BEFORE_SNAPSHOT = 64
"""How many events the journal grows by before it is replaced by a snapshot."""

_EVENTS = (
    UserMessage,
    CompactionHappened,
    GuidanceDelivered,
    GuidanceSuppressed,
    Feedback,
    CompletionChecked,
    ProviderFaulted,
    ProviderQuarantined,
    ProviderSkipped,
    ProviderSlow,
    HookFailed,
)
_REDUCERS = {
    ToolInvoked: keep_last(KEPT_CALLS),
    **dict.fromkeys((ToolStarted, ModelResponded, RunOpened, RunClosed), keep_last(1)),
    **dict.fromkeys(_EVENTS, keep_last(KEPT_EVENTS)),
}
SLOW_SECONDS = 0.5
"""What took longer is not done again when the journal is read: a snapshot takes its place."""


class Conversation:
    """Answers the hooks of one session as if its process had never been interrupted.

    May be called from several threads; whoever has several processes holds a lock between them.

    Args:
        journal: where the session is kept.
        prompts: from an agent's type to its prompt.
        trouble: told what went wrong with the journal.
        clock: where the time is read.
    """

    def __init__(
        self,
        journal: Journal,
        prompts: PromptOf,
        trouble: Callable[[str], None],
        clock: ReplayClock | None = None,
    ) -> None:
        self._journal = journal
        self._trouble = trouble
        self._clock = clock or ReplayClock()
        self._lock = Lock()
        self._answering = 0
        self._told = 0
        self._due = False
        recorded = self._read()
        self.session = self._restored(recorded)
        self._hooks = ClaudeCodeHooks(self.session, prompts)
        self._relive(recorded)
        self.session.observe(ProviderFaulted, self._faulted)
        self.session.observe(HookFailed, self._failed)
        self.session.observe(CompletionChecked, self._checked)

    def answer(self, payload: Mapping[str, Any]) -> Answer:
        """Write down what a hook was told and return its answer; never raises."""
        told = bounded(dict(payload))
        with self._lock:
            self._answering += 1
            self._write(told)
        began = self._clock.monotonic()
        try:
            return self._hooks.answer(told)
        finally:
            self._answered(told, self._clock.monotonic() - began)

    def release(self) -> None:
        """Let the threads of providers end; the session goes on from its journal."""
        self._hooks.release()

    def _faulted(self, event: ProviderFaulted) -> None:
        self._trouble(f"{event.source.full_name} failed: {event.error}")

    def _failed(self, event: HookFailed) -> None:
        self._trouble(f"A hook ({event.event}) could not be handled: {event.error}")

    def _checked(self, event: CompletionChecked) -> None:
        """Keep a verdict as it was: asked again, a checker may find another world."""
        self._due = self._due or bool(event.sources)

    def _read(self) -> Recorded:
        try:
            return self._journal.read()
        except OSError as error:
            self._trouble(f"The journal of a session can't be read: {error}")
            return Recorded()

    def _restored(self, recorded: Recorded) -> Session:
        if recorded.snapshot is not None and recorded.moment is not None:
            self._clock.show(recorded.moment)
            try:
                return Session.restore(
                    recorded.snapshot, clock=self._clock, types=RECORDS, reducers=_REDUCERS
                )
            except SnapshotError as error:
                self._trouble(f"{self._journal.path.name} begins anew: {error}")
        session = Session(clock=self._clock)
        for kind, reducer in _REDUCERS.items():
            session.register(kind, reducer)
        return session

    def _relive(self, recorded: Recorded) -> None:
        for told in recorded.told:
            self._clock.show(told.moment)
            self._hooks.answer(told.payload)
        self._told = len(recorded.told)
        self._clock.go_on()

    def _write(self, told: Mapping[str, Any]) -> None:
        try:
            self._journal.append(self._clock.moment(), told)
            self._told += 1
        except OSError as error:
            self._trouble(f"The journal of a session can't be written: {error}")

    def _answered(self, told: Mapping[str, Any], seconds: float) -> None:
        long = told.get("hook_event_name") == "PostToolBatch" and self._told >= TOLD_BEFORE_SNAPSHOT
        with self._lock:
            self._answering -= 1
            self._due = self._due or long or seconds > SLOW_SECONDS
            if self._due and not self._answering:
                self._due = not self._save()

    def _save(self) -> bool:
        """Put a snapshot in the place of the journal; return whether that went well."""
        try:
            self._journal.replace(self._clock.moment(), self.session.snapshot())
        except (OSError, ValueError, TypeError) as error:
            self._trouble(f"The state of a session can't be saved: {error}")
            return False
        self._told = 0
        return True
