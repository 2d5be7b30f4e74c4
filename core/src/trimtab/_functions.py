"""Entry points that work on the open run of a prompt."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from trimtab._contract import GuidanceContext
from trimtab._events import DecisionPoint
from trimtab._run.run import Run
from trimtab._run.session import Session
from trimtab._session.arguments import as_instance, as_member

if TYPE_CHECKING:
    from trimtab._events.guidance import CompletionChecked, GuidanceInjection
    from trimtab._prompt import Prompt
    from trimtab._types.limits import Deadline


def collect_guidance(
    context: GuidanceContext, *, decision_point: DecisionPoint
) -> tuple[GuidanceInjection, ...]:
    """Return the guidance of the enabled providers at a decision point, and record it.

    Like `Run.guide`, PRE_TOOL_SELECTION closes the open turn.

    Args:
        context: a context of the run, e.g. ``run.guidance_context(point)``.
        decision_point: where; it overrules the context's.

    Raises:
        SessionError: an argument has the wrong type.
    """
    as_instance("context", context, GuidanceContext, "write run.guidance_context(point)")
    run = context._run
    assert isinstance(run, Run)
    as_member("decision_point", DecisionPoint, decision_point)
    return run.guide(decision_point, pending=context.pending_tool_calls).injections


def collect_feedback(
    *, prompt: Prompt[Any], session: Session, deadline: Deadline | None = None
) -> str | None:
    """Return the feedback that is due, rendered, or None.

    Args:
        prompt: its open run in `session` is asked; one is opened if there is none.
        session: the session.
        deadline: a new time limit for the run; None keeps its own.

    Raises:
        SessionError: an argument has the wrong type.
    """
    as_instance("session", session, Session)
    return session.run_of(prompt, deadline=deadline).feedback()


def check_completion(
    *,
    prompt: Prompt[Any],
    session: Session,
    output: Any = None,
    extra: Iterable[Any] = (),
) -> CompletionChecked:
    """Return whether the work of a prompt is done, and record the verdict.

    Args:
        prompt: its open run in `session` is asked; one is opened if there is none.
        session: the session.
        output: what the agent would end with, if anything.
        extra: further checkers, as for `Run.check_completion`.

    Raises:
        ProviderError: one of `extra` is no completion checker.
        SessionError: an argument has the wrong type.
    """
    as_instance("session", session, Session)
    return session.run_of(prompt).check_completion(output=output, extra=extra)
