"""The scripted conversations that a host is put through."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from typing import Any

from trimtab import (
    ClassificationResult,
    DecisionPoint,
    Delivery,
    FeedbackProviderConfig,
    FeedbackTrigger,
    GuidanceProviderConfig,
    ProviderError,
    TaskCompletionResult,
    ToolInvoked,
)
from trimtab.events import (
    CompactionHappened,
    GuidanceSuppressed,
    ModelResponded,
    RunClosed,
    StopRequested,
    ToolStarted,
    UserMessage,
)
from trimtab.hosting import AgentStopped
from trimtab_testing._host_kit.kit import SCENARIOS, WIRES, HostKit, Scenario, Stage
from trimtab_testing._host_kit.service import Ask, Json, Says, Script, messages_of, texts_in
from trimtab_testing._lab import Checker, Commentator, Speaker
from trimtab_testing._player import PROVIDER_LISTS

MARK = "Mind the gap."
_LATER = 0.05
"""Seconds: far more than a thread takes to hand a result over."""

Play = Callable[..., Awaitable[None]]


def scenario(summary: str, *needs: str, name: str = "", **task: Any) -> Callable[[Play], Play]:
    """Add a scenario; one play may serve several, which differ in their task."""

    def add(play: Play) -> Play:
        SCENARIOS[name or play.__name__] = Scenario(summary, needs, partial(play, **task))
        return play

    return add


async def played(kit: HostKit, script: Script, **given: Any) -> Stage:
    """Let an agent do a task to its end; what is given is for the prompt, or for the task."""
    providers = {name: given.pop(name) for name in PROVIDER_LISTS if name in given}
    stage = await Stage(kit, script, providers, given).run()
    ended(stage)
    return stage


def calls(tool: str, *paths: str) -> Says:
    return Says(calls=tuple(Ask(tool, {"path": path}) for path in paths))


def speaks(at: DecisionPoint, after: int = 0, **more: Any) -> Speaker:
    return Speaker(
        text=MARK,
        decision_points=[at],
        verdict=lambda context: context.tool_call_count == after,
        **more,
    )


def speaks_always(at: DecisionPoint) -> Speaker:
    """Return a provider that has something else to say about one problem each time."""
    return Speaker(
        text=lambda context: f"{MARK} {context.turn_count}",
        decision_points=[at],
        verdict=lambda context: ClassificationResult(context.turn_count > 0, episode="gap"),
    )


def stands(stage: Stage, at: int, way: Delivery, mark: str = MARK) -> None:
    """Check that `mark` stands in request `at`, once, and in later ones only if it is kept."""
    got = stage.hits(mark)
    assert len(got) > at, f"{len(got)} requests, expected the text in number {at + 1}"
    assert got[at] == 1, f"expected the text once in request {at + 1}: {got}"
    assert not any(got[:at]), f"the text came too early: {got}"
    kept = any(mark in text for text in stage.played.history)
    if way is Delivery.EPHEMERAL:
        assert not any(got[at + 1 :]), f"declared ephemeral, but later requests have it: {got}"
        assert not kept, "declared ephemeral, but it stands in the runtime's history"
    else:
        assert all(n == 1 for n in got[at + 1 :]), f"declared persisted, but: {got}"


def ended(stage: Stage, text: str = "End.") -> None:
    assert not stage.service.refused, f"the service refused a request: {stage.service.refused}"
    assert stage.played.text.strip().endswith(text), f"it ended with {stage.played.text!r}"
    reasons = [closed.reason for closed in stage.session[RunClosed].all()]
    assert reasons, "its run was not closed"
    assert set(reasons) == {"completed"}, f"its runs were closed as {reasons}"


@scenario("requests are byte for byte the same where nobody speaks", "equal")
async def silence_is_equal(kit: HostKit) -> None:
    def look(path: str) -> str:
        """Look at a file."""
        if path == "b":  # it ends last: some runtimes send answers in the order in which calls end
            time.sleep(_LATER)
        return f"contents of {path}"

    bodies = []
    for guided in (False, True):
        script = [calls("look", "a", "b"), calls("look", "c"), Says("End.")]
        stage = await Stage(kit, script, task={"guided": guided, "tools": [look]}).run()
        bodies.append(stage.service.bodies)
    assert bodies[0] == bodies[1], "requests differ with trimtab"


@scenario("guidance stands at the end of the right request")
async def guided(kit: HostKit, **task: Any) -> None:
    script = [*(calls("look", "a") for _ in range(4)), Says("End.")]
    speaker = speaks(DecisionPoint.PRE_TOOL_SELECTION, after=3)
    stage = await played(kit, script, guidance_providers=[speaker], **task)
    stands(stage, 3, kit.host.delivers(DecisionPoint.PRE_TOOL_SELECTION))
    assert MARK in stage.last_text(3), "the text is not in the last message of the request"
    assert stage.outcomes() == [("look", "ok")] * 4, f"on record: {stage.outcomes()}"
    said = [message.text for message in stage.session[UserMessage].all()]
    assert len(said) == 1, f"the user spoke once, on record are {said}"


scenario("the same when streamed", "stream", name="guided_streamed", mode="stream")(guided)
for _wire, _dialect in WIRES.items():
    _summary = f"the same in the dialect of {_dialect}"
    scenario(_summary, _wire, name=f"guided_on_{_wire}", wire=_wire)(guided)


@scenario("what is in shadow or held out reaches no request, and its words are on record")
async def in_shadow(kit: HostKit) -> None:
    silent: list[dict[str, Any]] = [{"mode": "shadow"}, {"holdout": 1.0}]
    for settings in silent:
        speaker = speaks(DecisionPoint.PRE_TOOL_SELECTION, after=2)
        config = GuidanceProviderConfig(speaker, **settings)
        script = [calls("look", "a"), calls("look", "b"), Says("End.")]
        stage = await played(kit, script, guidance_providers=[config])
        assert not any(stage.hits(MARK)), f"the text reached the model: {stage.hits(MARK)}"
        assert not any(MARK in text for text in stage.played.history), "the history has the text"
        every = stage.session[GuidanceSuppressed].all()
        words = [event.counted.content for event in every if event.counted]
        assert words == [MARK], f"on record of what would have been said: {words}"


@scenario("a tool's error is on record, and guidance follows it", "errors")
async def failing_tool(kit: HostKit) -> None:
    def query(path: str) -> str:  # noqa: ARG001 - the model gives it
        """Query the database."""
        raise ConnectionError("ECONNREFUSED")

    script = [*(calls("query", str(n)) for n in range(3)), Says("End.")]
    speaker = speaks(DecisionPoint.PRE_TOOL_SELECTION, after=3)
    stage = await played(kit, script, guidance_providers=[speaker], tools=[query])
    assert stage.outcomes() == [("query", "error")] * 3, f"on record: {stage.outcomes()}"
    errors = [call.error or "" for call in stage.session[ToolInvoked].all()]
    assert all("ECONNREFUSED" in error for error in errors), f"errors on record: {errors}"
    stands(stage, 3, kit.host.delivers(DecisionPoint.PRE_TOOL_SELECTION))


@scenario("feedback stands where the host declares")
async def feedback(kit: HostKit) -> None:
    every = FeedbackProviderConfig(Commentator(), FeedbackTrigger(every_n_calls=2))
    script = [calls("look", "a"), calls("look", "b"), Says("End.")]
    stage = await played(kit, script, feedback_providers=[every])
    stands(stage, 2, kit.host.feedback_delivery, "2 calls")


@scenario("guidance behind a result reaches the next request once")
async def behind_result(kit: HostKit) -> None:
    way = kit.host.delivers(DecisionPoint.POST_TOOL_RESULT)
    speaker = speaks(DecisionPoint.POST_TOOL_RESULT, after=1)
    script = [calls("look", "a"), calls("look", "b"), Says("End.")]
    stage = await played(kit, script, guidance_providers=[speaker])
    if way is Delivery.NONE:
        assert not any(stage.hits(MARK))
    else:
        stands(stage, 1, way)


@scenario("guidance before the end asks the model once more")
async def before_the_end(kit: HostKit) -> None:
    way = kit.host.delivers(DecisionPoint.PRE_RESPONSE)
    speaker = speaks(DecisionPoint.PRE_RESPONSE)
    stage = Stage(kit, [Says("First."), Says("End.")], {"guidance_providers": [speaker]})
    if way is Delivery.NONE:
        with suppress(ProviderError):  # a host may refuse who could never be heard
            await stage.run()
            ended(stage, "First.")
        return
    await stage.run()
    ended(stage)
    stands(stage, 1, way)


@scenario("an agent with open work is sent back", "gate")
async def gate(kit: HostKit, **task: Any) -> None:
    checker = Checker(answer=_after_b)
    script = [calls("look", "a"), Says("Too early."), calls("look", "b"), Says("End.")]
    stage = await played(kit, script, completion_checkers=[checker], **task)
    got = stage.hits("Look at b too.")
    assert len(got) == 4, f"{len(got)} requests, expected 4: it was not sent back, or too often"
    assert got[:3] == [0, 0, 1], f"the checker's feedback stands in {got}"
    last = texts_in(messages_of(stage.service.requests()[2]))
    assert "Too early." in last, "the model does not see its own answer"


scenario("the same when streamed", "gate", "stream", name="gate_streamed", mode="stream")(gate)


def _after_b(context: Any) -> TaskCompletionResult:
    done = any("b" in call.params.values() for call in context.recent_tool_calls(5))
    return TaskCompletionResult.ok() if done else TaskCompletionResult.incomplete("Look at b too.")


@scenario("an agent with structured output is sent back", "gate", "structured")
async def gate_with_structured_output(kit: HostKit) -> None:
    def answer(body: Json) -> Says:
        seen = texts_in(messages_of(body))
        if "contents of b" in seen:
            return _final(body, 42)
        if "Look at b too." in seen:
            return calls("look", "b")
        return _final(body, 41) if "contents of a" in seen else calls("look", "a")

    providers = {"completion_checkers": [Checker(answer=_after_b)]}
    stage = await Stage(kit, answer, providers, {"mode": "structured"}).run()
    assert not stage.service.refused, stage.service.refused
    assert stage.played.structured == 42, f"it ended with {stage.played.structured!r}"
    looked = [tool for tool, _ in stage.outcomes() if tool == "look"]
    assert looked == ["look", "look"], f"on record: {stage.outcomes()}"


def _final(body: Json, value: int) -> Says:
    """Return a structured answer: by the tool that isn't one of the task's, else as text."""
    for tool in body.get("tools") or []:
        name = (tool.get("function") or tool).get("name", "")
        if name and name != "look":
            return Says(calls=(Ask(name, {"answer": value}),))
    return Says(json.dumps({"answer": value}))


@scenario("calls of one response are one batch, each with its own end", "parallel")
async def parallel(kit: HostKit) -> None:
    def fetch(path: str) -> str:
        """Fetch a file."""
        if path == "bad" and "errors" in kit.claims:
            raise ValueError("no such file")
        return f"contents of {path}"

    stage = await played(kit, [calls("fetch", "good", "bad"), Says("End.")], tools=[fetch])
    found = {c.params["path"]: c.outcome.value for c in stage.session[ToolInvoked].all()}
    failed = "error" if "errors" in kit.claims else "ok"
    assert found == {"good": "ok", "bad": failed}, f"on record: {found}"
    first = stage.session[ModelResponded].all()[0]
    assert len(first.tool_calls) == 2, "the response is not on record as one batch"


@scenario("unknown tools and wrong arguments are on record as invalid", "invalid")
async def invalid_calls(kit: HostKit) -> None:
    wrong = Says(calls=(Ask("look", {"wrong": 1}),))
    stage = await played(kit, [calls("nope", "a"), wrong, Says("End.")])
    expected = [("nope", "invalid"), ("look", "invalid")]
    assert stage.outcomes() == expected, f"on record: {stage.outcomes()}"


@scenario("a retry after an error of the service carries the same text")
async def service_fails_once(kit: HostKit) -> None:
    script = [calls("look", "a"), Says(status=500), Says("End.")]
    speaker = speaks(DecisionPoint.PRE_TOOL_SELECTION, after=1)
    stage = await played(kit, script, guidance_providers=[speaker])
    assert stage.hits(MARK)[:3] == [0, 1, 1], f"the text stands in {stage.hits(MARK)}"


@scenario("a cancelled call is on record as interrupted", "cancel")
async def cancelled(kit: HostKit) -> None:
    started = threading.Event()

    async def wait(path: str) -> str:  # noqa: ARG001 - the model gives it
        """Wait for long."""
        started.set()
        await asyncio.sleep(30)
        return "never"

    stage = Stage(kit, [calls("wait", "a"), Says("End.")], task={"tools": [wait]})
    running = asyncio.ensure_future(stage.run())
    while not started.is_set() and not running.done():  # noqa: ASYNC110 - a runtime has threads
        await asyncio.sleep(0.02)
    assert started.is_set(), "the tool never ran"
    running.cancel()
    await asyncio.wait([running])
    assert stage.outcomes() == [("wait", "interrupted")], f"on record: {stage.outcomes()}"


@scenario("a call that the user refuses is on record as denied", "deny")
async def denied(kit: HostKit) -> None:
    ran: list[str] = []

    def look(path: str) -> str:
        """Look at a file."""
        ran.append(path)
        return "contents"

    script = [calls("look", "a"), Says("End.")]
    stage = await played(kit, script, tools=[look], mode="deny")
    assert not ran, "the tool ran"
    assert stage.outcomes() == [("look", "denied")], f"on record: {stage.outcomes()}"


@scenario("a second turn goes on where the first ended", "resume")
async def resumed(kit: HostKit) -> None:
    script = [calls("look", "a"), Says("One."), calls("look", "b"), Says("End.")]
    stage = await played(kit, script, user=("Go.", "And now?"))
    assert stage.outcomes() == [("look", "ok")] * 2, f"on record: {stage.outcomes()}"
    said = [message.text for message in stage.session[UserMessage].all()]
    assert said == ["Go.", "And now?"], f"the user on record: {said}"
    assert len(stage.session.runs()) == 1, "the conversation has several runs"


@scenario("a tool interrupts the agent, which goes on in another process", "interrupt")
async def interrupted(kit: HostKit) -> None:
    stage = await played(kit, [calls("ask", "a"), Says("End.")], mode="interrupt")
    assert stage.outcomes() == [("ask", "ok")], f"on record: {stage.outcomes()}"
    starts = len(stage.session[ToolStarted])
    assert starts <= 1, f"the call started {starts} times"


@scenario("one agent serves four conversations at the same time", "shared")
async def shared_agent(kit: HostKit) -> None:
    def answer(body: Json) -> Says:
        seen = texts_in(messages_of(body))
        user = next(n for n in range(4) if f"user {n}" in seen)
        made = seen.count("contents of")
        path = "same" if user == 0 else f"{user}-{made}"
        return calls("look", path) if made < 4 else Says(f"End of {user}.")

    def repeats(context: Any) -> bool:
        last = context.recent_tool_calls(3)
        return len(last) == 3 and len({call.params["path"] for call in last}) == 1

    speaker = Speaker(
        text=MARK, verdict=repeats, decision_points=[DecisionPoint.PRE_TOOL_SELECTION]
    )
    stage = Stage(kit, answer, {"guidance_providers": [speaker]})
    played = await stage.converse(
        *({"user": (f"This is user {n}.",), "conversation": f"conversation-{n}"} for n in range(4))
    )
    assert [one.text.strip() for one in played] == [f"End of {n}." for n in range(4)]
    assert len(stage.outcomes()) == 16, f"{len(stage.outcomes())} of 16 calls are on record"
    runs = Counter(call.run_id for call in stage.session[ToolInvoked].all())
    assert sorted(runs.values()) == [4] * 4, f"calls of each run: {sorted(runs.values())}"
    spoken = [body for body in stage.service.bodies if MARK.encode() in body]
    assert spoken, "nobody was told"
    assert all(b"user 0" in body for body in spoken), "another conversation was told"


@scenario("the runtime's own middleware may stand around it", "around")
async def other_middleware(kit: HostKit) -> None:
    tried: list[str] = []

    def flaky(path: str) -> str:
        """Fetch; fails at first."""
        tried.append(path)
        if len(tried) < 2:
            raise OSError("try again")
        return "fine"

    script = [calls("flaky", "a"), Says("End.")]
    stage = await played(kit, script, tools=[flaky], mode="around")
    assert len(tried) == 2, f"the tool ran {len(tried)} times, expected one retry"
    assert stage.outcomes() == [("flaky", "ok")], f"on record: {stage.outcomes()}"


@scenario("results that are more than text reach the model unchanged", "rich", "equal")
async def rich_results(kit: HostKit) -> None:
    def table(path: str) -> dict[str, Any]:
        """Return a table."""
        return {"rows": [1, 2], "of": path}

    bodies, outcomes = [], []
    every = FeedbackProviderConfig(Commentator(wanted=False), FeedbackTrigger(every_n_calls=1))
    for guided in (False, True):
        script = [calls("table", "a"), Says("End.")]
        task = {"tools": [table], "guided": guided}
        stage = await Stage(kit, script, {"feedback_providers": [every]}, task).run()
        bodies.append(stage.service.bodies)
        outcomes.append(stage.outcomes())
    assert bodies[0] == bodies[1], "the result was changed"
    assert outcomes[1] == [("table", "ok")], f"on record: {outcomes[1]}"


@scenario("a refusal holds for all calls of a response", "refuse")
async def refuses_the_batch(kit: HostKit) -> None:
    ran: list[str] = []

    def remove(path: str) -> str:
        """Remove a file."""
        ran.append(path)
        return "removed"

    speaker = speaks(DecisionPoint.PRE_TOOL_EXECUTION)
    config = GuidanceProviderConfig(speaker, refuse=True)
    script = [calls("remove", "a", "b"), calls("remove", "c"), Says("End.")]
    stage = await played(kit, script, guidance_providers=[config], tools=[remove])
    assert ran == ["c"], f"it ran for {ran}, and the next response asked for 'c'"
    found = stage.outcomes()
    assert found == [*[("remove", "denied")] * 2, ("remove", "ok")], f"on record: {found}"


@scenario("a subagent has a run of its own", "subagent")
async def subagent(kit: HostKit) -> None:
    def answer(body: Json) -> Says:
        seen = texts_in(messages_of(body))
        if "as the scout" in seen and "Please do" not in seen:
            back = seen.count("contents of") == 2
            return Says("The scout is back.") if back else calls("look", "s")
        if "The scout is back." in seen:
            return Says("End.")
        return _delegates(body)

    stage = await played(kit, answer, mode="subagent")
    whose = Counter(call.agent_id is not None for call in stage.session[ToolInvoked].all())
    assert whose[True] == 2, f"calls of the subagent on record: {whose[True]}"
    assert len(stage.session.runs()) == 2, f"{len(stage.session.runs())} runs, expected 2"


def _delegates(body: Json) -> Says:
    """Return the call of the tool by which the runtime starts a subagent, told by its fields."""
    for tool in body.get("tools") or []:
        function = tool.get("function") or tool
        schema = function.get("parameters") or function.get("input_schema") or {}
        fields = list(schema.get("properties") or {})
        if function.get("name") != "look" and "scout" in json.dumps(function):
            texts = {name: "scout" if "type" in name else "Act as the scout" for name in fields}
            return Says(calls=(Ask(function["name"], {k: f"{v}" for k, v in texts.items()}),))
    return Says("There is no subagent.")


@scenario("the runtime's own limit of turns is known", "limit")
async def limit_of_turns(kit: HostKit) -> None:
    script = [*(calls("look", str(n)) for n in range(3)), Says("End.")]
    point = DecisionPoint.PRE_TOOL_SELECTION
    speaker = Speaker(
        text=MARK, decision_points=[point], verdict=lambda context: context.turns_left == 2
    )
    stage = await played(kit, script, guidance_providers=[speaker], max_turns=4)
    stands(stage, 2, kit.host.delivers(point))


@scenario("an agent whose nudges have no effect is ended, with a summary", "stop")
async def ended_without_effect(kit: HostKit) -> None:
    script = [calls("look", "a") for _ in range(9)]
    speaker = GuidanceProviderConfig(
        speaks_always(DecisionPoint.PRE_TOOL_SELECTION), stop_after=2, cooldown_turns=1
    )
    stage = Stage(kit, script, {"guidance_providers": [speaker]})
    try:
        await stage.run()
        shown = stage.played.text
    except AgentStopped as stopped:
        shown = str(stopped)
    assert len(stage.service.bodies) < 6, (
        f"{len(stage.service.bodies)} requests, the model was asked on"
    )
    assert shown.startswith("Stopped: 2 nudges of speaker"), f"it ended with {shown!r}"
    assert "look" in shown, "the summary does not say what was tried"
    [asked] = stage.session[StopRequested].all()
    assert asked.outcome == "asked", f"on record: {asked.outcome}"


@scenario("a shortened history is on record", "compact")
async def compacted(kit: HostKit) -> None:
    def answer(body: Json) -> Says:
        seen = texts_in(messages_of(body))
        if not body.get("tools"):
            return Says("They looked.")
        looked = "contents of" in seen or "They looked" in seen
        return Says("End.") if looked else calls("look", "a")

    stage = await played(kit, answer, mode="compact", user=("Go.", "On.", "Now?"))
    assert len(stage.session[CompactionHappened]) >= 1, "no compaction is on record"


@scenario("a provider that hangs or raises costs its time and no more")
async def broken_providers(kit: HostKit) -> None:
    def hang(_: Any) -> bool:
        time.sleep(3)
        return True

    def fail(_: Any) -> bool:
        raise RuntimeError("broken")

    providers = [Speaker("hangs", "a", verdict=hang), Speaker("raises", "b", verdict=fail)]
    script = [calls("look", "a"), Says("End.")]
    stage = await played(kit, script, guidance_providers=providers, timeout=0.2)
    assert stage.outcomes() == [("look", "ok")], f"on record: {stage.outcomes()}"
    assert not any(stage.hits("<guidance")), "a broken provider spoke"
