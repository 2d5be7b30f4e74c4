"""Several completion checkers as one."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Iterable
from typing import Any

import attrs

from trimtab._boundary.calls import Reply, acall, call
from trimtab._boundary.values import own_result
from trimtab._contract.context import TaskCompletionContext
from trimtab._contract.providers import TaskCompletionChecker
from trimtab._events.providers import CompletionStatus
from trimtab._policy.completion import TaskCompletionResult
from trimtab._types.faults import class_name
from trimtab._types.text import as_text, shown


def _checkers(value: Any) -> tuple[TaskCompletionChecker, ...]:
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise TypeError(f"checkers must be a list of completion checkers, not {shown(value)}")
    return tuple(value)


def _check_all(_: object, __: object, value: tuple[Any, ...]) -> None:
    if not value:
        raise ValueError("a CompositeChecker needs at least one checker")
    for checker in value:
        if not callable(getattr(checker, "check", None)):
            raise TypeError(f"checkers must hold objects with a check method, not {shown(checker)}")


@attrs.frozen
class CompositeChecker:
    """Asks its checkers in order and stops as soon as the verdict is clear.

    One that fails is *unverified*, and the next is asked.

    Args:
        checkers: at least one.
        all_must_pass: True: the first incomplete decides; False: the first ok decides.
    """

    checkers: tuple[TaskCompletionChecker, ...] = attrs.field(
        converter=_checkers, validator=_check_all
    )
    all_must_pass: bool = True

    @property
    def name(self) -> str:
        """The checker's name in events."""
        return "composite"

    def check(
        self, context: TaskCompletionContext
    ) -> TaskCompletionResult | Awaitable[TaskCompletionResult]:
        """Return the joint verdict: incomplete beats unverified beats ok.

        Args:
            context: passed to each checker.
        """
        results: list[TaskCompletionResult] = []
        for number, checker in enumerate(self.checkers):
            reply = call(_asked, checker, context)
            if isinstance(reply.value, Awaitable):
                return self._go_on(context, number, reply.value, results)
            results.append(_verdict(checker, reply))
            if self._decides(results[-1]):
                return results[-1]
        return self._join(results)

    async def _go_on(
        self,
        context: TaskCompletionContext,
        number: int,
        value: Awaitable[TaskCompletionResult],
        results: list[TaskCompletionResult],
    ) -> TaskCompletionResult:
        """Finish a check from the checker that returned an awaitable on."""
        reply: Reply[Any] = await acall(_awaited(value))
        while True:
            results.append(_verdict(self.checkers[number], reply))
            number += 1
            if self._decides(results[-1]):
                return results[-1]
            if number == len(self.checkers):
                return self._join(results)
            reply = call(_asked, self.checkers[number], context)
            if isinstance(reply.value, Awaitable):
                reply = await acall(_awaited(reply.value))

    def _decides(self, result: TaskCompletionResult) -> bool:
        wanted = CompletionStatus.INCOMPLETE if self.all_must_pass else CompletionStatus.OK
        return result.status is wanted

    def _join(self, results: Iterable[TaskCompletionResult]) -> TaskCompletionResult:
        rest = list(results)
        unverified = [r for r in rest if r.status is CompletionStatus.UNVERIFIED]
        incomplete = [r for r in rest if r.status is CompletionStatus.INCOMPLETE]
        if incomplete:
            texts = [r.feedback for r in incomplete if r.feedback]
            return TaskCompletionResult.incomplete(" ".join(texts))
        if unverified:
            return unverified[0]
        texts = [r.feedback for r in rest if r.feedback]
        return TaskCompletionResult.ok(" ".join(texts) or "All checks passed.")


def _asked(
    checker: Any, context: TaskCompletionContext
) -> TaskCompletionResult | Awaitable[TaskCompletionResult]:
    value = checker.check(context)
    return value if inspect.isawaitable(value) else own_result(value, "check")


async def _awaited(value: Awaitable[object]) -> TaskCompletionResult:
    return own_result(await value, "check")


def _verdict(checker: Any, reply: Reply[Any]) -> TaskCompletionResult:
    if reply.error is None and reply.value is not None:
        return reply.value  # type: ignore[no-any-return]
    name = call(_name_of, checker).value or class_name(checker)
    return TaskCompletionResult.unverified(f"the checker {name!r} failed: {reply.error}")


def _name_of(checker: object) -> str:
    return as_text(getattr(checker, "name", None) or "")
