"""The provider: reminds an agent that ends with a tool call written as text."""

from __future__ import annotations

import attrs

from trimtab import (
    NOT_RELEVANT,
    ClassificationResult,
    DecisionPoint,
    GuidanceContext,
    GuidanceInjection,
)
from trimtab.events import UserMessage
from trimtab.text import quote, shorten, text_option
from trimtab_tool_call_form._recognition import find_written_call

NAME = "tool-call-form"
LONGEST_NAME = 40
LONGEST_TEXT = 400
"""Together with the name of a tool, and the words around it, they fit into a nudge."""
MESSAGE = (
    "Your answer holds a tool call written as text{tool}, so nothing was run and there is no"
    " result. Do not write calls into the answer: make the call through the tool interface, with"
    " its arguments as a JSON object. If no call is needed, answer in plain words."
)


@attrs.frozen
class ToolCallForm:
    """Reminds of the form of tool calls when the agent's answer only contains one as text.

    It is asked before the agent ends (PRE_RESPONSE), and sends it back.

    Args:
        message: what the agent reads, with ``{tool}``, e.g. ``" (to read)"``; empty if the name
            can't be read.

    Raises:
        ValueError: the message is empty, too long, or names an unknown field.
    """

    message: str = attrs.field(default=MESSAGE, validator=text_option(LONGEST_TEXT, tool=""))
    name: str = attrs.field(default=NAME, init=False)
    category: str = attrs.field(default="tool-form", init=False)
    decision_points: tuple[DecisionPoint, ...] = attrs.field(
        default=(DecisionPoint.PRE_RESPONSE,), init=False
    )

    def classify(self, *, context: GuidanceContext) -> ClassificationResult:
        """Return whether the last response ends the turn with a call as text."""
        tool = self._written(context)
        if tool is None:
            return attrs.evolve(NOT_RELEVANT, episode=NAME)
        return ClassificationResult(
            relevant=True,
            confidence=0.9,
            reason=f"a call as text: {tool or '?'}",
            episode=NAME,
            found=tool,
        )

    def provide(self, *, context: GuidanceContext) -> GuidanceInjection:
        """Return the reminder."""
        tool: str = context.found
        named = f" (to {quote(shorten(tool, LONGEST_NAME))})" if tool else ""
        text = self.message.format(tool=named)
        return GuidanceInjection(NAME, text, priority=50, category=self.category)

    def _written(self, context: GuidanceContext) -> str | None:
        response = context.last_response
        if response is None or response.tool_calls:
            return None
        asked = context.session[UserMessage].latest()
        return find_written_call(response.text, context.tools, asked.text if asked else "")
