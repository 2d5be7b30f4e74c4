"""Cases through the detectors of other projects; runs where those are installed, without trimtab.

Each adapter maps a case's items to the peer's own types and tells after which items the peer
would have spoken or stopped. Defaults everywhere; one detector per agent and per run.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

Item = dict[str, Any]
Fires = Callable[[Item], bool]


def as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True)


def agent_loop_guard() -> Fires:
    from loop_guard import Action, LoopGuard

    guard = LoopGuard()

    def fires(item: Item) -> bool:
        if "tool" not in item:
            return False
        decision = guard.check(item["tool"], item.get("args"), as_text(item.get("result")))
        return decision.action is not Action.CONTINUE

    return fires


def unwedge() -> Fires:
    from unwedge import Action, Guard, ToolClass, Turn
    from unwedge.normalize import classify_command

    guard, silent, turns = Guard("", None), (Action.CONTINUE, Action.FLAG), iter(range(1, 10**6))

    def fires(item: Item) -> bool:
        if "tool" not in item:
            return False
        arguments = item.get("args") or {}
        named = arguments.get("command") or arguments.get("cmd")
        command = as_text(named) if named else f"{item['tool']} {as_text(arguments)}"
        tool, kind = classify_command(command)
        failed = item.get("error") is True
        turn = Turn(
            index=next(turns),
            command=command,
            tool=tool,
            tool_class=kind,
            observation=as_text(item.get("result")),
            is_error=failed,
            changes_state=kind is ToolClass.EDIT and not failed,
            cost_units=1.0,
        )
        return guard.on_turn(turn).decision.action not in silent

    return fires


def pydantic_deep() -> Fires:
    from pydantic_ai.exceptions import ModelRetry
    from pydantic_deep.features.stuck_loop import StuckLoopDetection

    detection, definition = StuckLoopDetection(), SimpleNamespace(metadata=None)

    def fires(item: Item) -> bool:
        if "tool" not in item:
            return False
        call = SimpleNamespace(tool_name=item["tool"])
        facts = {"args": item.get("args") or {}, "result": as_text(item.get("result"))}
        try:
            asyncio.run(detection.after_tool_execute(None, call=call, tool_def=definition, **facts))
        except ModelRetry:
            return True
        return False

    return fires


def openhands() -> Fires:
    from openhands.sdk.conversation.stuck_detector import StuckDetector

    events: list[Any] = []
    state = SimpleNamespace(active_branch=lambda limit: events[-limit:])
    detector, numbers = StuckDetector(state), iter(range(10**6))

    def fires(item: Item) -> bool:
        events.extend(_openhands_events(item, str(next(numbers))))
        return detector.get_action_error_nudge() is not None or detector.is_stuck()

    return fires


def _openhands_types() -> tuple[Any, Any]:
    from openhands.sdk.tool.schema import Action, Observation

    class CaseAction(Action):
        arguments: str

    class CaseObservation(Observation):
        answer: str

    return CaseAction, CaseObservation


_types: list[Any] = []


def _openhands_events(item: Item, number: str) -> Iterator[Any]:
    from openhands.sdk.event import ActionEvent, AgentErrorEvent, MessageEvent, ObservationEvent
    from openhands.sdk.llm import Message, MessageToolCall, TextContent

    if not _types:
        _types.extend(_openhands_types())
    source = {"assistant_text": "agent", "user_message": "user"}.get(item.get("event", ""))
    if source:
        role = "assistant" if source == "agent" else "user"
        said = Message(role=role, content=[TextContent(text=item.get("text", ""))])
        yield MessageEvent(source=source, llm_message=said)
    if "tool" not in item:
        return
    tool, arguments, answer = item["tool"], as_text(item.get("args")), as_text(item.get("result"))
    call = {"tool_name": tool, "tool_call_id": number}
    yield ActionEvent(
        **call,
        thought=[TextContent(text=item.get("text", ""))],
        action=_types[0](arguments=arguments),
        tool_call=MessageToolCall(id=number, name=tool, arguments=arguments, origin="completion"),
        llm_response_id=str(item.get("turn")),
    )
    if item.get("error") is True:
        yield AgentErrorEvent(**call, error=answer)
    else:
        yield ObservationEvent(**call, observation=_types[1](answer=answer), action_id=number)


PEERS: dict[str, Callable[[], Fires]] = {
    "OpenHands SDK": openhands,
    "pydantic-deep": pydantic_deep,
    "agent-loop-guard": agent_loop_guard,
    "unwedge, code tier": unwedge,
}


def spoken(peer: Callable[[], Fires], case: Item) -> list[int]:
    """After which items of `case` the peer speaks."""
    detectors: dict[Any, Fires] = {}
    found = []
    for index, item in enumerate(case["calls"]):
        if item.get("event") == "run_boundary":
            detectors.clear()
            continue
        agent = item.get("agent")
        if agent not in detectors:
            detectors[agent] = peer()
        if detectors[agent](item):
            found.append(index)
    return found


def main(path: str) -> None:
    """Print, as JSON, what each peer does on each case of a file."""
    cases = [json.loads(line) for line in Path(path).read_text().splitlines()]
    told = {
        name: {case["id"]: spoken(peer, case) for case in cases} for name, peer in PEERS.items()
    }
    json.dump(told, sys.stdout)


if __name__ == "__main__":
    main(sys.argv[1])
