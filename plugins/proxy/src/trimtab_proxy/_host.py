"""What a proxy can do with the words of a provider."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import attrs

from trimtab import DecisionPoint, Delivery, Host
from trimtab_proxy._items import Json, objects, string
from trimtab_proxy._programs import Program

PROXY = Host(
    name="proxy",
    delivery={
        DecisionPoint.PRE_RENDER: Delivery.NONE,
        DecisionPoint.PRE_TOOL_SELECTION: Delivery.EPHEMERAL,
        DecisionPoint.PRE_TOOL_EXECUTION: Delivery.NONE,
        DecisionPoint.POST_TOOL_RESULT: Delivery.EPHEMERAL,
        DecisionPoint.PRE_RESPONSE: Delivery.NONE,
    },
)
"""The proxy, described: words stand in one request and in no later one."""


_GATED = {**PROXY.delivery, DecisionPoint.PRE_TOOL_EXECUTION: Delivery.REFUSAL}


def delivery(*, gate: bool) -> Mapping[DecisionPoint, Delivery]:
    """Return how text is placed, point by point, with or without the gate."""
    return _GATED if gate else PROXY.delivery


def descriptions(body: Json) -> Mapping[str, str]:
    """Return what the tools of a request say of themselves, in any of the formats."""
    found = {}
    for tool in objects(body.get("tools")):
        inner = [tool, tool.get("function"), tool.get("custom")]
        for declared in objects([*inner, *objects(tool.get("functionDeclarations"))]):
            name, text = string(declared.get("name")), string(declared.get("description"))
            if name and text:
                found[name] = text
    return found


def host_for(
    program: Program,
    tools: Iterable[str],
    *,
    gate: bool = False,
    described: Mapping[str, str] | None = None,
) -> Host:
    """Return the proxy as the host of an agent.

    Args:
        program: the agent's.
        tools: names of the agent's tools.
        gate: whether calls can be refused.
        described: what the tools say of themselves, by name.
    """
    names = frozenset(tool for tool in tools if tool)
    return attrs.evolve(
        PROXY,
        delivery=delivery(gate=gate),
        tools=names or None,
        parallel_calls=program.parallel_calls,
        tool_profiles=program.tool_profiles,
        tool_descriptions=described or {},
    )
