"""An open run as the engines need it: prompt, host and invoker."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from trimtab._contract.context import BoundRun
from trimtab._run.invoker import ProviderInvoker

if TYPE_CHECKING:
    from trimtab._contract.hosts import Host
    from trimtab._contract.tools import RenderedPrompt, Tool
    from trimtab._prompt.template import Prompt
    from trimtab._session.record import Record
    from trimtab._session.state import RunState
    from trimtab._types.limits import Budget, Deadline


class OpenRun(BoundRun):
    """What asking guidance, feedback and checkers needs of a run; the base of `Run`.

    Attributes:
        prompt: the prompt that was opened.
        invoker: calls the prompt's providers.
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

    @property
    def tool_descriptions(self) -> Mapping[str, str]:
        """What the agent's tools say of themselves, those of the prompt before the host's."""
        ours = {tool.name: tool.description for tool in _declared(self.prompt)}
        return {**self.host.tool_descriptions, **ours}


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
