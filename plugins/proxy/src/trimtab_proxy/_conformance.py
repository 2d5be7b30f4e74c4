"""A loop of the OpenAI client behind the proxy: ``trimtab conformance proxy`` plays it.

It needs the ``openai`` package. The loop knows nothing of trimtab: what is said comes on the wire.
It streams, as the programs do that the proxy is for; answers that are not streamed have no gate.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from inspect import isawaitable
from typing import TYPE_CHECKING, Any, get_type_hints

import attrs

from trimtab_proxy._guide import Guide
from trimtab_proxy._identity import PROXY, delivery
from trimtab_proxy._server import ProxyServer
from trimtab_proxy._upstreams import Upstream
from trimtab_testing import HostKit, Played, Task

if TYPE_CHECKING:
    from openai import AsyncOpenAI

HOST = attrs.evolve(PROXY, delivery=delivery(gate=True))
MOST_TURNS = 12
RESULT = {
    "type": "json_schema",
    "json_schema": {
        "name": "result",
        "schema": {
            "type": "object",
            "properties": {"answer": {"type": "integer"}},
            "required": ["answer"],
            "additionalProperties": False,
        },
    },
}


async def play(task: Task) -> Played:
    """Let a loop do a task, behind a proxy unless it goes without."""
    from openai import AsyncOpenAI

    if not task.guided:
        async with AsyncOpenAI(base_url=f"{task.url}/v1", api_key="x", max_retries=1) as client:
            return await _converse(client, task)
    guide = Guide(task.prompt, task.prompt, gate=True, timeout=task.timeout or 1.0)
    proxy = ProxyServer(guide, {"openai": Upstream(f"{task.url}/v1")})
    with proxy:
        url = f"{proxy.base_url}/openai"
        try:
            async with AsyncOpenAI(base_url=url, api_key="x", max_retries=1) as client:
                return await _converse(client, task)
        finally:
            await asyncio.sleep(0)
            for thread in guide.threads:
                session: Any = thread.follower.run.session
                task.session = session
            guide.close("completed")


async def _converse(client: AsyncOpenAI, task: Task) -> Played:
    known = {function.__name__: function for function in task.tools}
    messages: list[Any] = [{"role": "system", "content": "You are an agent."}]
    given: Any = {"model": "m", "tools": [_schema_of(one) for one in task.tools]}
    if task.mode == "structured":
        given["response_format"] = RESULT
    text = ""
    for said in task.user:
        messages.append({"role": "user", "content": said})
        for _ in range(MOST_TURNS):
            async with client.chat.completions.stream(messages=messages, **given) as stream:
                message = (await stream.get_final_completion()).choices[0].message
            messages.append(message.model_dump(exclude_none=True, exclude={"parsed", "refusal"}))
            text = message.content or ""
            if not message.tool_calls:
                break
            results = [_run(known, call.function) for call in message.tool_calls]
            for call, result in zip(
                message.tool_calls, await asyncio.gather(*results), strict=True
            ):
                messages.append({"role": "tool", "tool_call_id": call.id, "content": result})
    final = json.loads(text)["answer"] if task.mode == "structured" else None
    return Played(text, [str(message) for message in messages], final)


async def _run(known: dict[str, Callable[..., Any]], function: Any) -> str:
    """Return what a tool answers; errors in the words of the MCP SDK."""
    try:
        result = known[function.name](**json.loads(function.arguments))
        if isawaitable(result):
            result = await result
    except KeyError:
        return f"Unknown tool: {function.name}"
    except Exception as error:  # noqa: BLE001 - a tool may raise anything
        return f"Error executing tool {function.name}: {type(error).__name__}: {error}"
    return result if isinstance(result, str) else json.dumps(result)


def _schema_of(function: Callable[..., Any]) -> dict[str, Any]:
    fields = [name for name in get_type_hints(function) if name != "return"]
    schema = {
        "type": "object",
        "properties": {name: {"type": "string"} for name in fields},
        "required": fields,
    }
    described = {"name": function.__name__, "description": function.__doc__ or ""}
    return {"type": "function", "function": {**described, "parameters": schema}}


KIT = HostKit("proxy", HOST, play, claims="equal gate parallel resume rich stream structured")
"""What the proxy claims, with ``gate = true``.

It sees requests and answers, and no more: Chat Completions have no flag for a call that failed, so
outcomes are read from sentences, as signals do, and stand on record as unknown.
"""
