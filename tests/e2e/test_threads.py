"""What users of frameworks asked for in public threads, played on the framework that each is about.

The model is scripted and does not obey, so this shows that words arrive, and when; not that a model
follows them. ``python tests/e2e/test_threads.py`` prints the table that stands in the reference.
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
from collections.abc import Callable, Iterable
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import attrs
import pytest

from trimtab import Prompt, Session, load_configuration
from trimtab.hosting import AgentStopped
from trimtab_testing import Ask, Played, Says, Service, Task

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.filterwarnings("default"),  # those of the clients
]

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "hosts.md"
NUDGES = 'guidance = ["doom-loop", "diagnostic-signal"]'
STOPS = 'guidance = [{ use = "doom-loop", stop_after = 2, cooldown_turns = 1 }]'
LEFT = 'feedback = ["deadline-feedback"]'
CALLS_LEFT = f"{LEFT}\nbudget = {{ max_calls = 8 }}"
PLANS = 'completion = ["plan-based-checker"]'
RULES = """[[prompts."agent/main".guidance]]
use = "reminder"
max_per_run = 100
options = { rules = [{ text = "Remember the goal.", every_turns = 1, first_after = 0 }] }"""

SAYS = {
    NUDGES: "doom-loop",
    PLANS: "plan-based-checker",
    RULES: "reminder",
    STOPS: "doom-loop with `stop_after = 2`",
}


def bash(command: str) -> str:
    """Run a command."""
    return f"ModuleNotFoundError: no module named foo ({command})"


def search(query: str) -> str:
    """Search the index."""
    if "es_index" in query:
        raise ValueError("missing required argument: index_pattern")
    return "1. Intro to widgets\n2. Widget FAQ\n3. Pricing"


def search_anew(query: str) -> str:
    """Search; new passages each time."""
    return " ".join(f"{query}{n}" for n in range(20))


def fetch(url: str) -> str:
    """Fetch candidates."""
    return f'[{{"title": "Home", "url": "{url}"}}, {{"title": "Blog", "url": "{url}/blog"}}]'


def insert(amount: int) -> str:
    """Insert a record."""
    return "SUCCESS: Transaction recorded"


def write_todos(todos: list[dict[str, str]]) -> str:
    """Write the plan."""
    return f"Updated todo list to {todos}"


def again(times: int, tool: str, **params: Any) -> list[Says]:
    return [Says(calls=(Ask(tool, params),)) for _ in range(times)]


def in_turn(tool: str, name: str, values: Iterable[Any]) -> list[Says]:
    return [Says(calls=(Ask(tool, {name: value}),)) for value in values]


WORDS = [
    "widgets",
    "widget overview",
    "what is a widget",
    "widget definition",
    "define widget",
    "widget meaning",
    "widgets explained",
    "widget summary",
    "about widgets",
    "widget guide",
]
OPEN = [{"content": "search", "status": "completed"}, {"content": "report", "status": "pending"}]


async def deep_agent(task: Task) -> Played:
    """An agent of deepagents that keeps todos, which it has to be given since 0.7."""
    from deepagents import create_deep_agent
    from langchain.agents.middleware import TodoListMiddleware

    from trimtab_langchain import TrimtabMiddleware
    from trimtab_langchain._conformance import model_of

    guided = TrimtabMiddleware(task.prompt, task.session, strict=True)
    agent = create_deep_agent(
        model_of(task), tools=task.tools, middleware=[guided, TodoListMiddleware()]
    )
    out = await agent.ainvoke({"messages": [("user", task.user[0])]})
    return Played(out["messages"][-1].text)


async def through_proxy(task: Task) -> Played:
    """A loop on the client of OpenAI, as the AI SDK sends its requests, through the proxy."""
    from openai import AsyncOpenAI

    from trimtab_proxy import Guide
    from trimtab_proxy._server import ProxyServer
    from trimtab_proxy._upstreams import Upstream

    tools: Any = [
        {"type": "function", "function": {"name": tool.__name__, "description": tool.__doc__}}
        for tool in task.tools
    ]
    messages: list[Any] = [{"role": "user", "content": task.user[0]}]
    upstreams = {"openai": Upstream(f"{task.url}/v1")}
    with ProxyServer(Guide(task.prompt), upstreams) as proxy:
        async with AsyncOpenAI(base_url=f"{proxy.base_url}/openai", api_key="x") as client:
            while True:
                given: Any = {"model": "m", "messages": messages, "tools": tools}
                said = (await client.chat.completions.create(**given)).choices[0].message
                messages.append(said.model_dump(exclude_none=True))
                for call in said.tool_calls or ():
                    [tool] = [t for t in task.tools if t.__name__ == call.function.name]
                    result = tool(**json.loads(call.function.arguments))
                    messages.append({"role": "tool", "tool_call_id": call.id, "content": result})
                if not said.tool_calls:
                    return Played(said.content or "")


def kit(package: str) -> Callable[[Task], Any]:
    """Return what plays a task with the agents of a package's conformance kit."""

    async def play(task: Task) -> Played:
        played: Played = await import_module(package).KIT.play(task)
        return played

    return play


@attrs.frozen
class Thread:
    """A public thread, and what its agent did.

    Args:
        links: owner, repository and number of each issue; "#" before the number.
        asks: what users ask for there.
        framework: what it is played on.
        play: an agent of it.
        script: what its model says, before it ends.
        tools: those of the agent.
        table: the prompt's, in TOML.
        found: numbers of the requests that carry words, and how many there are.
        ends: whether nudges without effect end the agent.
        max_turns: the limit of turns that the framework is given.
    """

    links: str
    asks: str
    framework: str
    play: Callable[[Task], Any]
    script: list[Says]
    tools: list[Callable[..., Any]]
    table: str
    found: str
    ends: bool = False
    max_turns: int | None = None

    @property
    def when(self) -> str:
        """What happens, for the table."""
        numbers, _, total = self.found.rpartition(" of ")
        if not numbers:
            return f"nothing in {total} requests"
        what = f"in request {numbers} of {total}"
        return f"{what}; then it ends, with a summary" if self.ends else what

    def row(self) -> str:
        """Return the line of the table."""
        links = ", ".join(
            f"[{link.rpartition('/')[2]}](https://github.com/{link.replace('#', '/issues/')})"
            for link in self.links.split()
        )
        said = SAYS.get(self.table, "deadline-feedback")
        return f"| {links} | {self.asks} | {self.framework} | {said} | {self.when} |"


LANGCHAIN = ("LangChain", kit("trimtab_langchain._conformance"))
OPENAI_AGENTS = ("OpenAI Agents", kit("trimtab_openai_agents._conformance"))
PYDANTIC_AI = ("Pydantic AI", kit("trimtab_pydantic_ai._conformance"))
ADK = ("ADK", kit("trimtab_adk._conformance"))
STRANDS = ("Strands", kit("trimtab_strands._conformance"))
DEEPAGENTS = ("deepagents", deep_agent)
PROXY = ("proxy", through_proxy)

BATCH = Says(calls=(Ask("bash", {"command": "ls"}), Ask("search", {"query": "x"})))
THREADS = [
    Thread("langchain-ai/langgraph#6731", "the same call until the recursion limit", *LANGCHAIN,
        again(10, "bash", command="ls"), [bash], NUDGES, "4, 7, 10 of 11"),
    Thread("langchain-ai/langgraph#6731", "the same, ended where nudges have no effect", *LANGCHAIN,
        again(10, "bash", command="ls"), [bash], STOPS, "4, 5 of 5", ends=True),
    Thread("langchain-ai/langgraph#6889", "loop detection, as a middleware", *LANGCHAIN,
        [BATCH, *again(8, "bash", command="ls")], [bash, search], NUDGES, "5, 8 of 10"),
    Thread("langchain-ai/langgraph#5099", "the same wrong argument", *LANGCHAIN,
        again(8, "search", query="es_index"), [search], NUDGES, "4, 7 of 9"),
    Thread("bytedance/deer-flow#1055", "a warning at the third same call", *LANGCHAIN,
        again(8, "bash", command="python -c 'import foo'"), [bash], NUDGES, "4, 7 of 9"),
    Thread("langchain-ai/memory-agent-js#4", "the same insertion again", *LANGCHAIN,
        again(8, "insert", amount=3), [insert], NUDGES, "5, 8 of 9"),
    Thread("langchain-ai/deepagents#63", "answers while todos are open", *DEEPAGENTS,
        again(1, "write_todos", todos=OPEN), [search], PLANS, "3, 4, 5 of 5"),
    Thread("ai-forever/langchain-gigachat#69", "an empty plan for ever", *DEEPAGENTS,
        again(8, "write_todos", todos=[]), [search], NUDGES, "4, 7 of 9"),
    Thread("langchain-ai/langchain#35766", "how many tool calls are left", *LANGCHAIN,
        in_turn("search_anew", "query", WORDS[:7]), [search_anew], CALLS_LEFT, "5, 7 of 8"),
    Thread("pydantic/pydantic-ai#4359", "reminders of the budget of tools", *PYDANTIC_AI,
        in_turn("search_anew", "query", WORDS[:7]), [search_anew], CALLS_LEFT, "5, 7 of 8"),
    Thread("openai/openai-agents-python#844", "turns left, then a final answer", *OPENAI_AGENTS,
        in_turn("search_anew", "query", WORDS[:9]), [search_anew], LEFT,
        "6, 9, 10 of 10", max_turns=10),
    Thread("openai/openai-agents-python#191", "other words, the same passages", *OPENAI_AGENTS,
        in_turn("search", "query", WORDS), [search], NUDGES, "5, 8, 11 of 11", max_turns=12),
    Thread("openai/openai-agents-python#191", "other words, new passages", *OPENAI_AGENTS,
        in_turn("search_anew", "query", WORDS), [search_anew], NUDGES, " of 11", max_turns=12),
    Thread("openai/openai-agents-js#512", "fetches the same again", *OPENAI_AGENTS,
        again(8, "fetch", url="x.example"), [fetch], NUDGES, "4, 7 of 9"),
    Thread("pydantic/pydantic-ai-harness#130", "two calls in turn", *PYDANTIC_AI,
        [*again(1, "bash", command="ls"), *again(1, "search", query="x")] * 5,
        [bash, search], NUDGES, "6, 9 of 11"),
    Thread("pydantic/pydantic-ai-harness#414 mastra-ai/mastra#18901",
        "a rule with each request, never kept", *PYDANTIC_AI,
        in_turn("search_anew", "query", WORDS[:4]), [search_anew], RULES, "1, 2, 3, 4, 5 of 5"),
    Thread("vercel/ai#17606 vercel/ai#3470", "detection of the same call", *PROXY,
        again(8, "bash", command="ls"), [bash], NUDGES, "4, 7 of 9"),
    Thread("google/adk-python#1555", "insertions for ever", *ADK,
        again(8, "insert", amount=3), [insert], NUDGES, "5, 8 of 9"),
    Thread("google/adk-python#3413", "never gives its output", *ADK,
        again(8, "search", query="x"), [search], NUDGES, "4, 7 of 9"),
    Thread("strands-agents/harness-sdk#4262", "a repeated batch, then an end", *STRANDS,
        [BATCH] * 8, [bash, search], STOPS, "4, 5 of 5", ends=True),
    Thread("double16/Cyber-AutoAgent-ng#89", "stops while tasks are left", *STRANDS,
        again(1, "write_todos", todos=OPEN), [write_todos], PLANS, "3, 4, 5 of 5"),
]  # fmt: skip
"""The thread on CrewAI is left out: its client can't be installed beside those of the others."""

MARKS = re.compile(rb'<(?:guidance|feedback) source=\\"')


def played(thread: Thread) -> tuple[str, bool]:
    """Play a thread; return the requests that carry words, and whether nudges ended the agent."""
    with TemporaryDirectory() as folder, Service([*thread.script, *[Says("End.")] * 4]) as service:
        file = Path(folder) / "trimtab.toml"
        head = "" if thread.table == RULES else '[prompts."agent/main"]\n'
        file.write_text(head + thread.table, encoding="utf-8")
        prompt = Prompt("agent", "main", config=load_configuration(file))
        task = Task(prompt, Session(), service.url, thread.tools, max_turns=thread.max_turns)
        try:
            text = asyncio.run(asyncio.wait_for(thread.play(task), 60)).text
        except AgentStopped as stopped:
            text = str(stopped)
        new = [0, *(len(MARKS.findall(body)) for body in service.bodies)]
    # What the gate says stays in the conversation: it counts where it is new.
    kept = thread.table == PLANS
    numbers = [n for n in range(1, len(new)) if new[n] > (new[n - 1] if kept else 0)]
    found = f"{', '.join(map(str, numbers))} of {len(service.bodies)}"
    return found, text.startswith("Stopped:")


@pytest.mark.parametrize("thread", THREADS, ids=lambda thread: f"{thread.links}: {thread.asks}")
def test_the_words_arrive(thread: Thread) -> None:
    assert played(thread) == (thread.found, thread.ends)


def test_the_reference_has_the_table() -> None:
    rows = "\n".join(thread.row() for thread in THREADS)

    assert rows in PAGE.read_text(encoding="utf-8"), f"the rows should be\n{rows}"


if __name__ == "__main__":
    for one in THREADS:
        told = "\t".join(map(str, (*played(one), one.links, one.asks)))
        sys.stdout.write(f"{told}\n")
