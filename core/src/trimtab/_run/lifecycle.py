"""The beginning and the end of a run: hooks of its providers, and its recorders."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from trimtab._contract.context import RunContext
from trimtab._events.run import RunClosed
from trimtab._run.open_run import OpenRun
from trimtab._session.arguments import as_text

if TYPE_CHECKING:
    from trimtab._run.recording import Recordings


class RunLifecycle(OpenRun):
    """A run with its recorders; the base of `Run`.

    Attributes:
        recordings: the recorders, while the run is open; None if it has none.
    """

    recordings: Recordings | None = None

    def start_recording(self, recorders: Iterable[Any], keep: int | None) -> None:
        """Open the recorders of this run; `Session.open_run` does it.

        Args:
            recorders: who they are, and their ``open``.
            keep: tool results that the session keeps whole; None for all.
        """
        from trimtab._run.recording import Recordings

        self.recordings = Recordings(self, self._timeout)
        self.recordings.start(recorders, keep)

    def stop_recording(self) -> None:
        """Close the recorders of this run; they get no more events."""
        if self.recordings is not None:
            self.recordings.stop()
            self.recordings = None

    def opened(self, *, resumed: bool) -> None:
        """Call the providers' ``run_opened``; `Session.open_run` does it.

        Args:
            resumed: whether the run was known already.
        """
        for skipped in self.prompt.table.skipped:
            self.session.dispatch(self.stamp(skipped))
        if self.prompt.table.feedback and not resumed:
            from trimtab._run.feedback import note_existing_files

            note_existing_files(self, self._timeout)
        self._call_run_hooks(self.prompt.table.opened, "run_opened")

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
        self._call_run_hooks(self.prompt.table.closed, "run_closed")
        self.stop_recording()

    def _call_run_hooks(self, hooks: Iterable[tuple[Any, Any]], name: str) -> None:
        context = RunContext(self.view)
        for source, hook in hooks:
            self.invoker.call(source, name, hook, context, self._timeout)
