"""An open run as the engines need it: prompt, host, invoker, projections."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from trimtab._contract.view import BoundRun, RunView
from trimtab._events.provenance import DecisionPoint, Delivery, Provenance, ProviderKind
from trimtab._run.invoker import ProviderInvoker
from trimtab._session.arguments import as_timeout

if TYPE_CHECKING:
    from trimtab._contract.tools import RenderedPrompt, Tool
    from trimtab._contract.view import Host
    from trimtab._prompt.template import Prompt
    from trimtab._session.record import Record
    from trimtab._session.state import RunState
    from trimtab._table.entries import GuidanceEntry
    from trimtab._types.limits import Budget, Deadline

# A member that is looked up in its class takes ten times as long as a name.
_SELECTION, _NONE = DecisionPoint.PRE_TOOL_SELECTION, Delivery.NONE


class OpenRun(BoundRun):
    """A run with its prompt, host and invoker; the base of `RunLifecycle`.

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
        timeout: float | None = None,
    ) -> None:
        super().__init__(session, state, deadline=deadline, budget=budget)
        self.prompt = prompt  # pyright: ignore[reportIncompatibleVariableOverride] - only read
        self.host = host
        self.tools = _tool_names(prompt, host)
        self.rendered: RenderedPrompt[Any] | None = None
        self.invoker = ProviderInvoker(self)
        self.view = RunView(self)
        self._timeout = as_timeout(timeout)

    @property
    def tool_descriptions(self) -> Mapping[str, str]:
        """What the agent's tools say of themselves, those of the prompt before the host's."""
        ours = {tool.name: tool.description for tool in _declared(self.prompt)}
        return {**self.host.tool_descriptions, **ours}

    def save_projections(self) -> None:
        """Bring the providers' projections up to date and keep their states for a snapshot."""
        for name in self.state.feeds.attached:
            self._call_projection(name, self.state.feeds.save)

    def _begin(
        self,
        point: DecisionPoint,
        delivery: Delivery | None = None,
        timeout: float | None = None,
    ) -> Sequence[GuidanceEntry]:
        """Return whom to ask at `point`; PRE_TOOL_SELECTION closes the turn."""
        state = self.state
        if state.closed:
            return ()
        if point is _SELECTION and state.open_turn is not None:
            with self.session.lock.guard:
                state.close_turn()
        entries: Sequence[GuidanceEntry] = self.prompt.table.guides.get(point, ())
        if not entries or (delivery or self.host.delivery.get(point, _NONE)) is _NONE:
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
        if episodes.open or state.faults or timeout is not None:
            return entries
        if not state.feeds.quiet_feeds:
            return entries
        return self.invoker.not_quiet(entries)

    def _look_after(self) -> None:
        if self.invoker.busy:
            return
        for name in self.state.feeds.behind:
            self._call_projection(name, self.trajectory.projection)

    def _share(self) -> None:
        # When the call ends, for at the decision the agent waits; but with a timeout it would take
        # a change of threads each time.
        if self._timeout is None:
            self.invoker.share(self.state.feeds)

    def _call_projection(self, name: str, call: Callable[[str], object]) -> None:
        known = (source for source in self.prompt.table.sources if source.name == name)
        source = next(known, Provenance(name, ProviderKind.GUIDANCE))
        self.invoker.call(source, "projection", call, name, self._timeout)


def _tool_names(prompt: Prompt[Any], host: Host) -> frozenset[str] | None:
    """Return all tools of the agent; None if the host does not know its own."""
    if host.tools is None:
        return None
    return host.tools | {tool.name for tool in _declared(prompt)}


def _declared(prompt: Prompt[Any]) -> Iterator[Tool[Any, Any]]:
    """Return the tools of a prompt, those of sections that are not rendered too."""
    template = prompt.template
    yield from template.tools
    for section in template.sections:
        yield from section.tools
