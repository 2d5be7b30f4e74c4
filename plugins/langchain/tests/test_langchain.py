"""Agents of LangChain, with a scripted service: guided, and otherwise as without trimtab."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import attrs
import pytest

from trimtab import (
    DecisionPoint,
    FeedbackProviderConfig,
    FeedbackTrigger,
    Outcome,
    Prompt,
    Session,
    TaskCompletionResult,
    ToolInvoked,
)
from trimtab.events import RunClosed, UserMessage
from trimtab_test_servers import Call, OpenAIServer, Turn, say
from trimtab_testing import Checker, Commentator, Speaker

pytest.importorskip("langchain.agents")
pytest.importorskip("langchain_openai")
pytestmark = [
    pytest.mark.e2e,
    pytest.mark.filterwarnings("default"),  # those of the clients
]

THREAD = {"configurable": {"thread_id": "t"}}
PICTURE = [
    {"type": "text", "text": "a picture"},
    {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}},
]


def look(path: str) -> str:
    """Look at a file."""
    return f"contents of {path}"


def picture(path: str) -> list[Any]:
    """Return a picture."""
    return PICTURE


def ask(path: str) -> str:
    """Ask the user."""
    from langgraph.types import interrupt

    return str(interrupt("May I?"))


def flaky() -> Callable[..., str]:
    tried: list[str] = []

    def fetch(path: str) -> str:
        """Fetch; fails at first."""
        tried.append(path)
        if len(tried) % 2:
            raise OSError("try again")
        return "fine"

    return fetch


@attrs.frozen
class Case:
    """A situation of an agent: what the model says, and what stands around the agent."""

    script: tuple[Turn, ...]
    tools: Callable[[], list[Any]] = lambda: [look]
    around: Callable[[], list[Any]] = list
    inside: Callable[[], list[Any]] = list
    resume: Any = None
    on_a_loop: bool = False
    structured: bool = False
    record: tuple[tuple[str, str], ...] = (("look", "ok"),)


def once(name: str, *then: Any, **arguments: Any) -> tuple[Turn, ...]:
    return (say(Call(name, arguments or {"path": "a"})), *(then or (say("End."),)))


def retries() -> list[Any]:
    from langchain.agents.middleware import ToolRetryMiddleware

    return [ToolRetryMiddleware(max_retries=2, initial_delay=0)]


def approval() -> list[Any]:
    from langchain.agents.middleware import HumanInTheLoopMiddleware

    return [HumanInTheLoopMiddleware(interrupt_on={"look": True})]


def todos() -> list[Any]:
    from langchain.agents.middleware import TodoListMiddleware

    return [TodoListMiddleware()]


def limit() -> list[Any]:
    from langchain.agents.middleware import ToolCallLimitMiddleware

    return [ToolCallLimitMiddleware(run_limit=1)]


TODOS = [{"content": "a", "status": "pending"}]
REJECTED = {"decisions": [{"type": "reject"}]}
CASES = {
    "plain": Case(once("look")),
    "on an event loop": Case(once("look"), on_a_loop=True),
    "a list of todos": Case(
        once("write_todos", todos=TODOS), around=todos, record=(("write_todos", "ok"),)
    ),
    "structured output": Case(
        (say(Call("Final", {"answer": 1})),), structured=True, record=(("Final", "ok"),)
    ),
    "a tool answers with an image": Case(
        once("picture"), tools=lambda: [picture], record=(("picture", "ok"),)
    ),
    "retries around it": Case(
        once("fetch"), tools=lambda: [flaky()], around=retries, record=(("fetch", "ok"),)
    ),
    "retries inside it": Case(
        once("fetch"), tools=lambda: [flaky()], inside=retries, record=(("fetch", "ok"),)
    ),
    "an interrupt in a tool": Case(
        once("ask"), tools=lambda: [ask], resume="yes", record=(("ask", "ok"),)
    ),
    "the user rejects a call": Case(
        once("look"), around=approval, resume=REJECTED, record=(("look", "denied"),)
    ),
    "the user rejects a call, guided outside": Case(
        once("look"), inside=approval, resume=REJECTED, record=(("look", "denied"),)
    ),
    "a limit of calls": Case(
        once("look", say(Call("look", {"path": "b"})), say("End.")),
        around=limit,
        record=(("look", "ok"), ("look", "denied")),
    ),
    "an unknown tool": Case(once("nope"), record=(("nope", "invalid"),)),
    "arguments that don't fit": Case(once("look", wrong=1), record=(("look", "invalid"),)),
    "arguments that are no JSON": Case(
        (say("Hm.", Call("look", raw="{broken")),), record=(("look", "invalid"),)
    ),
}


def built(server: OpenAIServer, tools: list[Any], middleware: Iterable[Any], **more: Any) -> Any:
    from langchain.agents import create_agent
    from langchain_openai import ChatOpenAI

    model = ChatOpenAI(model="m", base_url=server.base_url, api_key="x", max_retries=0)
    return create_agent(
        model, tools=tools, middleware=list(middleware), system_prompt="Be brief.", **more
    )


def guided(session: Session | None = None, **prompt: Any) -> Any:
    from trimtab_langchain import TrimtabMiddleware

    return TrimtabMiddleware(Prompt("agent", "main", config=None, **prompt), session, strict=True)


def play(case: Case, middle: list[Any]) -> tuple[list[bytes], Any]:
    """Run an agent through a situation; return the requests as sent, and its last message."""
    from langchain.agents.structured_output import ToolStrategy
    from langgraph.checkpoint.memory import InMemorySaver
    from langgraph.types import Command
    from pydantic import BaseModel

    class Final(BaseModel):
        answer: int

    with OpenAIServer(case.script) as server:
        agent = built(
            server,
            case.tools(),
            [*case.around(), *middle, *case.inside()],
            checkpointer=InMemorySaver(),
            response_format=ToolStrategy(Final) if case.structured else None,
        )
        for step in [{"messages": [("user", "Go.")]}, *filter(None, [case.resume])]:
            given = step if isinstance(step, dict) and "messages" in step else Command(resume=step)
            if case.on_a_loop:
                out = asyncio.run(agent.ainvoke(given, THREAD))
            else:
                out = agent.invoke(given, THREAD)
    return [normal(request.body) for request in server.requests], out["messages"][-1].text


def normal(body: bytes) -> bytes:
    """Return a request without the ids that the runtime makes up for each run."""
    return json.dumps(json.loads(body), sort_keys=True).encode()


@pytest.mark.parametrize("name", CASES)
def test_nothing_changes_where_nobody_speaks(name: str) -> None:
    case, session = CASES[name], Session()
    without = play(case, [])
    assert play(case, [guided(session)]) == without
    record = [(call.tool, call.outcome.value) for call in session[ToolInvoked].all()]
    assert record == list(case.record)
    assert [closed.reason for closed in session[RunClosed].all()] == ["completed"]


def test_guidance_stands_in_one_request_and_feedback_of_checkers_stays() -> None:
    done = Checker(
        answer=lambda context: (
            TaskCompletionResult.ok()
            if context.attempt
            else TaskCompletionResult.incomplete("Run the tests.")
        )
    )
    every = FeedbackProviderConfig(Commentator(), FeedbackTrigger(every_n_calls=2))
    speaker = Speaker(verdict=lambda context: context.tool_call_count == 2)
    session = Session()
    script = [
        say(Call("look", {"path": "a"}), Call("look", {"path": "b"})),
        say(Call("look", {"path": "c"})),
        say("Done."),
        say("Done."),
    ]
    middle = guided(
        session,
        guidance_providers=[speaker],
        feedback_providers=[every],
        completion_checkers=[done],
    )
    with OpenAIServer(script) as server:
        result = built(server, [look], [middle]).invoke({"messages": [("user", "Go.")]})
    sent = [request.json["messages"] for request in server.requests]
    assert [len(messages) for messages in sent] == [2, 6, 7, 9]
    assert sent[1][-1]["role"] == "user"
    assert "Look before you leap." in sent[1][-1]["content"]
    assert "2 calls" in sent[1][-1]["content"]
    assert sum("Look before" in json.dumps(messages) for messages in sent) == 1
    assert "Run the tests." in sent[3][-1]["content"]
    kept = [message.text for message in result["messages"]]
    assert not any("guidance" in text for text in kept)
    assert sum("Run the tests." in text for text in kept) == 1
    assert [closed.reason for closed in session[RunClosed].all()] == ["completed"]
    assert len(session[UserMessage]) == 1


def test_one_agent_serves_four_conversations_at_the_same_time() -> None:
    session = Session()
    middle = guided(session, guidance_providers=[Speaker(verdict=loops)])

    def answer(request: Any) -> Turn:
        body = request.json["messages"]
        made = sum(message["role"] == "tool" for message in body)
        user = next(message["content"] for message in body if message["role"] == "user")
        path = "same" if user == "0" else f"{user}-{made}"
        return say(Call("look", {"path": path})) if made < 4 else say(f"End of {user}.")

    with OpenAIServer(answer) as server:
        agent = built(server, [look], [middle])

        def converse(n: int) -> str:
            config = {"configurable": {"thread_id": f"t{n}"}}
            out = agent.invoke({"messages": [("user", str(n))]}, config)
            return str(out["messages"][-1].text)

        with ThreadPoolExecutor(4) as pool:
            assert list(pool.map(converse, range(4))) == [f"End of {n}." for n in range(4)]
    calls = session[ToolInvoked].all()
    assert len(calls) == 16
    assert all(call.params["path"][:1] in (call.run_id[-1], "s") for call in calls)
    spoken = [r.json["messages"] for r in server.requests if r.mentions("Look before")]
    assert spoken
    assert {messages[1]["content"] for messages in spoken} == {"0"}


def loops(context: Any) -> bool:
    calls = context.recent_tool_calls(3)
    return len(calls) == 3 and len({call.params["path"] for call in calls}) == 1


def test_without_a_thread_each_invocation_is_a_conversation() -> None:
    session = Session()
    with OpenAIServer([*once("look"), *once("look")]) as server:
        agent = built(server, [look], [guided(session)])
        for _ in range(2):
            out = agent.invoke({"messages": [("user", "Go.")]})
            assert set(out) == {"messages"}
    assert len(session.runs()) == 2


def test_a_conversation_goes_on_where_it_stood() -> None:
    from langgraph.checkpoint.memory import InMemorySaver

    session = Session()
    with OpenAIServer([*once("look"), *once("look", say("Two."))]) as server:
        agent = built(server, [look], [guided(session)], checkpointer=InMemorySaver())
        for text in ("Go.", "And now?"):
            out = agent.invoke({"messages": [("user", text)]}, THREAD)
    assert out["messages"][-1].text == "Two."
    assert [m.text for m in session[UserMessage].all()] == ["Go.", "And now?"]
    [run] = session.runs().values()
    assert run.calls == 2


@pytest.mark.parametrize("streamed", [False, True])
def test_a_tool_that_raises_is_on_record_with_its_error(streamed: bool) -> None:
    def burn(path: str) -> str:
        """Burn a file."""
        raise OSError("disk on fire")

    session = Session()
    middle = guided(session)
    with OpenAIServer(list(once("burn"))) as server:
        agent = built(server, [burn], [middle])
        given = {"messages": [("user", "Go.")]}
        with pytest.raises(OSError, match="disk on fire"):
            list(agent.stream(given)) if streamed else agent.invoke(given)
    middle.drivers.close("failed")
    [ended] = session[ToolInvoked].all()
    assert (ended.outcome, ended.error) == (Outcome.ERROR, "OSError: disk on fire")
    assert [closed.reason for closed in session[RunClosed].all()] == ["failed"]


@pytest.mark.asyncio
async def test_a_cancelled_call_is_interrupted() -> None:
    started = asyncio.Event()

    async def wait(path: str) -> str:
        """Wait for long."""
        started.set()
        await asyncio.sleep(30)
        return "never"

    session = Session()
    with OpenAIServer(list(once("wait"))) as server:
        agent = built(server, [wait], [guided(session)])
        task = asyncio.create_task(agent.ainvoke({"messages": [("user", "Go.")]}, THREAD))
        await started.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert [call.outcome for call in session[ToolInvoked].all()] == [Outcome.INTERRUPTED]


def test_a_summary_in_the_place_of_old_messages_is_a_compaction() -> None:
    from langchain.agents.middleware import SummarizationMiddleware
    from langgraph.checkpoint.memory import InMemorySaver

    from trimtab.events import CompactionHappened

    session = Session()
    summed = [say("They talked.")]
    with OpenAIServer([*once("look"), *summed, say("Two.")]) as server:
        from langchain_openai import ChatOpenAI

        model = ChatOpenAI(model="m", base_url=server.base_url, api_key="x", max_retries=0)
        around = SummarizationMiddleware(model, trigger=("messages", 5), keep=("messages", 1))
        agent = built(server, [look], [around, guided(session)], checkpointer=InMemorySaver())
        for text in ("Go.", "And now?"):
            agent.invoke({"messages": [("user", text)]}, THREAD)
    [compaction] = session[CompactionHappened].all()
    assert "They talked." in compaction.summary


def test_subagents_of_deepagents_have_runs_of_their_own() -> None:
    deepagents = pytest.importorskip("deepagents")
    from langchain_openai import ChatOpenAI

    session = Session()
    speaker = Speaker(verdict=loops)
    middle = guided(session, guidance_providers=[speaker])
    task = Call("task", {"description": "look around", "subagent_type": "scout"})
    script = [
        say(Call("look", {"path": "main"})),
        say(task),
        *(say(Call("look", {"path": "same"})) for _ in range(3)),
        say("I have looked."),
        say("End."),
    ]
    with OpenAIServer(script) as server:
        model = ChatOpenAI(model="m", base_url=server.base_url, api_key="x", max_retries=0)
        scout = {
            "name": "scout",
            "description": "Looks.",
            "system_prompt": "You look.",
            "tools": [look],
            "middleware": [middle],
        }
        agent = deepagents.create_deep_agent(
            model, tools=[look], middleware=[middle], subagents=[scout]
        )
        out = agent.invoke({"messages": [("user", "Go.")]}, THREAD)
    assert out["messages"][-1].text == "End."
    runs = {call.agent_id is None: [] for call in session[ToolInvoked].all()}
    for call in session[ToolInvoked].all():
        runs[call.agent_id is None].append(call.tool)
    assert runs == {True: ["look", "task"], False: ["look"] * 3}
    spoken = [n for n, r in enumerate(server.requests) if r.mentions("Look before")]
    assert spoken == [5]
    assert len(session.runs()) == 2


def test_a_provider_that_hangs_or_raises_costs_its_time_and_no_more() -> None:
    import time

    session = Session()
    slow = Speaker(text=lambda context: time.sleep(5) or "late")
    broken = Speaker(name="broken", category="x", verdict=lambda context: 1 / 0)
    from trimtab_langchain import TrimtabMiddleware

    prompt = Prompt("agent", "main", guidance_providers=[slow, broken], config=None)
    with OpenAIServer(list(once("look"))) as server:
        agent = built(server, [look], [TrimtabMiddleware(prompt, session, timeout=0.2)])
        out = agent.invoke({"messages": [("user", "Go.")]}, THREAD)
    assert out["messages"][-1].text == "End."
    assert not any(request.mentions("guidance") for request in server.requests)


def test_what_goes_wrong_in_trimtab_does_not_reach_the_agent(caplog: Any) -> None:
    from trimtab_langchain import TrimtabMiddleware

    def broken(conversation: str) -> Session:
        raise RuntimeError("no session")

    with OpenAIServer(list(once("look"))) as server:
        middle = TrimtabMiddleware(Prompt("agent", "main", config=None), broken)
        out = built(server, [look], [middle]).invoke({"messages": [("user", "Go.")]}, THREAD)
    assert out["messages"][-1].text == "End."
    assert "no session" in caplog.text


def test_providers_know_the_tools_of_the_agent() -> None:
    known: list[Any] = []

    def note(context: Any) -> bool:
        known.append((context.tools, context.tool_descriptions))
        return False

    points = [DecisionPoint.PRE_TOOL_SELECTION]
    middle = guided(guidance_providers=[Speaker(verdict=note, decision_points=points)])
    with OpenAIServer(list(once("look"))) as server:
        built(server, [look, picture], [middle]).invoke({"messages": [("user", "Go.")]})
    tools, descriptions = known[0]
    assert tools == {"look", "picture"}
    assert descriptions["look"].endswith("Look at a file.")


@pytest.mark.parametrize("turns", [1, 4])
def test_the_recursion_limit_of_the_page_is_the_least_that_suffices(turns: int) -> None:
    from langgraph.errors import GraphRecursionError

    def asked(limit: int) -> Any:
        calls = [say(Call("look", {"path": str(turn)})) for turn in range(turns - 1)]
        with OpenAIServer([*calls, say("End.")]) as server:
            agent = built(server, [look], [guided()])
            return agent.invoke({"messages": [("user", "Go.")]}, {"recursion_limit": limit})

    assert asked(3 * turns + 2)["messages"][-1].text == "End."
    with pytest.raises(GraphRecursionError):
        asked(3 * turns)
