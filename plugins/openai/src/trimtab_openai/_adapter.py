"""Running prompts to their end through the official client."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from contextlib import (
    AbstractAsyncContextManager,
    AbstractContextManager,
    contextmanager,
    nullcontext,
)
from typing import TYPE_CHECKING, Any, TypeVar

import attrs

from trimtab import (
    Budget,
    Deadline,
    Heartbeat,
    Host,
    Prompt,
    PromptEvaluationError,
    PromptResponse,
    Run,
    Session,
    TaskCompletionChecker,
)
from trimtab.events import CompletionStatus
from trimtab.hosting import names_known
from trimtab.text import describe_error
from trimtab_openai._loop import Cost, GuidedLoop
from trimtab_openai._loop_state import LoopResult
from trimtab_openai._settings import DEFAULTS, HOST, Settings

if TYPE_CHECKING:
    from collections.abc import Iterator

Output = TypeVar("Output")


@names_known()
class OpenAIAdapter:
    """Runs prompts on Chat Completions or Responses, of OpenAI or of a compatible service.

    The rendered prompt is the first user message; its tools, output type and providers hold.

    Args:
        model: the model's name.
        client: ``openai.OpenAI``, for `evaluate`; if None, one is made for each evaluation.
        async_client: ``openai.AsyncOpenAI``, for `aevaluate`; if None, one is made likewise.
        base_url, api_key: of a compatible service, for clients made here.
        settings: how requests are made and guidance is placed.
        checkers: completion checkers, asked after the prompt's own.
        cost: see `GuidedLoop`.
    """

    host: Host = HOST

    def __init__(
        self,
        model: str,
        *,
        client: Any = None,
        async_client: Any = None,
        base_url: str | None = None,
        api_key: str | None = None,
        settings: Settings = DEFAULTS,
        checkers: Iterable[TaskCompletionChecker] = (),
        cost: Cost | None = None,
    ) -> None:
        if not isinstance(settings, Settings):
            given = type(settings).__name__
            raise TypeError(f"settings must be Settings, not {given}: write Settings(max_turns=…)")
        self._model = model
        self._client = client
        self._async_client = async_client
        self._base_url = base_url
        self._api_key = api_key
        self._settings = settings
        self._checkers = tuple(checkers)
        self._cost = cost

    def evaluate(
        self,
        prompt: Prompt[Output],
        *,
        session: Session,
        deadline: Deadline | None = None,
        budget: Budget | None = None,
        heartbeat: Heartbeat | None = None,
    ) -> PromptResponse[Output]:
        """Run the prompt to its end.

        Raises:
            PromptEvaluationError: there is no valid end: the deadline, the budget or the limit
                of turns was reached, the output does not fit, or work is open at the end.
            What the client raises (rate limits, timeouts) passes through.
        """
        with self.client() as client, self._opened(prompt, session, deadline, budget) as run:
            loop, text = self._loop(client, run, heartbeat)
            return self._verified(run, loop.complete(text))

    async def aevaluate(
        self,
        prompt: Prompt[Output],
        *,
        session: Session,
        deadline: Deadline | None = None,
        budget: Budget | None = None,
        heartbeat: Heartbeat | None = None,
    ) -> PromptResponse[Output]:
        """As `evaluate`, without blocking the event loop."""
        async with self.async_client() as client:
            with self._opened(prompt, session, deadline, budget) as run:
                loop, text = await asyncio.to_thread(self._loop, client, run, heartbeat)
                result = await loop.acomplete(text)
                return await asyncio.to_thread(self._verified, run, result)

    def client(self) -> AbstractContextManager[Any]:
        """Return the synchronous client for one evaluation; one made here is closed after it."""
        if self._client is not None:
            return nullcontext(self._client)
        import openai

        return openai.OpenAI(base_url=self._base_url, api_key=self._api_key)

    def async_client(self) -> AbstractAsyncContextManager[Any]:
        """Return the asynchronous client for one evaluation, whose event loop it belongs to."""
        if self._async_client is not None:
            return nullcontext(self._async_client)
        import openai

        return openai.AsyncOpenAI(base_url=self._base_url, api_key=self._api_key)

    @contextmanager
    def _opened(
        self,
        prompt: Prompt[Any],
        session: Session,
        deadline: Deadline | None,
        budget: Budget | None,
    ) -> Iterator[Run]:
        host = self._host_for(prompt)
        if not isinstance(session, Session):
            raise TypeError(f"session must be a Session, not {type(session).__name__}")
        seconds = self._settings.timeout
        run = session.open_run(prompt, host=host, deadline=deadline, budget=budget, timeout=seconds)
        try:
            yield run
        except BaseException as error:
            run.close(describe_error(error))
            raise
        run.close("completed")

    def _host_for(self, prompt: Prompt[Any]) -> Host:
        """Return the host as this prompt sees it: with its tools."""
        if not isinstance(prompt, Prompt):
            given = type(prompt).__name__
            raise TypeError(f"prompt must be a Prompt, not {given}: write Prompt(template)")
        described = {tool.name: tool.description for tool in prompt.render().tools}
        parallel = bool(self._settings.options.get("parallel_tool_calls", True))
        return attrs.evolve(
            self.host,
            tools=frozenset(described),
            parallel_calls=parallel,
            tool_descriptions=described,
            max_turns=self._settings.max_turns,
        )

    def _loop(self, client: Any, run: Run, heartbeat: Heartbeat | None) -> tuple[GuidedLoop, str]:
        loop = GuidedLoop(
            client,
            run,
            model=self._model,
            output_type=run.prompt.template.output,
            settings=self._settings,
            checkers=self._checkers,
            heartbeat=heartbeat,
            cost=self._cost,
        )
        return loop, loop.hooks.render().text

    def _verified(self, run: Run, result: LoopResult) -> PromptResponse[Any]:
        """Return the response, unless there is structured output and work is open."""
        if result.output is not None and (
            result.checked is not None and result.checked.status is CompletionStatus.SKIPPED
        ):
            final = run.check_completion(output=result.output, extra=self._checkers, final=True)
            if not final.may_stop:
                raise PromptEvaluationError(
                    f"prompt {run.prompt.name!r} ended with open work: {final.feedback}"
                )
        if result.truncated:
            run.close(f"truncated: {result.stop_reason}")
        return PromptResponse(
            result.text or None, result.output, result.stop_reason, result.truncated
        )
