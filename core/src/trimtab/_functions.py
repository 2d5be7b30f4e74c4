"""Entry points that work on the open run of a prompt."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import attrs

from trimtab._contract.context import GuidanceContext
from trimtab._contract.providers import TaskCompletionChecker
from trimtab._events.guidance import GuidanceInjection
from trimtab._events.provenance import DecisionPoint
from trimtab._events.providers import CompletionChecked
from trimtab._run.guidance import guide

if TYPE_CHECKING:
    from trimtab._prompt.template import Prompt
    from trimtab._run.session import Session
    from trimtab._types.limits import Deadline


def collect_guidance(
    context: GuidanceContext, *, decision_point: DecisionPoint
) -> tuple[GuidanceInjection, ...]:
    """Return what the enabled providers say at `decision_point` (seed 000's entry point).

    Args:
        context: a context of the run, e.g. ``run.guidance_context(point)``.
        decision_point: where; it overrules the context's.
    """
    return guide(context.run, attrs.evolve(context, decision_point=decision_point), None).injections


def collect_feedback(
    *, prompt: Prompt[Any], session: Session, deadline: Deadline | None = None
) -> str | None:
    """Return the feedback that is due, rendered, or None (seed 001's entry point).

    Works on the open run of `prompt` in `session`, or opens one.
    """
    return session.run_of(prompt, deadline=deadline).feedback()


def check_completion(
    *,
    prompt: Prompt[Any],
    session: Session,
    output: Any = None,
    extra: Iterable[TaskCompletionChecker] = (),
) -> CompletionChecked:
    """Ask whether the work of `prompt` is done, on its open run in `session` or a new one."""
    return session.run_of(prompt).check_completion(output=output, extra=extra)
