"""The loop that evaluates samples: each is a request with what is expected."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import attrs

from trimtab_worker._config import EvalLoopConfig
from trimtab_worker._events import SampleScored
from trimtab_worker._loop import Loop
from trimtab_worker._main import MainLoop
from trimtab_worker._prompt_work import LONGEST_ERROR, as_json, structure_json
from trimtab_worker._work import Work

if TYPE_CHECKING:
    from trimtab import Session
    from trimtab_worker._message import Mailbox


@attrs.frozen
class Sample:
    """A request with what is expected of its answer.

    Args:
        request: as the main loop takes it.
        expected: what evaluators compare with.
    """

    request: Any
    expected: Any = None


@attrs.frozen
class Score:
    """What an evaluator thinks of one output.

    Args:
        value: higher is better.
        passed: whether it is good enough.
        reason: why, in words.
    """

    value: float
    passed: bool
    reason: str = ""


@attrs.frozen(kw_only=True)
class EvalResult:
    """How one sample was scored.

    Args:
        sample_id: id of its message.
        scores: by name of the evaluator.
        output: the agent's output, or its text, as JSON values.
        error: why nothing could be scored.
    """

    sample_id: str
    scores: dict[str, Score] = attrs.field(factory=dict)
    output: Any = None
    error: str | None = None

    @property
    def passed(self) -> bool:
        """Whether every evaluator was satisfied."""
        return bool(self.scores) and all(score.passed for score in self.scores.values())


Evaluator = Callable[[Any, Any], Score]


class EvalLoop(Loop):
    """Receives samples, runs each request through a main loop's agent, and scores the output.

    Every score is a `SampleScored` event in the session of the run, and goes to `on_event`; an
    evaluator that raises scores 0 and fails the sample.

    Args:
        loop: prepares and evaluates requests; its own mailbox is not used.
        requests: where samples come from: a mailbox with ``body=Sample``.
        evaluators: functions `(output, expected) -> Score`.
        config: times, dead letters, concurrency.
        request_type, expected_type: classes that the sample's values are structured as.
        replies: where `EvalResult` records go.
        options: as for `Loop`.
    """

    def __init__(
        self,
        loop: MainLoop,
        requests: Mailbox[Sample],
        evaluators: Iterable[Evaluator],
        config: EvalLoopConfig | None = None,
        *,
        request_type: type[Any] | None = None,
        expected_type: type[Any] | None = None,
        **options: Any,
    ) -> None:
        super().__init__(requests, config or EvalLoopConfig(), **options)
        self._loop = loop
        self._evaluators = {_name(one): one for one in evaluators}
        self._types = request_type, expected_type
        if not self._evaluators:
            raise ValueError("EvalLoop needs an evaluator: a function (output, expected) -> Score")

    def work(self, work: Work) -> EvalResult:
        sample: Sample = work.message.body
        request, expected = (
            structure_json(value, kind)
            for value, kind in zip((sample.request, sample.expected), self._types, strict=True)
        )
        response, session = self._loop.evaluate(request, work)
        output = response.text if response.output is None else response.output
        scores = {
            name: _score(evaluator, output, expected)
            for name, evaluator in self._evaluators.items()
        }
        result = EvalResult(sample_id=work.message.id, scores=scores, output=as_json(output))
        self._record(result, session)
        return result

    def failure(self, work: Work, error: BaseException) -> EvalResult:
        said = f"{type(error).__name__}: {error}"[:LONGEST_ERROR]
        return EvalResult(sample_id=work.message.id, error=said)

    def _record(self, result: EvalResult, session: Session) -> None:
        for name, score in result.scores.items():
            event = SampleScored(
                sample_id=result.sample_id,
                evaluator=name,
                value=score.value,
                passed=score.passed,
                reason=score.reason,
                output=result.output,
            )
            session.dispatch(event)
            self.tell(event)


def _name(evaluator: Evaluator) -> str:
    return getattr(evaluator, "__name__", type(evaluator).__name__)


def _score(evaluator: Evaluator, output: Any, expected: Any) -> Score:
    try:
        score = evaluator(output, expected)
    except Exception as error:  # noqa: BLE001 - an evaluator is not ours
        return Score(0.0, passed=False, reason=f"{_name(evaluator)} failed: {error}")
    if not isinstance(score, Score):
        return Score(0.0, passed=False, reason=f"{_name(evaluator)} returned no Score")
    return score
