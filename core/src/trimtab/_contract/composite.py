"""Several checkers as one (seed 003)."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Iterable

import attrs

from trimtab._contract.context import TaskCompletionContext
from trimtab._contract.providers import TaskCompletionChecker
from trimtab._events.providers import CompletionStatus
from trimtab._policy.completion import TaskCompletionResult
from trimtab._types.options import as_tuple
from trimtab._types.text import describe_error


def _some(_: object, __: object, value: tuple[TaskCompletionChecker, ...]) -> None:
    if not value:
        raise ValueError("a CompositeChecker needs at least one checker")


@attrs.frozen
class CompositeChecker:
    """Asks its checkers in order and stops as soon as the verdict is clear.

    One that fails is *unverified*, and the next is asked.

    Args:
        checkers: at least one.
        all_must_pass: True: the first incomplete decides; False: the first ok decides.
    """

    checkers: tuple[TaskCompletionChecker, ...] = attrs.field(converter=as_tuple, validator=_some)
    all_must_pass: bool = True

    @property
    def name(self) -> str:
        return "composite"

    def check(
        self, context: TaskCompletionContext
    ) -> TaskCompletionResult | Awaitable[TaskCompletionResult]:
        """Return the joint verdict: incomplete beats unverified beats ok."""
        if any(inspect.iscoroutinefunction(checker.check) for checker in self.checkers):
            return self._check_async(context)
        results: list[TaskCompletionResult] = []
        for checker in self.checkers:
            try:
                results.append(_verdict(checker.check(context)))
            except Exception as error:
                results.append(_failed(checker, error))
            if self._decides(results[-1]):
                return results[-1]
        return self._join(results)

    async def _check_async(self, context: TaskCompletionContext) -> TaskCompletionResult:
        results: list[TaskCompletionResult] = []
        for checker in self.checkers:
            try:
                value = checker.check(context)
                results.append(_verdict(await value if inspect.isawaitable(value) else value))
            except Exception as error:
                results.append(_failed(checker, error))
            if self._decides(results[-1]):
                return results[-1]
        return self._join(results)

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


def _verdict(value: object) -> TaskCompletionResult:
    if not isinstance(value, TaskCompletionResult):
        raise TypeError(f"check returned {type(value).__name__}")
    return value


def _failed(checker: TaskCompletionChecker, error: Exception) -> TaskCompletionResult:
    name = getattr(checker, "name", None) or type(checker).__name__
    return TaskCompletionResult.unverified(f"the checker {name!r} failed: {describe_error(error)}")
