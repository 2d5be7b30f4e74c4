"""Guidance: who is asked, what is chosen, what the agent reads, what is on record."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given, strategies as st

from trimtab import (
    NOT_RELEVANT,
    ClassificationResult,
    DecisionPoint,
    Delivery,
    Episode,
    GuidanceDelivered,
    GuidanceInjection,
    GuidanceProviderConfig,
    Host,
    Proposal,
    Session,
    ToolCall,
    collect_guidance,
    format_guidance,
    hookimpl,
)
from trimtab._policy.guidance import Candidate, EpisodeBook, select
from trimtab.events import (
    GuidanceSuppressed,
    ModelResponded,
    Provenance,
    ProviderKind,
    StopRequested,
)
from trimtab.hosting import Driver

SELECT = DecisionPoint.PRE_TOOL_SELECTION


def about(episode: str) -> ClassificationResult:
    return ClassificationResult(relevant=True, confidence=1.0, reason="seen", episode=episode)


def level(context: Any) -> str:
    return f"level {context.level_of('loop')} at call {context.tool_call_count}"


def test_a_relevant_provider_speaks_and_it_is_on_record(kit: Any) -> None:
    run = kit.run(guidance_providers=[kit.Speaker()])
    kit.call(run)
    batch = run.guide(SELECT)

    assert batch.text == '<guidance source="speaker">Look before you leap.</guidance>'
    event = kit.session[GuidanceDelivered].latest()
    assert event.injection == batch.injections[0]
    assert (event.provider_name, event.decision_point, event.level) == ("speaker", SELECT, 1)
    assert (event.turn, event.call_index, event.delivery) == (0, 0, Delivery.EPHEMERAL)
    assert event.source == Provenance("speaker", ProviderKind.GUIDANCE)
    assert event.timestamp == kit.clock.now()


@pytest.mark.parametrize(("confidence", "spoken"), [(0.7, 1), (0.69, 0)])
def test_the_threshold_is_inclusive_and_provide_waits_for_it(
    kit: Any, confidence: float, spoken: int
) -> None:
    provided: list[int] = []
    speaker = kit.Speaker(
        verdict=ClassificationResult(relevant=True, confidence=confidence),
        text=lambda context: provided.append(1) or "text",
    )
    run = kit.run(guidance_providers=[GuidanceProviderConfig(speaker, min_confidence=0.7)])

    assert len(run.guide(SELECT).injections) == spoken == len(provided)


def test_an_irrelevant_provider_is_silent(kit: Any) -> None:
    run = kit.run(guidance_providers=[kit.Speaker(verdict=NOT_RELEVANT)])

    assert not run.guide(SELECT)
    assert kit.session[GuidanceDelivered].all() == kit.session[GuidanceSuppressed].all() == ()


def test_a_provider_is_asked_only_at_its_points(kit: Any) -> None:
    picky = kit.Speaker(decision_points=[DecisionPoint.PRE_RESPONSE])
    run = kit.run(guidance_providers=[picky])

    assert not run.guide(SELECT)
    assert run.guide(DecisionPoint.PRE_RESPONSE)


def test_a_second_prompt_that_did_not_name_it_hears_nothing(kit: Any) -> None:
    speaking = kit.run("one", guidance_providers=[kit.Speaker()])
    silent = kit.run("two")

    assert speaking.guide(SELECT) and not silent.guide(SELECT)


def test_hook_methods_are_the_second_way(kit: Any) -> None:
    class Hooked:
        name = "hooked"

        @hookimpl
        def guide_pre_tool_selection(self, context: Any) -> Any:
            return GuidanceInjection("bare", "Bare.", category="a")

        @hookimpl
        def guide_pre_response(self, context: Any) -> Any:
            weak = ClassificationResult(relevant=True, confidence=0.1)
            return Proposal(GuidanceInjection("weak", "Weak."), weak)

    run = kit.run(guidance_providers=[Hooked()])

    assert [i.content for i in run.guide(SELECT).injections] == ["Bare."]
    assert not run.guide(DecisionPoint.PRE_RESPONSE)


def test_priority_then_prompt_order_one_per_category_and_a_limit(kit: Any) -> None:
    speakers = [
        kit.Speaker("late", "a", "late", priority=200),
        kit.Speaker("first", "b", "first", priority=1),
        kit.Speaker("twin", "b", "twin", priority=2),
        kit.Speaker("third", "c", "third"),
        kit.Speaker("fourth", "d", "fourth"),
    ]
    run = kit.run(guidance_providers=speakers, guidance_limit=3)
    batch = run.guide(SELECT)

    assert [i.source for i in batch.injections] == ["first", "third", "fourth"]
    reasons = {e.provider_name: e.reason for e in kit.session[GuidanceSuppressed].all()}
    assert reasons == {
        "twin": "another provider has spoken in this category",
        "late": "guidance limit reached",
    }


def test_the_same_text_stands_once_in_a_block(kit: Any) -> None:
    run = kit.run(
        guidance_providers=[kit.Speaker("a", "x", "Same."), kit.Speaker("b", "y", "Same.")]
    )

    assert len(run.guide(SELECT).injections) == 1


def test_an_ignored_loop_is_nudged_with_growing_firmness_and_pauses(kit: Any) -> None:
    run = kit.run(guidance_providers=[kit.Speaker(verdict=about("loop"), text=level)])
    spoken = {}
    for step in range(500):
        kit.call(run)
        if batch := run.guide(SELECT):
            spoken[step] = batch.injections[0].content.split(" at ")[0]

    assert spoken == {0: "level 1", 3: "level 2", 6: "level 3", 12: "level 3"}
    assert len(kit.session[GuidanceSuppressed].all()) == 4


def test_a_second_problem_starts_at_level_one(kit: Any) -> None:
    problem = ["one"]
    speaker = kit.Speaker(
        verdict=lambda context: about(problem[0]),
        text=lambda c: f"{problem[0]} {c.level_of(problem[0])}",
    )
    run = kit.run(guidance_providers=[speaker])
    said = []
    for step in range(40):
        problem[0] = "one" if step < 20 else "two"
        kit.call(run)
        said += [i.content for i in run.guide(SELECT).injections]

    assert said == ["one 1", "one 2", "one 3", "two 1", "two 2", "two 3"]


@pytest.mark.parametrize("how", ["silence", "progress", "user"])
def test_progress_re_arms(kit: Any, how: str) -> None:
    now: list[Any] = [about("loop")]
    run = kit.run(guidance_providers=[kit.Speaker(verdict=lambda context: now[0], text=level)])
    kit.call(run)
    first = run.guide(SELECT).injections[0].content
    if how == "user":
        run.user_message("go on")
    now[0] = (
        ClassificationResult(relevant=False, episode="loop") if how == "progress" else NOT_RELEVANT
    )
    for _ in range(1 if how == "progress" else 4 if how == "silence" else 0):
        kit.call(run)
        run.guide(SELECT)
    now[0] = about("loop")
    kit.call(run)

    assert first.startswith("level 1")
    assert run.guide(SELECT).injections[0].content.startswith("level 1")


def test_limits_per_turn_and_run(kit: Any) -> None:
    config = GuidanceProviderConfig(
        kit.Speaker(text=lambda c: f"{id(object())} {c.decision_point.value}"),
        max_per_turn=1,
        max_per_run=2,
        cooldown_turns=0,
    )
    run = kit.run(guidance_providers=[config])
    counts = []
    for _ in range(4):
        kit.call(run)
        counts.append(
            [len(run.guide(p).injections) for p in (DecisionPoint.POST_TOOL_RESULT, SELECT)]
        )

    assert sum(sum(pair) for pair in counts) <= 2
    assert all(sum(pair) <= 1 for pair in counts)


def test_never_the_same_text_twice_running(kit: Any) -> None:
    config = GuidanceProviderConfig(kit.Speaker(), cooldown_turns=0)
    run = kit.run(guidance_providers=[config])
    kit.call(run)
    first = run.guide(SELECT)
    kit.call(run)

    assert first and not run.guide(SELECT)
    assert kit.session[GuidanceSuppressed].latest().reason == "same text as before"


def test_what_stays_in_history_is_said_once(kit: Any) -> None:
    texts = iter(["A.", "B.", "A."])
    config = GuidanceProviderConfig(kit.Speaker(text=lambda context: next(texts)), cooldown_turns=0)
    host = Host("keeper", {SELECT: Delivery.PERSISTED})
    run = kit.run(guidance_providers=[config], host=host)
    said = []
    for _ in range(3):
        kit.call(run)
        said += [i.content for i in run.guide(SELECT).injections]

    assert said == ["A.", "B."]
    run.compacted()
    texts = iter(["A."])
    kit.call(run)
    assert [i.content for i in run.guide(SELECT).injections] == ["A."]


def test_a_host_that_cannot_deliver_is_not_asked_to(kit: Any) -> None:
    speaker = kit.Speaker()
    run = kit.run(guidance_providers=[speaker], host=Host("mute", {}))

    assert not run.guide(SELECT)
    assert speaker.asked == 0


@pytest.mark.parametrize("refuse", [False, True])
def test_a_refusal_only_where_the_configuration_asks_for_it(kit: Any, refuse: bool) -> None:
    point = DecisionPoint.PRE_TOOL_EXECUTION
    host = Host("stern", {point: Delivery.REFUSAL})
    config = GuidanceProviderConfig(kit.Speaker(), refuse=refuse)
    run = kit.run(guidance_providers=[config], host=host)

    assert bool(run.guide(point)) is refuse


@pytest.mark.parametrize("settings", [{"mode": "shadow"}, {"holdout": 1.0}])
def test_shadow_decides_and_records_and_says_nothing(kit: Any, settings: Any) -> None:
    config = GuidanceProviderConfig(kit.Speaker(verdict=about("loop"), text=level), **settings)
    run = kit.run(guidance_providers=[config])
    for _ in range(8):
        kit.call(run)
        assert not run.guide(SELECT)

    shadows = [e for e in kit.session[GuidanceSuppressed].all() if e.reason == "in shadow"]
    assert [e.turn for e in shadows] == [0, 3, 6]


def test_holdout_keeps_about_its_share_of_runs_silent(kit: Any) -> None:
    config = GuidanceProviderConfig(kit.Speaker(), holdout=0.3)
    spoke = [
        bool(kit.run(guidance_providers=[config], run_id=f"r{n}").guide(SELECT)) for n in range(300)
    ]

    assert 0.6 < sum(spoke) / 300 < 0.8


def test_what_the_context_tells(kit: Any) -> None:
    seen: list[Any] = []
    watcher = kit.Speaker(verdict=lambda context: seen.append(context) or NOT_RELEVANT)
    host = Host("h", tools=frozenset({"read"}))
    run = kit.run(guidance_providers=[watcher], host=host)
    call = kit.call(run)
    pending = (ToolCall("read", {"path": "b"}, "c9"),)
    run.guide(DecisionPoint.PRE_TOOL_EXECUTION, pending=pending)
    before = seen[0].rendered_prompt
    rendered = run.render()
    run.guide(SELECT)
    first, last = seen[0], seen[-1]

    assert (before, last.rendered_prompt) == (None, rendered)
    assert (first.pending_tool_calls, last.pending_tool_calls) == (pending, ())
    assert (last.turn_count, last.tool_call_count, last.last_call) == (1, 1, call)
    assert last.last_response == kit.session[ModelResponded].latest()
    assert (last.host, last.tools) == (host, {"read"})
    assert last.session[ModelResponded] is kit.session[ModelResponded]
    assert (last.prompt, last.deadline, last.budget) == (run.prompt, None, None)
    assert last.usage == run.usage
    assert last.recent_tool_calls(3) == (call,)


def test_another_provider_can_follow_an_episode_by_category(kit: Any) -> None:
    seen: list[Any] = []
    watcher = kit.Speaker(
        "watcher", verdict=lambda context: seen.append(context.episodes) or NOT_RELEVANT
    )
    loop = kit.Speaker("loop", "loop", level, about("loop"))
    run = kit.run(guidance_providers=[loop, watcher])
    for _ in range(2):
        kit.call(run)
        run.guide(SELECT)

    assert seen[0] == {}
    assert seen[1]["loop"][0].level == 1


def test_decisions_after_a_restore_are_the_same(kit: Any) -> None:
    def play(run: Any, steps: range) -> list[str]:
        said = []
        for _ in steps:
            kit.call(run)
            said += [i.content for i in run.guide(SELECT).injections]
        return said

    run = kit.run(guidance_providers=[kit.Speaker(verdict=about("loop"), text=level)])
    play(run, range(5))
    text = kit.session.snapshot()
    expected = play(run, range(5, 20))
    restored = Session.restore(text, clock=kit.clock).open_run(run.prompt, run_id=run.run_id)

    assert play(restored, range(5, 20)) == expected == ["level 3 at call 7", "level 3 at call 13"]


def test_collect_guidance_and_render(kit: Any) -> None:
    run = kit.run(guidance_providers=[kit.Speaker()])
    injections = collect_guidance(run.guidance_context(SELECT), decision_point=SELECT)
    kit.call(run)
    rendered = run.render()

    assert format_guidance(injections).startswith("<guidance")
    assert run.rendered == rendered
    assert rendered.text.strip() == ""


@given(st.text(min_size=1, max_size=500), st.text(max_size=40))
def test_any_text_gives_one_well_formed_block_or_is_refused(content: str, source: str) -> None:
    try:
        injection = GuidanceInjection("k", content, source=source)
    except ValueError:
        assert not content.isprintable()
        return
    block = ElementTree.fromstring(format_guidance([injection]))

    assert block.tag == "guidance" and not list(block)


@pytest.mark.parametrize(
    "fields",
    [
        {"key": "UPPER", "content": "x"},
        {"key": "", "content": "x"},
        {"key": "k" * 65, "content": "x"},
        {"key": "k", "content": ""},
        {"key": "k", "content": "x" * 501},
        {"key": "k", "content": "esc \x1b[31m"},
        {"key": "k", "content": "half \ud800"},
        {"key": "k", "content": "unseen \U000e0068\U000e0069"},
        {"key": "k", "content": 3},
        {"key": "k", "content": "bidi \u202e"},
    ],
)
def test_an_injection_is_checked(fields: Any) -> None:
    with pytest.raises(ValueError, match=r"key|content"):
        GuidanceInjection(**fields)


@pytest.mark.parametrize("confidence", [-0.1, 1.1, float("nan")])
def test_a_confidence_is_a_share(confidence: float) -> None:
    with pytest.raises(ValueError, match="confidence"):
        ClassificationResult(relevant=True, confidence=confidence)


@given(
    st.lists(
        st.tuples(st.integers(0, 3), st.sampled_from("abc"), st.sampled_from("xyz")), max_size=8
    ),
    st.integers(1, 4),
)
def test_selection_keeps_its_rules(proposals: list[tuple[int, str, str]], limit: int) -> None:
    candidates = [
        Candidate(
            Provenance(f"p{n}", ProviderKind.GUIDANCE),
            GuidanceProviderConfig(object()),
            n,
            Proposal(GuidanceInjection("k", text, priority=priority, category=category)),
        )
        for n, (priority, category, text) in enumerate(proposals)
    ]
    chosen, dropped = select(candidates, limit=limit)

    assert len(chosen) <= limit and len(chosen) + len(dropped) == len(candidates)
    assert len({c.injection.category for c in chosen}) == len(chosen)
    assert list(chosen) == sorted(chosen, key=lambda c: (c.injection.priority, c.order))
    if candidates:
        assert chosen[0] == min(candidates, key=lambda c: (c.injection.priority, c.order))


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 3)), max_size=30))
def test_levels_rise_by_one_and_start_at_one(nudges: list[tuple[str, int]]) -> None:
    book, turn = EpisodeBook(), 0
    for key, pause in nudges:
        turn += pause
        before = {one.key: one for one in book.all()}.get(key)
        episode = book.nudged(key, "c", "p", turn)
        assert episode.level == min(3, before.level + 1 if before else 1)


def test_pauses_double_from_the_third_nudge_on() -> None:
    waits = [Episode("k", "c", "p", 1, n, 0, 0).waits_until(3) for n in (1, 2, 3, 4, 5)]

    assert waits == [3, 3, 6, 12, 24]


@pytest.mark.parametrize(("paced", "spoken"), [(False, 1), (True, 5)])
def test_who_paces_itself_has_limits_and_no_pauses(kit: Any, paced: bool, spoken: int) -> None:
    kind = type("Metronome", (kit.Speaker,), {"paces_itself": paced})
    provider = GuidanceProviderConfig(kind("tick", text="the same"), max_per_run=5)
    run = kit.run(guidance_providers=[provider])
    said = []
    for _ in range(8):
        run.model_responded(text="on")
        said.append(bool(run.guide(DecisionPoint.PRE_TOOL_SELECTION)))

    assert said == [n < spoken for n in range(8)]
    assert bool(run.state.episodes.all()) is not paced
    reasons = [event.reason for event in kit.session[GuidanceSuppressed].all()]
    assert reasons == ["run budget used up"] if paced else "cooling down" in reasons


def stuck(kit: Any, turns: int, host: Host, **settings: Any) -> Any:
    """Return a run in which a provider sees one problem in each turn, after some turns."""
    text = lambda context: f"number {context.turn_count}"  # noqa: E731
    provider = GuidanceProviderConfig(kit.Speaker(text=text, verdict=about("loop")), **settings)
    run = kit.run(guidance_providers=[provider], host=host)
    run.user_message("Do it.")
    for number in range(turns):
        run.model_responded(tool_calls=[ToolCall("look", {"path": "a"}, f"c{number}")])
        run.tool_finished(f"c{number}", "seen")
        run.guide(SELECT)
    return run


def test_nudges_without_effect_ask_the_host_to_end_the_turn(kit: Any) -> None:
    run = stuck(kit, 12, Host(stops=True), stop_after=2, cooldown_turns=2)
    delivered = [event.turn for event in kit.session[GuidanceDelivered].all()]
    [asked] = kit.session[StopRequested].all()

    assert (delivered, asked.turn, asked.nudges) == ([0, 2], 4, 2)
    assert asked.summary.splitlines() == [
        "Stopped: 2 nudges of speaker had no effect.",
        'The agent was told: "number 3"',
        "Its last calls: look {'path': 'a'} → ok (5 times)",
    ]
    assert Driver(run).stop_request == asked
    assert run.check_completion(extra=[kit.Checker()]).reason == "nudges of speaker had no effect"


@pytest.mark.parametrize(
    ("host", "mode", "outcome"),
    [(Host(), "live", "unsupported"), (Host(stops=True), "shadow", "shadow")],
)
def test_a_stop_that_nobody_is_asked_for_is_on_record_once(
    kit: Any, host: Host, mode: Any, outcome: str
) -> None:
    run = stuck(kit, 30, host, stop_after=2, cooldown_turns=1, mode=mode)

    assert [event.outcome for event in kit.session[StopRequested].all()] == [outcome]
    assert Driver(run).stop_request is None
    assert run.state.guidance.spoken["speaker"].total > 2


def test_without_stop_after_nothing_asks_for_an_end(kit: Any) -> None:
    stuck(kit, 30, Host(stops=True))

    assert not kit.session[StopRequested].all()


def test_a_request_to_stop_is_restored_and_ends_with_the_next_request_of_the_user(
    kit: Any,
) -> None:
    run = stuck(kit, 6, Host(stops=True), stop_after=1, cooldown_turns=1)
    later = Session.restore(kit.session.snapshot(), clock=kit.clock)
    resumed = later.open_run(run.prompt, run_id=run.run_id, host=run.host)

    assert Driver(resumed).stop_request == kit.session[StopRequested].latest()
    resumed.user_message("Go on.")
    assert Driver(resumed).stop_request is None
    resumed.model_responded(text="on")
    assert resumed.guide(SELECT).text


@pytest.mark.parametrize(("turns", "level_then"), [(3, 2), (4, 1)])
def test_an_episode_ends_after_three_turns_in_which_nothing_was_seen(
    kit: Any, turns: int, level_then: int
) -> None:
    seen_at = {1, 1 + turns}
    speaker = kit.Speaker(
        text=level, verdict=lambda c: about("loop") if c.tool_call_count in seen_at else False
    )
    run = kit.run(guidance_providers=[GuidanceProviderConfig(speaker, cooldown_turns=0)])
    for _ in range(1 + turns):
        kit.call(run)
        run.guide(SELECT)

    assert [event.level for event in kit.session[GuidanceDelivered].all()] == [1, level_then]


def test_no_stop_is_asked_for_in_the_turn_of_the_nudge(kit: Any) -> None:
    speaker = kit.Speaker(text=lambda c: f"at {c.decision_point}", verdict=about("loop"))
    config = GuidanceProviderConfig(speaker, cooldown_turns=0, stop_after=1)
    run = kit.run(guidance_providers=[config], host=Host(stops=True))
    kit.call(run)
    run.guide(SELECT)
    run.guide(DecisionPoint.PRE_RESPONSE)
    at_once = kit.session[StopRequested].latest()
    kit.call(run)
    run.guide(SELECT)

    assert at_once is None
    assert kit.session[StopRequested].latest() is not None
