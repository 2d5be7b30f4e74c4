"""A worker whose model is a script: no service and no key is needed.

Put an adapter for your runtime in its place, e.g. ``OpenAIAdapter("gpt-5")`` of trimtab-openai.
"""

from typing import Any

import attrs

from trimtab import (
    Adapter,
    Budget,
    Deadline,
    Heartbeat,
    MarkdownSection,
    Prompt,
    PromptResponse,
    PromptTemplate,
    Resources,
    Session,
    Tool,
    ToolCall,
    ToolContext,
    ToolExecutor,
    ToolResult,
)
from trimtab_worker import LeaseExtenderConfig, MainLoopConfig, WorkerSetup


@attrs.frozen
class Question:
    """What a message holds.

    Args:
        text: of which the words are counted.
    """

    text: str


@attrs.frozen
class Text:
    """Parameters of the tool."""

    text: str


def count_words(params: Text, *, context: ToolContext) -> ToolResult[int]:
    """Count the words, beating after each hundred: the lease lasts while work goes on."""
    words = 0
    for words, _ in enumerate(params.text.split(), start=1):
        if words % 100 == 0:
            context.beat()
    return ToolResult.ok(words, message=f"{words} words")


TEMPLATE = PromptTemplate(
    ns="example",
    key="words",
    sections=[MarkdownSection(key="task", title="Task", template="Count the words.")],
    tools=[Tool("count_words", "Counts words.", Text, count_words)],
    feedback_providers=["lease"],
)


class ScriptedModel(Adapter):
    """Calls the tool once, and answers with its result."""

    def evaluate(
        self,
        prompt: Prompt[Any],
        *,
        session: Session,
        deadline: Deadline | None = None,
        budget: Budget | None = None,
        heartbeat: Heartbeat | None = None,
    ) -> PromptResponse[Any]:
        """Run the prompt to its end, as every adapter does."""
        run = session.open_run(prompt, deadline=deadline, budget=budget)
        call = ToolCall("count_words", {"text": prompt.resources.get(Question).text}, "call-1")
        executor = ToolExecutor(run, run.render().tools, heartbeat=heartbeat)
        run.model_responded(tool_calls=[call])
        answer = executor.execute(call)
        run.model_responded(text=answer.text)
        run.close("completed")
        return PromptResponse(text=answer.text)

    async def aevaluate(self, prompt: Prompt[Any], **limits: Any) -> PromptResponse[Any]:
        """Run it without a thread: a script does not wait."""
        return self.evaluate(prompt, **limits)


def prepare(question: Question) -> tuple[Prompt[Any], Session]:
    """Return the prompt and a fresh session for one message."""
    return Prompt(TEMPLATE).bind(resources=Resources.of(question)), Session()


def setup() -> WorkerSetup:
    """Return what `trimtab worker` needs."""
    return WorkerSetup(
        adapter=ScriptedModel(),
        prepare=prepare,
        request=Question,
        config=MainLoopConfig(
            visibility_timeout=300,
            lease_extender=LeaseExtenderConfig(interval=60, extension=300),
            longest_silence=120,
        ),
    )
