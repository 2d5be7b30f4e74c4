"""The loops that answer requests with an agent, and that evaluate samples."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import attrs

from trimtab import Resources
from trimtab_worker._events import SampleScored
from trimtab_worker._handling import Replies
from trimtab_worker._lease_config import EvalLoopConfig, LoopConfig, MainLoopConfig
from trimtab_worker._loop import Loop
from trimtab_worker._message import message_converter
from trimtab_worker._work import Attempt, Work

if TYPE_CHECKING:
    from trimtab import Adapter, Prompt, PromptResponse, Session
    from trimtab_worker._mailbox import Mailbox

Prepare = Callable[..., "tuple[Prompt[Any], Session]"]
LONGEST_ERROR = 2_000


@attrs.frozen(kw_only=True)
class Reply:
    """The answer to one request.

    Args:
        message_id: of the request.
        ok: whether it was processed.
        text: the agent's final text.
        output: its structured output, as JSON values.
        error: why it was given up, where `ok` is false.
        deliveries: which delivery this answers, from 1: a later one replaces an earlier one.
    """

    message_id: str
    ok: bool = True
    text: str | None = None
    output: Any = None
    error: str | None = None
    deliveries: int = 1


@attrs.frozen
class PromptWork:
    """Evaluates the prompt of a request with an adapter, within a `Work`.

    Args:
        adapter: evaluates prompts.
        prepare: returns the prompt and the session for one request; a parameter named `attempt`
            gets the `Attempt`.
    """

    adapter: Adapter
    prepare: Prepare

    def evaluate(self, request: Any, work: Work) -> tuple[PromptResponse[Any], Session]:
        """Evaluate one request; tools find the `Attempt` among the prompt's resources.

        Args:
            request: the body of the message.
            work: its lease is kept by whoever drives it.
        """
        prompt, session = call_prepare(self.prepare, request, work.attempt)
        prompt = prompt.bind(resources=Resources({**prompt.resources.bound, Attempt: work.attempt}))
        work.bind(session, prompt)
        work.heartbeat.beat()
        response = self.adapter.evaluate(
            prompt,
            session=session,
            deadline=work.deadline(),
            budget=work.config.budget,
            heartbeat=work.heartbeat,
        )
        work.heartbeat.beat()
        return response, session

    def answer(self, request: Any, work: Work) -> Reply:
        """Evaluate one request, and return its answer.

        Args:
            request, work: as for `evaluate`.
        """
        response, _ = self.evaluate(request, work)
        return Reply(
            message_id=work.attempt.message_id,
            text=response.text,
            output=as_json(response.output),
            deliveries=work.attempt.number,
        )


def call_prepare(prepare: Prepare, request: Any, attempt: Attempt) -> tuple[Prompt[Any], Session]:
    """Call a user's function, with the attempt where it has a parameter of that name."""
    try:
        takes_attempt = "attempt" in inspect.signature(prepare).parameters
    except (TypeError, ValueError):  # no signature, such as that of a builtin
        takes_attempt = False
    return prepare(request, attempt=attempt) if takes_attempt else prepare(request)


def failed_reply(work: Work, error: BaseException) -> Reply:
    """Return the answer for a message that is given up.

    Args:
        work: on the message.
        error: what its last attempt raised.
    """
    said = f"{type(error).__name__}: {error}"[:LONGEST_ERROR]
    attempt = work.attempt
    return Reply(message_id=attempt.message_id, ok=False, error=said, deliveries=attempt.number)


def as_json(value: Any) -> Any:
    """Return an output, or another record, as JSON values.

    Args:
        value: attrs and plain values.
    """
    return message_converter().unstructure(value)


def structure_json(value: Any, kind: type[Any] | None) -> Any:
    """Return JSON values as a record, read strictly.

    Args:
        value: JSON values.
        kind: attrs class of the record; None: the values as they are.
    """
    return value if kind is None else message_converter().structure(value, kind)


class MainLoop(Loop):
    """Receives requests, evaluates the prompt of each with the adapter, answers, acknowledges.

    Pass `prepare`, or subclass and override it.

    Args:
        adapter: evaluates prompts.
        requests: where requests come from.
        config: times, dead letters, concurrency.
        prepare: returns the prompt and the session for one request; a parameter named `attempt`
            gets the `Attempt`: the message's id, the delivery's number, the session to go on with.
        replies: where `Reply` records go: one mailbox for all, or a mapping from the addresses
            that senders may give as `reply_to` to mailboxes.
        options: as for `Loop`.

    Raises:
        CalibrationError: times of `config` contradict each other on this engine.
    """

    def __init__(
        self,
        adapter: Adapter,
        requests: Mailbox[Any],
        config: LoopConfig | None = None,
        *,
        prepare: Prepare | None = None,
        replies: Replies = None,
        **options: Any,
    ) -> None:
        if not callable(getattr(adapter, "evaluate", None)):
            raise TypeError(f"adapter must be one such as OpenAIAdapter(…), not {adapter!r:.60}")
        super().__init__(requests, config or MainLoopConfig(), replies=replies, **options)
        self.adapter = adapter
        self._prepare = prepare

    def prepare(self, request: Any) -> tuple[Prompt[Any], Session]:
        """Return the prompt and the session for one request.

        An override may take the attempt: ``def prepare(self, request, attempt=None)``.

        Raises:
            NotImplementedError: neither an argument nor a subclass says how.
        """
        if self._prepare is None:
            raise NotImplementedError(
                "MainLoop needs prepare=…, a function from a request to (Prompt, Session), or a "
                "subclass that overrides prepare()"
            )
        return call_prepare(self._prepare, request, Attempt())

    def work(self, work: Work) -> Reply:
        return self._prompt_work().answer(work.message.body, work)

    def failure(self, work: Work, error: BaseException) -> Reply:
        return failed_reply(work, error)

    def evaluate(self, request: Any, work: Work) -> tuple[PromptResponse[Any], Session]:
        """Evaluate one request within the lease of `work`; return the response and the session."""
        return self._prompt_work().evaluate(request, work)

    def _prompt_work(self) -> PromptWork:
        return PromptWork(self.adapter, self._prepare or self.prepare)


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
