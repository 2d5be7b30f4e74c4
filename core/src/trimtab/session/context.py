"""What every provider may look at, whatever its kind."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from trimtab.prompt.template import Prompt
    from trimtab.runtime.budget import Budget, Usage
    from trimtab.runtime.deadline import Deadline
    from trimtab.runtime.filesystem import Filesystem
    from trimtab.runtime.host import Host
    from trimtab.runtime.resources import Resources
    from trimtab.session.events import ToolInvoked
    from trimtab.session.run import Run
    from trimtab.session.session import Session
    from trimtab.trajectory import Trajectory


@attrs.frozen(eq=False, repr=False)
class RunContext:
    """What ``run_opened`` and ``run_closed`` get, and the base of all other contexts.

    Attributes:
        run: the run that asks; its face for hosts is of no use to providers.
    """

    run: Run

    @property
    def session(self) -> Session:
        """The session with the full history."""
        return self.run.session

    @property
    def prompt(self) -> Prompt[Any]:
        """The prompt whose run asks."""
        return self.run.prompt

    @property
    def trajectory(self) -> Trajectory:
        """Signals over the tool calls of this run; projections are attached here."""
        return self.run.trajectory

    @property
    def host(self) -> Host:
        """The runtime that the agent runs on."""
        return self.run.host

    @property
    def tools(self) -> frozenset[str] | None:
        """Names of the agent's tools; None where unknown (then name none as present)."""
        return self.run.tools

    @property
    def deadline(self) -> Deadline | None:
        """The run's limit in time, where it has one."""
        return self.run.deadline

    @property
    def budget(self) -> Budget | None:
        """The run's limits in tokens, money and active time, where it has some."""
        return self.run.budget

    @property
    def usage(self) -> Usage:
        """What the run has used, summed over its responses."""
        return self.run.state.usage

    @property
    def active_seconds(self) -> float:
        """Monotonic seconds since the run was opened."""
        return self.run.active_seconds

    @property
    def resources(self) -> Resources:
        """Resources bound to the prompt."""
        return self.run.prompt.resources

    @property
    def filesystem(self) -> Filesystem | None:
        """The filesystem resource, None where none is bound."""
        from trimtab.runtime.filesystem import Filesystem

        return self.resources.get_optional(Filesystem)

    @property
    def tool_call_count(self) -> int:
        """Ended tool calls of this run, the one just made included."""
        return self.run.state.calls

    def recent_tool_calls(self, n: int) -> Sequence[ToolInvoked]:
        """Return the last `n` ended calls of this run, oldest first."""
        return self.run.recent_tool_calls(n)
