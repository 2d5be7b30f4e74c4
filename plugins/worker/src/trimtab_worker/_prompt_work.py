"""One request becomes one evaluated prompt: what loops and other engines share."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import attrs

from trimtab import Resources
from trimtab_worker._attempt import Attempt
from trimtab_worker._codec import message_converter

if TYPE_CHECKING:
    from trimtab import Adapter, Prompt, PromptResponse, Session
    from trimtab_worker._work import Work

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
