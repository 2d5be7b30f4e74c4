"""The loop that answers requests with an agent."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import attrs

from trimtab_worker._config import LoopConfig, MainLoopConfig
from trimtab_worker._handling import Replies
from trimtab_worker._loop import Loop
from trimtab_worker._work import Work

if TYPE_CHECKING:
    from trimtab import Adapter, Prompt, PromptResponse, Session
    from trimtab_worker._message import Mailbox

Prepare = Callable[[Any], "tuple[Prompt[Any], Session]"]
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


class MainLoop(Loop):
    """Receives requests, evaluates the prompt of each with the adapter, answers, acknowledges.

    Pass `prepare`, or subclass and override it.

    Args:
        adapter: evaluates prompts.
        requests: where requests come from.
        config: times, dead letters, concurrency.
        prepare: returns the prompt and the session for one request.
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
        super().__init__(requests, config or MainLoopConfig(), replies=replies, **options)
        self.adapter = adapter
        self._prepare = prepare

    def prepare(self, request: Any) -> tuple[Prompt[Any], Session]:
        """Return the prompt and the session for one request.

        Raises:
            NotImplementedError: neither an argument nor a subclass says how.
        """
        if self._prepare is None:
            raise NotImplementedError(
                "MainLoop needs prepare=…, a function from a request to (Prompt, Session), or a "
                "subclass that overrides prepare()"
            )
        return self._prepare(request)

    def work(self, work: Work) -> Reply:
        response, _ = self.evaluate(work.message.body, work)
        return Reply(
            message_id=work.message.id,
            text=response.text,
            output=as_json(response.output),
            deliveries=work.message.deliveries,
        )

    def failure(self, work: Work, error: BaseException) -> Reply:
        said = f"{type(error).__name__}: {error}"[:LONGEST_ERROR]
        message = work.message
        return Reply(message_id=message.id, ok=False, error=said, deliveries=message.deliveries)

    def evaluate(self, request: Any, work: Work) -> tuple[PromptResponse[Any], Session]:
        """Evaluate one request within the lease of `work`; return the response and the session."""
        prompt, session = self.prepare(request)
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


def as_json(value: Any) -> Any:
    """Return an output as JSON values."""
    from trimtab_worker._codec import message_converter

    return message_converter().unstructure(value)
