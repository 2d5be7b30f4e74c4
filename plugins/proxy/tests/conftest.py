"""Conversations of a scripted agent, told in the form of each API."""

import json
from collections.abc import Callable

import attrs
import pytest

from trimtab import (
    ClassificationResult,
    DecisionPoint,
    GuidanceInjection,
    GuidanceProviderConfig,
    Prompt,
)
from trimtab_proxy._guide import Guide
from trimtab_proxy._items import items_of
from trimtab_proxy._service import (
    ANTHROPIC_MESSAGES,
    CHAT_COMPLETIONS,
    GENERATE_CONTENT,
    RESPONSES,
)

from .programs import Ground, record


@attrs.frozen
class Speaker:
    """Speaks whenever the run has seen so many calls, each time in other words."""

    calls: tuple = (2,)
    decision_points: tuple = (DecisionPoint.PRE_TOOL_SELECTION,)
    name: str = "speaker"
    category: str = "test"

    def classify(self, *, context):
        return ClassificationResult(relevant=context.tool_call_count in self.calls)

    def provide(self, *, context):
        return GuidanceInjection("heed", f"Heed this after {context.tool_call_count} calls.")


@attrs.frozen
class Said:
    """What the user says."""

    text: str


@attrs.frozen
class Answered:
    """What the model says, and the calls that it makes: ids and commands."""

    text: str = ""
    calls: tuple = ()


@attrs.frozen
class Ran:
    """What a tool answers."""

    call_id: str
    text: str = "1 failed"
    failed: bool = True


def step(number, text="1 failed"):
    """One call and its answer."""
    call_id = f"call_{number}"
    return [Answered("", ((call_id, f"pytest -x {number}"),)), Ran(call_id, text)]


def anthropic(story):
    messages = []
    for part in story:
        match part:
            case Said(text):
                messages.append({"role": "user", "content": [{"type": "text", "text": text}]})
            case Answered(text, calls):
                blocks = [{"type": "text", "text": text}] if text else []
                blocks += [
                    {"type": "tool_use", "id": i, "name": "Bash", "input": {"command": c}}
                    for i, c in calls
                ]
                messages.append({"role": "assistant", "content": blocks})
            case Ran(call_id, text, failed):
                block = {"type": "tool_result", "tool_use_id": call_id, "content": text}
                messages.append({"role": "user", "content": [{**block, "is_error": failed}]})
    tools = [{"name": "Bash", "input_schema": {"type": "object"}}]
    return {"model": "m", "max_tokens": 100, "messages": messages, "tools": tools}


def chat(story):
    messages = [{"role": "system", "content": "You are an agent."}]
    for part in story:
        match part:
            case Said(text):
                messages.append({"role": "user", "content": text})
            case Answered(text, calls):
                made = [
                    {
                        "id": i,
                        "type": "function",
                        "function": {"name": "Bash", "arguments": json.dumps({"command": c})},
                    }
                    for i, c in calls
                ]
                message = {"role": "assistant", "content": text or None}
                messages.append({**message, "tool_calls": made} if made else message)
            case Ran(call_id, text):
                messages.append({"role": "tool", "tool_call_id": call_id, "content": text})
    function = {"name": "Bash", "parameters": {"type": "object", "properties": {}}}
    tools = [{"type": "function", "function": function}]
    return {"model": "m", "messages": messages, "tools": tools}


def responses(story):
    entries = []
    for part in story:
        match part:
            case Said(text):
                content = [{"type": "input_text", "text": text}]
                entries.append({"type": "message", "role": "user", "content": content})
            case Answered(text, calls):
                if text:
                    content = [{"type": "output_text", "text": text}]
                    entries.append({"type": "message", "role": "assistant", "content": content})
                for i, c in calls:
                    call = {"type": "function_call", "call_id": i, "name": "Bash"}
                    entries.append({**call, "arguments": json.dumps({"command": c})})
            case Ran(call_id, text):
                output = {"type": "function_call_output", "call_id": call_id, "output": text}
                entries.append(output)
    tools = [{"type": "function", "name": "Bash", "parameters": {"type": "object"}}]
    return {"model": "m", "input": entries, "tools": tools}


def gemini(story):
    contents = []
    for part in story:
        match part:
            case Said(text):
                contents.append({"role": "user", "parts": [{"text": text}]})
            case Answered(text, calls):
                parts = [{"text": text}] if text else []
                parts += [
                    {"functionCall": {"name": "Bash", "args": {"command": c}}} for _, c in calls
                ]
                contents.append({"role": "model", "parts": parts})
            case Ran(_, text, failed):
                response = {"error" if failed else "output": text}
                answer = {"functionResponse": {"name": "Bash", "response": response}}
                contents.append({"role": "user", "parts": [answer]})
    tools = [{"functionDeclarations": [{"name": "Bash"}]}]
    return {"contents": contents, "tools": tools}


FORMS = {
    "anthropic": (ANTHROPIC_MESSAGES, anthropic, "/v1/messages"),
    "chat": (CHAT_COMPLETIONS, chat, "/v1/chat/completions"),
    "responses": (RESPONSES, responses, "/v1/responses"),
    "gemini": (GENERATE_CONTENT, gemini, "/v1beta/models/m:generateContent"),
}


@attrs.frozen
class Form:
    """One API: its reader, how a story looks in it, and the path of its requests."""

    wire: object
    body: Callable[..., dict[str, object]]
    path: str


@pytest.fixture(params=FORMS)
def form(request):
    return Form(*FORMS[request.param])


@pytest.fixture
def make_prompt():
    """Make a prompt from providers that nothing holds back."""

    def make(*providers, **more):
        configs = [
            p
            if isinstance(p, GuidanceProviderConfig)
            else GuidanceProviderConfig(p, cooldown_turns=0, max_per_run=1000)
            for p in providers
        ]
        return Prompt("test", "main", guidance_providers=configs, config=None, **more)

    return make


@attrs.define
class Agent:
    """Sends one request after another to a guide, under a name or none."""

    guide: Guide
    form: Form
    name: str | None = None
    agent: str | None = None
    program: str = "claude-cli/2"

    def ask(self, *story, **more):
        headers = {"user-agent": self.program}
        if self.name:
            headers["x-claude-code-session-id"] = self.name
        if self.agent:
            headers["x-claude-code-agent-id"] = self.agent
        body = {
            **self.form.body([p for s in story for p in (s if type(s) is list else [s])]),
            **more,
        }
        items = items_of(self.form.wire, body)
        return self.guide.request(self.form.wire, headers, body, items)


@pytest.fixture
def story():
    """The parts that conversations are made of."""

    class Story:
        said, answered, ran = Said, Answered, Ran
        step = staticmethod(step)

    return Story


@pytest.fixture
def speaker():
    return Speaker


@pytest.fixture
def agent_of(form):
    return lambda guide, name=None, agent=None: Agent(guide, form, name, agent)


@pytest.fixture
def ground(tmp_path, monkeypatch):
    made = Ground(tmp_path)
    made.work.mkdir()
    made.home.mkdir()
    record(monkeypatch, made.passed)
    return made


@pytest.fixture
def prompt(make_prompt, speaker):
    return make_prompt(speaker())
