"""The loop that answers requests with an agent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from trimtab_worker._attempt import Attempt
from trimtab_worker._config import LoopConfig, MainLoopConfig
from trimtab_worker._handling import Replies
from trimtab_worker._loop import Loop
from trimtab_worker._prompt_work import (
    Prepare,
    PromptWork,
    Reply,
    call_prepare,
    failed_reply,
)
from trimtab_worker._work import Work

if TYPE_CHECKING:
    from trimtab import Adapter, Prompt, PromptResponse, Session
    from trimtab_worker._message import Mailbox


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
