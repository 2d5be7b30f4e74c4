"""The example host for LangChain: an agent of the real runtime, with a scripted model."""

from __future__ import annotations

import contextlib
import runpy
from pathlib import Path
from typing import Any

import pytest

from trimtab import (
    FeedbackProviderConfig,
    FeedbackTrigger,
    Outcome,
    Prompt,
    Session,
    TaskCompletionResult,
    ToolInvoked,
)
from trimtab.events import RunClosed
from trimtab.hosting import Drivers
from trimtab_testing import Checker, Commentator, Speaker

pytest.importorskip("langchain.agents")
pytestmark = pytest.mark.e2e

EXAMPLE = Path(__file__).parent / "examples" / "langchain_host.py"


@pytest.fixture
def host() -> dict[str, Any]:
    return runpy.run_path(str(EXAMPLE))


def scripted(*turns: Any) -> Any:
    """Return a chat model of LangChain that answers with these messages, and keeps requests."""
    from langchain_core.language_models.chat_models import BaseChatModel
    from langchain_core.messages import AIMessage
    from langchain_core.outputs import ChatGeneration, ChatResult

    class Model(BaseChatModel):
        requests: list[Any] = []  # noqa: RUF012 - a field of pydantic, copied for each model

        @property
        def _llm_type(self) -> str:
            return "scripted"

        def bind_tools(self, tools: Any, **_: Any) -> Any:
            return self

        def _generate(self, messages: Any, *_: Any, **__: Any) -> Any:
            self.requests.append(list(messages))
            turn = turns[len(self.requests) - 1]
            message = AIMessage(turn) if isinstance(turn, str) else AIMessage("", tool_calls=turn)
            return ChatResult(generations=[ChatGeneration(message=message)])

    return Model()


def call(id_: str, **args: Any) -> dict[str, Any]:
    return {"name": "look", "args": args, "id": id_}


def converse(host: dict[str, Any], model: Any, tools: list[Any], drivers: Drivers) -> Any:
    from langchain.agents import create_agent
    from langgraph.checkpoint.memory import InMemorySaver

    guided = host["Guided"](drivers)
    agent = create_agent(model, tools=tools, middleware=[guided], checkpointer=InMemorySaver())
    config = {"configurable": {"thread_id": "t"}}
    with contextlib.closing(drivers):
        return agent.invoke({"messages": [{"role": "user", "content": "Go."}]}, config)


def test_an_agent_of_langchain_is_guided(host: dict[str, Any]) -> None:
    def look(path: str) -> str:
        """Look at a file."""
        return f"contents of {path}"

    every = FeedbackProviderConfig(Commentator(), FeedbackTrigger(every_n_calls=2))
    done = Checker(
        answer=lambda context: (
            TaskCompletionResult.ok()
            if context.attempt
            else TaskCompletionResult.incomplete("Run the tests.")
        )
    )
    prompt = Prompt(
        "agent",
        "main",
        guidance_providers=[Speaker(verdict=lambda context: context.tool_call_count == 2)],
        feedback_providers=[every],
        completion_checkers=[done],
        config=None,
    )
    session = Session()
    model = scripted(
        [call("c1", path="a"), call("c2", path="b")], [call("c3", path="c")], "Done.", "Done."
    )
    drivers = Drivers(prompt, session, host["HOST"], strict=True)
    result = converse(host, model, [look], drivers)
    assert [len(request) for request in model.requests] == [1, 5, 6, 8]
    said = model.requests[1][-1].text
    assert '<guidance source="speaker">Look before you leap.</guidance>' in said
    assert "2 calls" in said
    assert not any("guidance" in message.text for message in result["messages"])
    assert "Run the tests." in model.requests[3][-1].text
    assert [call.outcome for call in session[ToolInvoked].all()] == [Outcome.OK] * 3
    assert [closed.reason for closed in session[RunClosed].all()] == ["completed"]


def test_a_tool_that_raises_is_on_record_and_raises(host: dict[str, Any]) -> None:
    def look(path: str) -> str:
        """Look at a file."""
        raise OSError("disk on fire")

    session = Session()
    drivers = Drivers(Prompt("agent", "main", config=None), session, host["HOST"], strict=True)
    with pytest.raises(OSError, match="disk on fire"):
        converse(host, scripted([call("c1", path="a")]), [look], drivers)
    [ended] = session[ToolInvoked].all()
    assert ended.outcome is Outcome.INTERRUPTED, "a chat sees no tools: nobody answered"


def test_the_example_is_short() -> None:
    lines = EXAMPLE.read_text().split("class Guided", 1)[1].splitlines()
    assert len([line for line in lines if line.strip()]) <= 40
