"""The conformance kit passes a host of 30 lines, and finds what is wrong with others."""

from __future__ import annotations

import asyncio
import inspect
import json
import urllib.error
import urllib.request
from collections.abc import Callable
from typing import Any

import pytest

from trimtab import DecisionPoint, Delivery, Host, Outcome, ToolCall
from trimtab.hosting import Answer, Chat, Drivers
from trimtab_testing import Ask, HostConformance, HostKit, Played, Says, Service, Task, host_table

HOST = Host(
    "loop",
    dict.fromkeys(DecisionPoint, Delivery.EPHEMERAL),
    parallel_calls=True,
    feedback=Delivery.EPHEMERAL,
)
CLAIMS = "cancel equal errors gate invalid parallel resume shared"


def ask_model(url: str, messages: list[Any], tools: list[Any]) -> Any:
    """Ask a service of chat completions, once more if it fails."""
    described = [{"type": "function", "function": {"name": tool.__name__}} for tool in tools]
    body = json.dumps({"model": "m", "messages": messages, "tools": described}).encode()
    for attempt in range(2):
        try:
            with urllib.request.urlopen(f"{url}/v1/chat/completions", body) as answer:
                return json.load(answer)["choices"][0]["message"]
        except urllib.error.HTTPError:
            if attempt:
                raise
    return None


async def run_tool(tools: list[Any], call: ToolCall) -> tuple[str, Outcome]:
    found = {tool.__name__: tool for tool in tools}.get(call.tool)
    try:
        if found is None:
            return "no such tool", Outcome.INVALID
        inspect.signature(found).bind(**call.params)
    except TypeError as error:
        return str(error), Outcome.INVALID
    try:
        result = found(**call.params)
        return str(await result if inspect.isawaitable(result) else result), Outcome.OK
    except Exception as error:  # noqa: BLE001
        return f"{type(error).__name__}: {error}", Outcome.ERROR


def ask(chat: Chat, answers: list[Answer], said: str) -> str:
    """Report a request; the user's words with the first alone."""
    return chat.request(answers, said or None)


def host_of(
    request: Callable[[Chat, list[Answer], str], str] = ask,
    keep: bool = False,
    stop: Callable[[Chat], Any] = Chat.may_stop,
    close: bool = True,
) -> Any:
    """Return how a loop plays a task; the arguments are what a host may get wrong."""

    async def play(task: Task) -> Played:
        drivers = task.once(lambda: Drivers(task.prompt, task.session, HOST, timeout=task.timeout))
        messages: list[Any] = [{"role": "system", "content": "You are an agent."}]
        for said in task.user:
            messages.append({"role": "user", "content": said})
            await turn(task, drivers.of(task.conversation), messages, said)
        return Played(messages[-1]["content"], [str(m["content"]) for m in messages])

    async def turn(task: Task, chat: Chat, messages: list[Any], said: str) -> None:
        answers: list[Answer] = []
        while True:
            text = await asyncio.to_thread(request, chat, answers, said) if task.guided else ""
            said = ""
            extra = [{"role": "user", "content": text}] if text else []
            sent = [*messages, *extra]
            if keep:
                messages += extra
            message = await asyncio.to_thread(ask_model, task.url, sent, task.tools)
            asked = [
                ToolCall(c["function"]["name"], json.loads(c["function"]["arguments"]), c["id"])
                for c in message.get("tool_calls") or []
            ]
            chat.response(message["content"] or "", asked)
            messages.append(message)
            for call in asked:
                with chat.running(call):
                    result, outcome = await run_tool(task.tools, call)
                answers.append(Answer(call.call_id, result, outcome))
                messages.append({"role": "tool", "tool_call_id": call.call_id, "content": result})
            if not asked:
                decision = stop(chat)
                if decision:
                    return chat.close() if close else None
                if decision.text:
                    messages.append({"role": "user", "content": decision.text})

    return play


def kit_of(**wrong: Any) -> HostKit:
    return HostKit("loop", HOST, host_of(**wrong), CLAIMS)


KIT = kit_of()


@pytest.mark.slow
class TestLoopOf30Lines(HostConformance):
    kit = KIT


def silent(chat: Chat, answers: list[Answer], said: str) -> str:
    ask(chat, answers, said)
    return ""


def no_answers(chat: Chat, answers: list[Answer], said: str) -> str:
    return ask(chat, [], said)


def all_well(chat: Chat, answers: list[Answer], said: str) -> str:
    return ask(chat, [Answer(a.call_id, a.result) for a in answers], said)


def stubborn(chat: Chat, answers: list[Answer], said: str) -> str:
    return ask(chat, answers, said) or "Remember."


def user_speaks_always(chat: Chat, answers: list[Answer], said: str) -> str:
    return chat.request(answers, f"Call {len(answers)}.")


@pytest.mark.parametrize(
    ("scenario", "wrong", "found"),
    [
        ("guided", {"request": silent}, "expected the text once in request 4"),
        ("guided", {"keep": True}, "declared ephemeral, but"),
        ("guided", {"request": no_answers}, "expected the text once in request 4"),
        ("guided", {"request": user_speaks_always}, "the user spoke once"),
        ("guided", {"close": False}, "was not closed"),
        ("silence_is_equal", {"request": stubborn}, "requests differ"),
        ("failing_tool", {"request": all_well}, "on record"),
        ("gate", {"stop": lambda chat: True}, "it ended with 'Too early.'"),
        ("feedback", {"keep": True}, "declared ephemeral, but"),
    ],
)
def test_a_host_that_is_wrong_is_found(scenario: str, wrong: Any, found: str) -> None:
    [verdict] = kit_of(**wrong).verdicts([scenario])
    assert verdict.result == "fails"
    assert found in verdict.note


def test_what_is_not_claimed_is_not_played() -> None:
    kit = HostKit("loop", HOST, host_of(), "gate")
    assert "guided_streamed" not in kit.scenarios
    [verdict] = kit.verdicts(["guided_on_gemini"])
    assert (verdict.result, verdict.note) == ("not claimed", "gemini")
    assert "| the same in the dialect of Gemini | – |" in host_table({"loop": [verdict]})
    with pytest.raises(ValueError, match="gates"):
        HostKit("loop", HOST, host_of(), "gates")


def test_the_service_streams_what_it_says_on_each_wire() -> None:
    for path, field in (
        ("chat/completions", "messages"),
        ("responses", "input"),
        ("messages", "messages"),
    ):
        with Service([Says("All is well.")]) as service:
            told = {"model": "m", "stream": True, field: [{"role": "user", "content": "Go."}]}
            body = json.dumps({**told, "max_tokens": 9}).encode()
            with urllib.request.urlopen(f"{service.url}/v1/{path}", body) as answer:
                assert b"All is well." in answer.read()


def test_the_service_refuses_what_the_services_refuse() -> None:
    with Service([Says(calls=(Ask("look"),)), Says("End.")]) as service:
        first = ask_model(service.url, [{"role": "user", "content": "Go."}], [])
        lost = [{"role": "user", "content": "Go."}, first, {"role": "user", "content": "On."}]
        with pytest.raises(urllib.error.HTTPError):
            ask_model(service.url, lost, [])
    assert "must answer each" in service.refused[0]
