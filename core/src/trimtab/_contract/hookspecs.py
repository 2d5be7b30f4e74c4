"""The contract for plugins: one hook per decision point, and four more.

Every hook takes one positional ``context``, a frozen object; new facts become new attributes,
so signatures never change. Two ways lead here: an object with the methods of
`GuidanceProvider`, `FeedbackProvider` or `TaskCompletionChecker` (core derives its hooks), or
a class whose methods are marked with ``trimtab.hookimpl``. Hooks are synchronous, save
``check_completion``; wrappers, keyword-only parameters and defaults are refused.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pluggy

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from trimtab._contract import (
        FeedbackContext,
        GuidanceContext,
        RunContext,
        TaskCompletionContext,
    )
    from trimtab._events.guidance import Feedback, GuidanceInjection, Proposal
    from trimtab._policy.feedback import TaskCompletionResult


PROJECT = "trimtab"
hookspec = pluggy.HookspecMarker(PROJECT)
hookimpl = pluggy.HookimplMarker(PROJECT)


class GuidanceSpec:
    """Hooks of guidance providers."""

    @hookspec
    def guide_pre_render(self, context: GuidanceContext) -> Proposal | GuidanceInjection | None:
        """Speak before the prompt is rendered.

        Called: once per rendering, before any response of this rendering exists.
        Context: what happened earlier in the run; no pending calls.
        Return: a `Proposal`, a bare `GuidanceInjection` (confidence 1.0), or None.
        Order and limits: as for `guide_pre_tool_selection`; the text becomes the prompt's
        last section.
        """

    @hookspec
    def guide_pre_tool_selection(
        self, context: GuidanceContext
    ) -> Proposal | GuidanceInjection | None:
        """Speak before the model chooses its next tools: the place for most guidance.

        Called: after every whole batch of tool calls, and before the first response.
        Context: `trajectory` holds the turn that has just ended; no pending calls.
        Return: a `Proposal`, a bare `GuidanceInjection` (confidence 1.0), or None.
        Order and limits: providers are asked in the prompt's order; core applies the
        threshold, cool-down and budgets, sorts by priority, keeps one per category and at
        most ``guidance_limit``.

        Example:
            >>> from trimtab import GuidanceInjection, hookimpl
            >>> class Breather:
            ...     name = "breather"
            ...     @hookimpl
            ...     def guide_pre_tool_selection(self, context):
            ...         if context.tool_call_count < 100:
            ...             return None
            ...         text = f"{context.tool_call_count} calls so far: sum up what you know."
            ...         return GuidanceInjection("breather", text, category="pace")
        """

    @hookspec
    def guide_pre_tool_execution(
        self, context: GuidanceContext
    ) -> Proposal | GuidanceInjection | None:
        """Speak after the calls are parsed and before they run.

        Called: once per response that holds calls.
        Context: `pending_tool_calls` holds them.
        Return: a `Proposal`, a bare `GuidanceInjection`, or None.
        Order and limits: as for `guide_pre_tool_selection`. Some hosts can only speak here by
        refusing the call, and do so only where the provider's configuration says
        ``refuse=True``.
        """

    @hookspec
    def guide_post_tool_result(
        self, context: GuidanceContext
    ) -> Proposal | GuidanceInjection | None:
        """Speak after one tool call has ended.

        Called: once per call, in the order in which the calls end.
        Context: `last_call` is the call; others of its turn may still run.
        Return: a `Proposal`, a bare `GuidanceInjection`, or None.
        Order and limits: as for `guide_pre_tool_selection`.
        """

    @hookspec
    def guide_pre_response(self, context: GuidanceContext) -> Proposal | GuidanceInjection | None:
        """Speak when the agent has answered without calling a tool.

        Called: after a response of text only.
        Context: `last_response` holds the text.
        Return: a `Proposal`, a bare `GuidanceInjection`, or None.
        Order and limits: as for `guide_pre_tool_selection`.
        """


class FeedbackSpec:
    """The hook of feedback providers."""

    @hookspec
    def give_feedback(self, context: FeedbackContext) -> Feedback | None:
        """Comment on the run after a tool call.

        Called: when the provider's trigger is due.
        Context: counts and times of this run, deadline, budget, resources.
        Return: a `Feedback`, or None: nothing to say, and the next provider is asked.
        Order and limits: the prompt's order; the first that speaks wins, unless the prompt
        says ``feedback_delivery="all"``.

        Example:
            >>> from trimtab import Feedback, hookimpl
            >>> class Counter:
            ...     name = "counter"
            ...     @hookimpl
            ...     def give_feedback(self, context):
            ...         return Feedback(summary=f"{context.tool_call_count} tool calls so far.")
        """


class CompletionSpec:
    """The hook of completion checkers."""

    @hookspec
    def check_completion(
        self, context: TaskCompletionContext
    ) -> TaskCompletionResult | Awaitable[TaskCompletionResult]:
        """Say whether the agent's work is done.

        Called: when the agent wants to stop, and once after the end (`final`).
        Context: the tentative output, the session's slices, the filesystem where bound.
        Return: a `TaskCompletionResult`; may be ``async def``.
        Order and limits: all checkers must pass, in the prompt's order; 30 s each. A checker
        that raises or is overdue counts as *unverified*, never as passed.

        Example:
            >>> from trimtab import TaskCompletionResult, hookimpl
            >>> class Signed:
            ...     name = "signed"
            ...     @hookimpl
            ...     def check_completion(self, context):
            ...         if "signed" in str(context.tentative_output):
            ...             return TaskCompletionResult.ok()
            ...         return TaskCompletionResult.incomplete("The answer is not signed.")
        """
        raise NotImplementedError


class RunSpec:
    """Hooks about a run's life, for providers of every kind."""

    @hookspec
    def run_opened(self, context: RunContext) -> None:
        """Get ready for a run.

        Called: once, when a prompt is opened on a session, or resumed.
        Context: the run's prompt, session and trajectory.
        Return: nothing.
        Order and limits: the prompt's order; a fault is recorded and changes nothing else.
        """

    @hookspec
    def run_closed(self, context: RunContext) -> None:
        """Clean up after a run.

        Called: once, when the run is closed.
        Context: as for `run_opened`.
        Return: nothing.
        Order and limits: the prompt's order; a fault is recorded and changes nothing else.
        """


SPECS = (GuidanceSpec, FeedbackSpec, CompletionSpec, RunSpec)
