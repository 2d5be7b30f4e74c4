"""What the engines need of an open run."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from trimtab._contract.view import BoundRun, RunView
from trimtab._events.provenance import Provenance, ProviderKind
from trimtab._run.invoker import ProviderInvoker

if TYPE_CHECKING:
    from trimtab._contract.host import Host
    from trimtab._contract.tools import RenderedPrompt
    from trimtab._prompt.template import Prompt
    from trimtab._session.record import Record
    from trimtab._session.state import RunState
    from trimtab._types.limits import Budget, Deadline


_LOOKS_EVERY = 32
"""Responses and calls after which the run looks for projections that are far behind."""


class OpenRun(BoundRun):
    """A run with its prompt, host and invoker; the base of `Run`.

    Attributes:
        prompt: the prompt that was opened.
        invoker: calls the prompt's providers.
        view: the run as providers see it.
    """

    prompt: Prompt[Any]

    def __init__(
        self,
        session: Record,
        prompt: Prompt[Any],
        state: RunState,
        *,
        host: Host,
        deadline: Deadline | None = None,
        budget: Budget | None = None,
    ) -> None:
        super().__init__(session, state, deadline=deadline, budget=budget)
        self.prompt = prompt  # pyright: ignore[reportIncompatibleVariableOverride] - only read
        self.host = host
        self.tools = _tool_names(prompt, host)
        self.rendered: RenderedPrompt[Any] | None = None
        self.invoker = ProviderInvoker(self)
        self.view = RunView(self)
        self._timeout: float | None = None
        self._since_looked = 0

    def save_projections(self) -> None:
        """Bring the providers' projections up to date and keep their states for a snapshot."""
        for name in self.state.trajectory_writer.attached:
            self._call_projection(name, self.state.trajectory_writer.save)

    def _recorded(self) -> None:
        self._since_looked += 1
        if self._since_looked < _LOOKS_EVERY or self.invoker.busy:
            return
        self._since_looked = 0
        for name in self.state.trajectory_writer.behind:
            self._call_projection(name, self.trajectory.projection)

    def _call_projection(self, name: str, call: Callable[[str], object]) -> None:
        known = (source for source in self.prompt.table.sources if source.name == name)
        source = next(known, Provenance(name, ProviderKind.GUIDANCE))
        self.invoker.call(source, "projection", call, name, self._timeout)


def _tool_names(prompt: Prompt[Any], host: Host) -> frozenset[str] | None:
    """Return all tools of the agent; None if the host does not know its own."""
    if host.tools is None:
        return None
    template = prompt.template
    declared = (template.tools, *(section.tools for section in template.sections))
    return host.tools | {tool.name for tools in declared for tool in tools}
