"""Runs stages one after the other, on any adapter."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import attrs

from trimtab import (
    Adapter,
    Budget,
    Deadline,
    Heartbeat,
    MarkdownSection,
    Prompt,
    PromptTemplate,
    Session,
    Tool,
    TrimtabError,
)
from trimtab.hosting import names_known
from trimtab.text import shorten
from trimtab_planning._book import PlanBook
from trimtab_planning._criteria import Guardrails, as_guardrails
from trimtab_planning._flow import Attempt, StageFlow
from trimtab_planning._history import StageCompleted, Termination
from trimtab_planning._stage_plan import StagePlan, as_text
from trimtab_planning._stages import StageDefinition, check_stages

LONGEST_ERROR = 2_000


@attrs.frozen
class StageResult:
    """How a run of stages ended.

    Args:
        reason: how.
        detail: why, where it did not succeed.
        output: of the last stage that succeeded.
        outputs: by stage.
        trail: every attempt, oldest first.
        run_id: of the run; give it to `StageRunner.run` to go on after a crash.
    """

    reason: Termination
    detail: str
    output: Any
    outputs: Mapping[str, Any]
    trail: tuple[StageCompleted, ...]
    run_id: str

    @property
    def success(self) -> bool:
        """Whether the last stage has produced its output."""
        return self.reason is Termination.SUCCESS


@names_known()
@attrs.frozen(eq=False)
class StageRunner:
    """Runs stages in order: each with its own prompt, checks and transitions.

    Every stage is a prompt ``ns/key/stage`` of its own, so that configuration can enable
    providers for it. The plan of the run has a step for each stage.

    Args:
        adapter: evaluates the prompts; any host's.
        stages: in their order.
        ns, key: name the prompts and the run.
        objective: what the run is for.
        exit_signal: when it is done, in words.
        guardrails: limits over all stages.
        tools: tools that stages may use, as far as their guardrails allow.
        recorders: recorders of the run and of every stage, such as ``"jsonl-trace"``.
        max_attempts: attempts of stages over the whole run; the run fails after them.
        config: as for `Prompt`.

    Raises:
        ValueError: stages are declared wrongly, see `check_stages`.

    Example:
        >>> from trimtab import PromptResponse, Session
        >>> from trimtab_planning import StageDefinition, StageRunner
        >>> class Echo:
        ...     def evaluate(self, prompt, *, session, **limits):
        ...         return PromptResponse(f"did {prompt.name}")
        >>> stages = [StageDefinition("outline"), StageDefinition("draft")]
        >>> StageRunner(Echo(), stages, config=None).run("A letter.", session=Session()).output
        'did stages/main/draft'
    """

    adapter: Adapter
    stages: Mapping[str, StageDefinition] = attrs.field(converter=check_stages)
    ns: str = "stages"
    key: str = "main"
    objective: str = attrs.field(default="", kw_only=True)
    exit_signal: str = attrs.field(default="", kw_only=True)
    guardrails: Guardrails = attrs.field(factory=Guardrails, converter=as_guardrails, kw_only=True)
    tools: tuple[Tool[Any, Any], ...] = attrs.field(default=(), converter=tuple, kw_only=True)
    recorders: tuple[Any, ...] = attrs.field(default=(), converter=tuple, kw_only=True)
    max_attempts: int = attrs.field(default=50, validator=attrs.validators.ge(1), kw_only=True)
    config: Any = attrs.field(default="auto", kw_only=True)

    def run(
        self,
        given: Any = None,
        *,
        session: Session,
        run_id: str | None = None,
        deadline: Deadline | None = None,
        budget: Budget | None = None,
        heartbeat: Heartbeat | None = None,
        should_stop: Callable[[], bool] = lambda: False,
    ) -> StageResult:
        """Run the stages to their end.

        Args:
            given: input of the first stage.
            session: where everything is recorded.
            run_id: of an earlier run in the session, to go on after its last stage.
            deadline, budget, heartbeat: of each evaluation; the budget's tokens are those of
                all stages together.
            should_stop: asked before each attempt; ends the run as `Termination.MANUAL_STOP`.

        Returns:
            how it ended, whether it succeeded or not. An error of trimtab is a failure of its
            stage; whatever else the adapter raises passes through, after the end of the run was
            recorded.
        """
        limits: dict[str, Any] = {"session": session, "deadline": deadline, "heartbeat": heartbeat}
        with self._opened(given, session, run_id) as flow:
            for attempt, prompt in self._attempts(flow, should_stop):
                adapter = attempt.stage.adapter or self.adapter
                try:
                    response = adapter.evaluate(
                        prompt, budget=self._budget(attempt, flow, budget), **limits
                    )
                except TrimtabError as error:
                    flow.failed(attempt, prompt, error)
                else:
                    flow.finish(attempt, prompt, response)
            return self._result(flow)

    async def arun(
        self,
        given: Any = None,
        *,
        session: Session,
        run_id: str | None = None,
        deadline: Deadline | None = None,
        budget: Budget | None = None,
        heartbeat: Heartbeat | None = None,
        should_stop: Callable[[], bool] = lambda: False,
    ) -> StageResult:
        """As `run`, without blocking the event loop."""
        limits: dict[str, Any] = {"session": session, "deadline": deadline, "heartbeat": heartbeat}
        with self._opened(given, session, run_id) as flow:
            for attempt, prompt in self._attempts(flow, should_stop):
                adapter = attempt.stage.adapter or self.adapter
                try:
                    response = await adapter.aevaluate(
                        prompt, budget=self._budget(attempt, flow, budget), **limits
                    )
                except TrimtabError as error:
                    await asyncio.to_thread(flow.failed, attempt, prompt, error)
                else:
                    await asyncio.to_thread(flow.finish, attempt, prompt, response)
            return self._result(flow)

    @contextmanager
    def _opened(self, given: Any, session: Session, run_id: str | None) -> Iterator[StageFlow]:
        policy: Prompt[Any] = Prompt(
            self.ns, self.key, recorders=self.recorders, config=self.config
        )
        run = session.open_run(policy, run_id=run_id)
        flow = StageFlow(
            self.stages,
            run,
            guardrails=self.guardrails,
            given=given,
            max_attempts=self.max_attempts,
        )
        StagePlan(PlanBook.of(run), self.stages).author(self.objective, self.exit_signal)
        flow.resume()
        try:
            yield flow
        except BaseException as error:
            by_hand = not isinstance(error, Exception)
            reason = Termination.MANUAL_STOP if by_hand else Termination.FAILED
            flow.stop(reason, f"{type(error).__name__}: {error}")
            raise
        finally:
            detail = f": {flow.detail}" if flow.detail else ""
            run.close(f"{flow.ended or Termination.FAILED}{detail}")

    def _attempts(
        self, flow: StageFlow, should_stop: Callable[[], bool]
    ) -> Iterator[tuple[Attempt, Prompt[Any]]]:
        while True:
            if flow.ended is None and should_stop():
                flow.stop(Termination.MANUAL_STOP, "asked to stop")
            attempt = flow.begin(self._prompt_name)
            if attempt is None:
                return
            yield attempt, self._prompt(attempt)

    def _prompt(self, attempt: Attempt) -> Prompt[Any]:
        """Return the prompt of one attempt."""
        stage, template = attempt.stage, attempt.stage.instructions
        tools = [*stage.guardrails.allowed(self.guardrails.allowed((*self.tools, *stage.tools)))]
        tools += [attempt.report.tool()] if stage.reports else []
        sections = list(self._sections(attempt))
        if not isinstance(template, PromptTemplate):
            sections.insert(0, _static("instructions", stage.name, template or stage.name))
            key = f"{self.key}/{stage.name}"
            return Prompt(
                PromptTemplate(
                    self.ns,
                    key,
                    sections,
                    tools=tools,
                    recorders=self.recorders,
                    output_type=stage.output,
                ),
                config=self.config,
            )
        own = stage.guardrails.allowed(self.guardrails.allowed(template.tools))
        made = attrs.evolve(
            template,
            sections=(*template.sections, *sections),
            tools=(*own, *tools),
            recorders=(*template.recorders, *self.recorders),
            output_type=stage.output,
        )
        takes = any(section.params_type is type(attempt.given) for section in template.sections)
        return Prompt(made, config=self.config).bind(*([attempt.given] if takes else []))

    def _sections(self, attempt: Attempt) -> Iterator[MarkdownSection[Any]]:
        stage = attempt.stage
        order = (name for name, known in self.stages.items() if not known.spare)
        lines = [f"Stage {stage.name!r} of: {' -> '.join(order)}"]
        lines += [f"- {line}" for line in (*self.guardrails.lines(), *stage.guardrails.lines())]
        lines += [f"Hand over: {stage.handoff}"] if stage.handoff else []
        yield _static("stage", "Stage", "\n".join(lines))
        if attempt.given is not None:
            yield _static("stage-input", "Input", as_text(attempt.given))
        if attempt.error:
            text = f"Do it differently. What went wrong: {shorten(attempt.error, LONGEST_ERROR)}"
            yield _static("stage-error", "Previous attempt", text)

    def _prompt_name(self, stage: StageDefinition) -> str:
        if isinstance(stage.instructions, str):
            return f"{self.ns}/{self.key}/{stage.name}"
        return stage.instructions.name

    def _budget(self, attempt: Attempt, flow: StageFlow, budget: Budget | None) -> Budget | None:
        """Return the tightest of the stage's, the policy's and the caller's limits."""
        totals = (self.guardrails.max_tokens, budget.max_total_tokens if budget else None)
        left = [max(total - flow.tokens, 1) for total in totals if total is not None]
        own = attempt.stage.guardrails.max_tokens
        known = left if own is None else [*left, own]
        if not known:
            return budget
        return attrs.evolve(budget or Budget(), max_total_tokens=min(known))

    def _result(self, flow: StageFlow) -> StageResult:
        return StageResult(
            flow.ended or Termination.FAILED,
            flow.detail,
            flow.last_output,
            dict(flow.outputs),
            flow.trail,
            flow.run_id,
        )


def _static(key: str, title: str, text: str) -> MarkdownSection[Any]:
    return MarkdownSection(key=key, title=title, template=text.replace("$", "$$"))
