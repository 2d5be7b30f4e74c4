"""Each request finds its conversation, whatever its program does to the history."""

import gc
import json
import time
import weakref
from concurrent.futures import ThreadPoolExecutor

import attrs
import pytest

from trimtab import GuidanceDelivered, GuidanceProviderConfig
from trimtab.events import GuidanceSuppressed, ModelResponded
from trimtab_proxy._frames import collect_often
from trimtab_proxy._guide import Guide
from trimtab_proxy._identity import Relation, shared_prefix
from trimtab_proxy._items import Answer
from trimtab_trace import JsonlTrace, open_trace, replay

UNIQUE_IDS = {"anthropic-messages", "openai-responses"}
"""APIs of which no two conversations share the id of a call: some services count call_0, call_1."""


@pytest.fixture
def guide(make_prompt, speaker):
    prompt = make_prompt(speaker(calls=(2, 5)))
    with_words = Guide(prompt, prompt)
    yield with_words
    with_words.close()


def calls_of(guide):
    """How many calls each run knows."""
    return sorted(thread.follower.run.state.calls for thread in guide.threads if thread.told)


@pytest.mark.parametrize("name", ['"Bash"', '""', "null", "{}"])
def test_a_call_that_names_no_tool_ends_no_guidance(guide, form, agent_of, story, name):
    def body(parts):
        return json.loads(json.dumps(form.body(parts)).replace('"Bash"', name))

    agent, told, words = agent_of(guide, "s1"), [story.said("Fix it.")], []
    agent.form = attrs.evolve(form, body=body)
    for number in range(3):
        words.append(bool(agent.ask(told).words))
        told += story.step(number)

    assert words == [False, False, True]


def test_a_conversation_goes_on_in_one_run(guide, agent_of, story):
    agent = agent_of(guide, "s1")
    told = [story.said("Fix it.")]
    relations, words = [], []
    for number in range(6):
        decision = agent.ask(told)
        relations.append(decision.relation)
        words.append(bool(decision.words))
        told += story.step(number)

    assert relations == [Relation.NEW, *[Relation.NEXT] * 5]
    assert words == [False, False, True, False, False, True]
    assert guide.counts.runs == 1


def test_a_conversation_without_a_name_goes_on_by_its_calls(guide, agent_of, story, form):
    agent = agent_of(guide)
    told = [story.said("Fix it.")]
    relations = []
    for number in range(4):
        decision = agent.ask(told)
        answer = form.wire.answer(answer_of(form, number))
        guide.answered(decision, answer)
        relations.append(decision.relation)
        told += story.step(number)

    assert relations[2:] == [Relation.NEXT] * 2
    assert guide.counts.runs == 1
    assert calls_of(guide) == [3]


def test_a_confirmed_answer_is_recorded_with_its_time(guide, agent_of, story, form):
    agent, told = agent_of(guide, "s1"), [story.said("Fix it.")]
    for number in range(2):
        decision = agent.ask(told)
        guide.answered(decision, form.wire.answer(answer_of(form, number)))
        told += story.step(number)
    agent.ask(told)

    (thread,) = guide.threads
    responses = thread.talk.session[ModelResponded].all()
    assert [one.turn for one in responses] == [0, 1]
    assert all(one.started <= one.at for one in responses)
    assert [one.started for one in responses] == sorted(one.started for one in responses)


def answer_of(form, number):
    call_id, command = f"call_{number}", {"command": "x"}
    match form.wire.name:
        case "anthropic-messages":
            block = {"type": "tool_use", "id": call_id, "name": "Bash", "input": command}
            return {"type": "message", "content": [block], "stop_reason": "tool_use"}
        case "openai-chat":
            call = {"id": call_id, "function": {"name": "Bash", "arguments": "{}"}}
            message = {"content": None, "tool_calls": [call]}
            return {"choices": [{"message": message, "finish_reason": "tool_calls"}]}
        case "openai-responses":
            call = {"type": "function_call", "call_id": call_id, "name": "Bash", "arguments": "{}"}
            return {"status": "completed", "output": [call]}
        case _:
            part = {"functionCall": {"name": "Bash", "args": command}}
            return {"candidates": [{"content": {"parts": [part]}, "finishReason": "STOP"}]}


def test_a_retry_gets_the_same_words_and_counts_once(guide, agent_of, story):
    agent = agent_of(guide, "s1")
    told = [story.said("Fix it."), *story.step(0), *story.step(1)]
    agent.ask(told[:1])
    first = agent.ask(told)
    second = agent.ask(told)

    assert (first.relation, second.relation) == (Relation.NEXT, Relation.RETRY)
    assert first.words == second.words != ""
    assert calls_of(guide) == [2]


@pytest.mark.parametrize("name", ["s1", None])
def test_a_retry_of_the_first_request_is_no_second_conversation(guide, agent_of, story, name):
    agent = agent_of(guide, name)
    agent.ask(story.said("Fix it."))
    agent.ask(story.said("Fix it."))
    agent.ask(story.said("Fix it."), story.step(0))

    assert calls_of(guide) == [1]


def test_two_agents_with_the_same_first_words_are_two(guide, agent_of, story):
    first, second = agent_of(guide, "s1", "a1"), agent_of(guide, "s1", "a2")
    for agent in (first, second):
        agent.ask(story.said("Look around."))
    for agent in (first, second):
        agent.ask(story.said("Look around."), story.step(0))

    assert calls_of(guide) == [1, 1]


def test_two_agents_without_names_are_told_apart_by_their_calls(guide, agent_of, story, form):
    if form.wire.name not in UNIQUE_IDS:
        pytest.skip("calls of this API have no ids that tell conversations apart")
    agent = agent_of(guide)
    agent.ask(story.said("Go."))
    agent.ask(story.said("Go."))
    agent.ask(story.said("Go."), story.step(1))
    agent.ask(story.said("Go."), story.step(2))
    agent.ask(story.said("Go."), story.step(1), story.step(3))
    agent.ask(story.said("Go."), story.step(2), story.step(4))

    assert calls_of(guide) == [2, 2]


def test_a_question_of_the_program_about_the_conversation_leaves_no_trace(guide, agent_of, story):
    agent = agent_of(guide, "s1")
    told = [story.said("Fix it."), *story.step(0)]
    agent.ask(told[:1])
    agent.ask(told)
    aside = agent.ask(told, story.said("Suggest what the user may ask next."))
    after = agent.ask(told, story.step(1))

    assert aside.words == ""
    assert after.relation is Relation.NEXT
    assert after.words
    assert guide.counts.runs == 1


def test_a_summary_is_no_part_of_the_conversation(guide, agent_of, story):
    agent = agent_of(guide, "s1")
    told = [story.said("Fix it."), *story.step(0)]
    agent.ask(told)
    words = "CRITICAL: Respond with TEXT ONLY. Do NOT call any tools."

    assert agent.ask(told, story.said(words)).relation is Relation.SIDE


def test_a_request_without_tools_is_no_part_of_the_conversation(guide, agent_of, story):
    decision = agent_of(guide, "s1").ask(story.said("Write a title."), tools=[])

    assert decision.relation is Relation.SIDE
    assert decision.words == ""


def test_tools_that_are_listed_elsewhere_make_no_side_request(guide, agent_of, story):
    agent = agent_of(guide, "s1")
    elsewhere = {"tools": None, "tool_choice": "auto"}

    first = agent.ask(story.said("Fix it."), **elsewhere)
    second = agent.ask(story.said("Fix it."), story.step(0), **elsewhere)

    assert [first.relation, second.relation] == [Relation.NEW, Relation.NEXT]


def test_after_compaction_the_run_goes_on(guide, agent_of, story):
    agent = agent_of(guide, "s1")
    agent.ask(story.said("Fix it."), story.step(0))
    agent.ask(story.said("The story so far: a test failed."))
    decision = agent.ask(story.said("The story so far: a test failed."), story.step(1))

    assert decision.relation is Relation.COMPACTED
    assert decision.words
    assert calls_of(guide) == [2]


def test_compaction_that_keeps_the_last_call_is_known_without_a_name(guide, agent_of, story, form):
    if form.wire is not None and form.wire.name == "gemini":
        pytest.skip("calls of this API have no ids")
    agent = agent_of(guide)
    agent.ask(story.said("Fix it."), story.step(0), story.step(1))
    decision = agent.ask(story.said("Summary."), story.step(1), story.step(2))

    assert decision.relation is Relation.COMPACTED
    assert calls_of(guide) == [3]


def test_a_history_that_lost_its_middle_goes_on(guide, agent_of, story, form):
    if form.wire.name == "gemini":
        pytest.skip("calls of this API have no ids")
    agent = agent_of(guide, "s1")
    agent.ask(story.said("Fix it."), *[story.step(n) for n in range(4)])
    decision = agent.ask(story.said("Fix it."), story.step(3), story.step(4))

    assert decision.relation is Relation.TRIMMED
    assert calls_of(guide) == [5]


def test_compaction_that_keeps_the_words_of_the_user_goes_on(guide, agent_of, story):
    agent = agent_of(guide, "s1")
    agent.ask(story.said("Fix it."), story.step(0))
    decision = agent.ask(story.said("Fix it."), story.said("Summary: it fails."), story.step(7))

    assert decision.relation in {Relation.COMPACTED, Relation.REWIND}


def test_going_back_begins_a_run_that_knows_the_shared_part(guide, agent_of, story):
    agent = agent_of(guide, "s1")
    told = [story.said("Fix it."), *story.step(0), *story.step(1), *story.step(2)]
    agent.ask(told[:1])
    agent.ask(told)
    decision = agent.ask(told[:3], story.said("No, otherwise."), story.step(9))

    assert decision.relation is Relation.REWIND
    assert calls_of(guide) == [2]
    assert guide.counts.runs == 2


def test_a_fork_has_a_run_of_its_own_and_the_parent_goes_on(guide, agent_of, story, form):
    if form.wire.name == "gemini":
        pytest.skip("calls of this API have no ids")
    parent, child = agent_of(guide, "s1"), agent_of(guide, "s2")
    told = [story.said("Fix it."), *story.step(0)]
    parent.ask(told)
    forked = child.ask(told, story.said("Try it this way."), story.step(5))
    went_on = parent.ask(told, story.step(6))

    assert (forked.relation, went_on.relation) == (Relation.FORK, Relation.NEXT)
    assert calls_of(guide) == [2, 2]


def test_two_branches_without_names_go_on_apart(guide, agent_of, story, form):
    if form.wire.name not in UNIQUE_IDS:
        pytest.skip("calls of this API have no ids that tell conversations apart")
    agent = agent_of(guide)
    told = [story.said("Fix it."), *story.step(0)]
    agent.ask(told)
    agent.ask(told, story.step(1))
    agent.ask(told, story.step(2))
    agent.ask(told, story.step(1), story.step(3))
    agent.ask(told, story.step(2), story.step(4))

    assert calls_of(guide) == [3, 3]


def test_a_restart_replays_the_history_and_says_nothing_twice(
    make_prompt, speaker, agent_of, story
):
    told = [story.said("Fix it."), *story.step(0), *story.step(1), *story.step(2)]
    guide = Guide(make_prompt(speaker(calls=(2, 4))))
    agent = agent_of(guide, "s1")

    first = agent.ask(told)
    second = agent.ask(told, story.step(3))

    assert first.words == ""
    assert "after 4 calls" in second.words


def test_words_come_only_after_an_answer_of_a_tool(guide, agent_of, story):
    agent = agent_of(guide, "s1")
    told = [story.said("Fix it."), *story.step(0), *story.step(1)]

    assert agent.ask(told, story.said("Wait.")).words == ""
    assert agent.ask(told, story.answered("I wait.")).words == ""


def test_subagents_can_be_guided_by_another_prompt_or_none(make_prompt, speaker, agent_of, story):
    guide = Guide(make_prompt(speaker()), None)
    told = [story.said("Fix it."), *story.step(0), *story.step(1)]
    main, subagent = agent_of(guide, "s1"), agent_of(guide, "s1", "a1")

    assert [bool(main.ask(told[:n]).words) for n in (1, 5)] == [False, True]
    assert not any(subagent.ask(told[:n]).words for n in (1, 5))


def test_calls_that_got_no_answer_were_interrupted(guide, agent_of, story):
    agent = agent_of(guide, "s1")
    call = story.answered("", (("call_0", "sleep 60"),))
    agent.ask(story.said("Fix it."), call, story.said("Stop that."), story.step(1))

    run = next(iter(guide.threads)).follower.run
    assert next(str(c.outcome) for c in run.recent_tool_calls(2)) == "interrupted"


def test_conversations_beyond_the_limit_are_forgotten(make_prompt, speaker, agent_of, story):
    guide = Guide(make_prompt(speaker()), most=3)
    for number in range(20):
        agent_of(guide, f"s{number}").ask(story.said("Go."), story.step(number))

    assert len(guide.threads) == 3
    assert len(guide.threads._by_id) <= 3
    assert len(guide.threads._by_name) == 3


@pytest.fixture
def collecting():
    """The garbage collector as the command sets it."""
    before = gc.get_threshold()
    collect_often()
    yield
    gc.set_threshold(*before)
    gc.unfreeze()


@pytest.mark.parametrize("form", ["anthropic"], indirect=True)
@pytest.mark.usefixtures("collecting")
def test_memory_of_forgotten_conversations_is_freed(make_prompt, speaker, agent_of, story):
    guide, sessions, most = Guide(make_prompt(speaker()), most=2), [], 0
    for number in range(400):
        calls = range(10 * number, 10 * number + 10)
        steps = (story.step(each) for each in calls)
        agent_of(guide, f"s{number}").ask(story.said("Fix it."), *steps)
        sessions += [weakref.ref(thread.talk.session) for thread in guide.threads][-1:]
        most = max(most, sum(session() is not None for session in sessions))

    assert len(guide.threads) == 2
    assert most < 40


def test_the_last_answer_is_told_when_the_proxy_ends(guide, agent_of, story):
    agent = agent_of(guide, "s1")
    decision = agent.ask(story.said("Fix it."), story.step(0))
    run = next(iter(guide.threads)).follower.run
    guide.answered(decision, Answer(text="All done."))
    guide.close()

    assert run.state.last_response.text == "All done."
    assert run.state.closed


def test_history_that_the_service_keeps_is_left_alone(guide, agent_of, story, form):
    if form.wire.name != "openai-responses":
        pytest.skip("only this API keeps histories")
    agent = agent_of(guide, "s1")
    agent.ask(story.said("Fix it."), story.step(0))

    decision = agent.ask(story.ran("call_1"), previous_response_id="resp_1")

    assert (decision.relation, decision.words) == (Relation.STORED, "")


@pytest.mark.parametrize(
    ("first", "second", "shared"),
    [([], [], 0), ("ab", "ab", 2), ("abc", "abd", 2), ("xbc", "abc", 0), ("abcdefg", "abcdxfg", 4)],
)
def test_the_shared_prefix_is_found(first, second, shared):
    assert shared_prefix(list(first), list(second)) == shared


def events_of(thread, kind):
    run = thread.follower.run
    return [event for event in run.session[kind].all() if event.run_id == run.run_id]


def test_what_is_only_replayed_is_not_recorded_as_said(make_prompt, speaker, agent_of, story):
    guide = Guide(make_prompt(speaker(calls=(1, 2))))
    agent_of(guide, "s1").ask(story.said("Fix it."), *[story.step(n) for n in range(3)])
    thread = next(iter(guide.threads))

    assert events_of(thread, GuidanceDelivered) == []
    assert [e.reason for e in events_of(thread, GuidanceSuppressed)] == ["replayed"] * 2


def test_a_fork_knows_what_its_parent_was_told(make_prompt, speaker, agent_of, story, form):
    if form.wire.name == "gemini":
        pytest.skip("calls of this API have no ids")
    once = GuidanceProviderConfig(speaker(calls=(1, 2, 3)), max_per_run=1)
    guide = Guide(make_prompt(once))
    parent, child = agent_of(guide, "s1"), agent_of(guide, "s2")
    told = [story.said("Fix it."), *story.step(0)]
    parent.ask(told[:1])
    first = parent.ask(told)
    forked = child.ask(told, story.said("Otherwise."), story.step(1))

    assert (bool(first.words), bool(forked.words)) == (True, False)
    assert calls_of(guide) == [1, 2]


def test_a_retry_while_the_request_is_still_decided_counts_once(
    make_prompt, speaker, agent_of, story
):
    class Slow(speaker):
        def classify(self, *, context):
            time.sleep(0.2)
            return super().classify(context=context)

    prompt = make_prompt(Slow())
    guide = Guide(prompt, timeout=5)
    agent = agent_of(guide, "s1")
    told = [story.said("Fix it."), *story.step(0), *story.step(1)]
    agent.ask(told[:3])
    with ThreadPoolExecutor(3) as pool:
        decisions = list(pool.map(lambda _: agent.ask(told), range(3)))

    assert calls_of(guide) == [2]
    assert len({decision.words for decision in decisions}) == 1
    assert decisions[0].words


def test_many_branches_of_one_conversation_do_not_share_one_session(guide, agent_of, story):
    told = [story.said("Fix it.")]
    for number in range(3):
        told += story.step(number)
    for number in range(70):
        agent = agent_of(guide, f"s{number}")
        for end in range(3, len(told) + 1, 2):
            agent.ask(told[:end])

    sessions = {id(thread.talk): len(thread.talk.opened) for thread in guide.threads}
    assert len(sessions) > 1
    assert max(sessions.values()) <= 34
    assert calls_of(guide) == [3] * len(guide.threads)


@pytest.fixture
def recorded(make_prompt, speaker, tmp_path):
    return make_prompt(speaker(calls=(1, 2, 3)), recorders=[JsonlTrace(str(tmp_path))])


def test_recorded_branches_of_a_conversation_replay_identically(
    recorded, agent_of, story, form, tmp_path
):
    if form.wire.name == "gemini":
        pytest.skip("calls of this API have no ids")
    prompt = recorded
    guide = Guide(prompt, prompt)
    parent, child, scout = agent_of(guide, "s1"), agent_of(guide, "s2"), agent_of(guide, "s1", "a")
    told = [story.said("Fix it."), *story.step(0), *story.step(1)]
    parent.ask(told)
    child.ask(told[:3], story.said("Try it this way."), story.step(5))
    scout.ask(story.said("Look."), story.step(8))
    parent.ask(told, story.step(6))
    guide.close()

    replays = [
        replay(open_trace(path), prompts={prompt.name: prompt}) for path in tmp_path.iterdir()
    ]
    assert [each.difference for each in replays] == [None] * 3
    assert sum(each.decisions for each in replays) >= 3
