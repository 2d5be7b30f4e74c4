"""Recorders: named by a prompt, fed in order, and unable to harm the run."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import attrs
import pytest

from trimtab import (
    DecisionPoint,
    Event,
    GuidanceProviderConfig,
    ManualClock,
    Plan,
    Prompt,
    Recorder,
    RecorderConfig,
    RecorderContext,
    RunRecording,
    Session,
    ToolCall,
    ToolInvoked,
    load_configuration,
)
from trimtab._run import recording
from trimtab.events import (
    CompletionAsked,
    FeedbackAsked,
    GuidanceAsked,
    PromptRendered,
    ProviderFaulted,
    ProviderQuarantined,
    ProviderSlow,
    RunClosed,
    RunOpened,
    ToolStarted,
)
from trimtab.inspection import ProviderInvalid


@attrs.define
class Notes:
    """A recorder that keeps what it hears."""

    name: str = "notes"
    heard: list[object] = attrs.field(factory=list)
    contexts: list[RecorderContext] = attrs.field(factory=list)
    closed: int = 0

    def open(self, context):
        self.contexts.append(context)
        return self

    def record(self, event):
        self.heard.append(event)

    def close(self):
        self.closed += 1

    @property
    def types(self):
        return [type(event).__name__ for event in self.heard]


class Broken(Notes):
    def record(self, event):
        raise OSError("the disk is full")


class NotOpening(Notes):
    def open(self, context):
        raise OSError("no such folder")


class Wrong(Notes):
    def open(self, context):
        return "a path"


def prompt(*recorders, **more):
    return Prompt("a", "b", config=None, recorders=recorders, **more)


def one_call(run, number=0):
    run.tool_started("bash", {"command": "make"}, f"call-{number}")
    return run.tool_finished(f"call-{number}", "ok")


def test_the_protocols_are_satisfied():
    assert isinstance(Notes(), Recorder)
    assert isinstance(Notes(), RunRecording)


def test_a_recorder_hears_the_run_from_its_opening_to_its_end():
    notes = Notes()
    session = Session()
    run = session.open_run(prompt(notes))
    one_call(run)
    run.close("done")
    one_call(session.open_run(prompt()))
    assert notes.types == ["RunOpened", "ToolStarted", "ToolInvoked", "RunClosed"]
    assert notes.heard == [
        *session[RunOpened].tail(2)[:1],
        session[ToolStarted].all()[0],
        session[ToolInvoked].all()[0],
        session[RunClosed].latest(),
    ]
    assert notes.closed == 1


def test_a_recorder_hears_its_own_run_and_records_of_no_run():
    notes = Notes()
    session = Session()
    run = session.open_run(prompt(notes), run_id="mine")
    other = session.open_run(Prompt("c", "d", config=None))
    one_call(other)
    session.dispatch(Plan())
    one_call(run)
    assert notes.types == ["RunOpened", "Plan", "ToolStarted", "ToolInvoked"]


def test_a_recorder_hears_what_hosts_ask_and_the_session_keeps_none_of_it():
    class Guide:
        name, category = "guide", "test"

        def classify(self, *, context):
            from trimtab import NOT_RELEVANT

            return NOT_RELEVANT

        def provide(self, *, context):
            raise AssertionError

    class Checker:
        name = "own"

        def check(self, context):
            from trimtab import TaskCompletionResult

            return TaskCompletionResult.ok()

    notes = Notes()
    clock = ManualClock()
    session = Session(clock=clock)
    run = session.open_run(prompt(notes, guidance_providers=[GuidanceProviderConfig(Guide())]))
    run.render()
    pending = ToolCall("bash", {}, "call-1")
    clock.advance(2.0)
    run.guide(DecisionPoint.PRE_TOOL_EXECUTION, pending=[pending])
    run.feedback()
    run.check_completion(extra=[Checker()], stop_reason="end_turn")
    asked = [event for event in notes.heard if isinstance(event, GuidanceAsked)]
    assert [event.decision_point for event in asked] == [
        DecisionPoint.PRE_RENDER,
        DecisionPoint.PRE_TOOL_EXECUTION,
    ]
    assert asked[1].pending == (pending,)
    assert asked[1].elapsed == 2.0
    stop = next(event for event in notes.heard if isinstance(event, CompletionAsked))
    assert (stop.stop_reason, stop.extra) == ("end_turn", ("own",))
    assert any(isinstance(event, PromptRendered) for event in notes.heard)
    assert not any(isinstance(event, FeedbackAsked) for event in notes.heard)  # nobody to ask
    for kind in (GuidanceAsked, CompletionAsked, PromptRendered):
        assert not len(session[kind])


def test_a_question_tells_how_much_of_the_deadline_is_used():
    from trimtab import Deadline

    notes, clock = Notes(), ManualClock()
    run = Session(clock=clock).open_run(prompt(notes), deadline=Deadline(60.0, clock))
    clock.advance(12.5)
    run.guide(DecisionPoint.PRE_TOOL_SELECTION)
    assert notes.heard[-1].deadline == (60.0, 12.5)


def test_the_context_tells_how_the_prompt_is_set_up():
    notes = Notes()
    Session(keep=7).open_run(prompt(notes, guidance_limit=2, feedback_delivery="all"))
    context = notes.contexts[0]
    assert (context.keep, context.guidance_limit, context.feedback_delivery) == (7, 2, "all")
    assert context.providers == (RecorderConfig(notes),)


def test_a_recorder_that_raises_is_left_after_three_failures_and_the_run_goes_on():
    broken, notes = Broken(), Notes(name="other")
    session = Session()
    run = session.open_run(prompt(broken, notes))
    for number in range(5):
        one_call(run, number)
    run.close()
    faults = session[ProviderFaulted].all()
    assert [fault.error for fault in faults] == ["OSError: the disk is full"] * 3
    assert {fault.source.full_name for fault in faults} == {"notes"}
    assert len(session[ProviderQuarantined]) == 1
    assert notes.types.count("ToolInvoked") == 5
    assert notes.types.count("ProviderFaulted") == 3


class Awaited(Notes):
    async def record(self, event):
        self.heard.append(event)


class ClosedLater(Notes):
    async def close(self):
        self.closed += 1


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("recorder", "said"),
    [
        (Awaited(), "Awaited, whose record is async; write: def record(self, event): …"),
        (ClosedLater(), "ClosedLater, whose close is async; write: def close(self): …"),
    ],
)
def test_a_recorder_that_would_have_to_be_awaited_is_named_when_it_opens(recorder, said):
    session = Session()
    run = session.open_run(prompt(recorder))
    one_call(run)
    run.close()
    (fault,) = session[ProviderFaulted].all()
    assert (fault.hook, fault.error) == ("open", f"WrongReturn: open returned {said}")


@pytest.mark.parametrize("recorder", [NotOpening(), Wrong()])
def test_a_recorder_that_can_not_open_is_one_event(recorder):
    session = Session()
    run = session.open_run(prompt(recorder))
    one_call(run)
    run.close()
    assert len(session[ProviderFaulted]) == 1
    assert session[ProviderFaulted].latest().hook == "open"


@pytest.mark.waits
def test_a_slow_recorder_is_one_event():
    class Slow(Notes):
        def record(self, event):
            time.sleep(0.06)

    session = Session()
    run = session.open_run(prompt(Slow()))
    one_call(run)
    run.close()
    assert len(session[ProviderSlow]) == 1


@pytest.mark.waits
def test_an_overdue_recorder_is_left_behind_where_the_run_has_a_timeout():
    release = threading.Event()

    class Stuck(Notes):
        def record(self, event):
            release.wait(20)

    session = Session()
    began = time.monotonic()
    run = session.open_run(prompt(Stuck()), timeout=0.1)
    for number in range(5):
        one_call(run, number)
    run.close()
    assert time.monotonic() - began < 5
    release.set()
    assert len(session[ProviderQuarantined]) == 1


@pytest.mark.waits
def test_a_recorder_that_another_thread_has_is_waited_for_once(monkeypatch):
    monkeypatch.setattr(recording, "PATIENCE", 0.1)
    held, release = threading.Event(), threading.Event()

    class Stuck(Notes):
        def record(self, event):
            super().record(event)
            if len(self.heard) == 2:
                held.set()
                release.wait(20)

    stuck = Stuck()
    run = Session().open_run(prompt(stuck))
    thread = threading.Thread(target=one_call, args=(run,))
    thread.start()
    held.wait(20)
    began = time.monotonic()
    for number in range(1, 11):
        one_call(run, number)
    taken = time.monotonic() - began
    release.set()
    thread.join()
    run.close()

    assert taken < 1
    assert len(stuck.heard) == 2 + 2 * 11


def test_with_a_timeout_a_recorder_hears_the_same_in_the_same_order():
    here, there = Notes(), Notes()
    for notes, timeout in ((here, None), (there, 5.0)):
        run = Session().open_run(prompt(notes), timeout=timeout)
        for number in range(20):
            one_call(run, number)
        run.close()
    assert here.types == there.types


def test_events_of_many_threads_reach_a_recorder_in_the_order_of_the_record():
    notes = Notes()
    session = Session(keep=None)
    run = session.open_run(prompt(notes))

    def work(thread):
        for number in range(100):
            one_call(run, f"{thread}-{number}")

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    ended = [event for event in notes.heard if isinstance(event, ToolInvoked)]
    assert ended == list(session[ToolInvoked].all())
    started = [event for event in notes.heard if isinstance(event, ToolStarted)]
    assert started == list(session[ToolStarted].all())


def test_opening_a_run_again_opens_its_recorders_again():
    notes = Notes()
    session = Session()
    first = session.open_run(prompt(notes), run_id="r")
    one_call(first)
    again = session.open_run(prompt(notes), run_id="r")
    one_call(again, 1)
    again.close()
    assert notes.types.count("ToolInvoked") == 2
    assert (len(notes.contexts), notes.closed) == (2, 2)


def test_a_fork_is_recorded_by_the_recorders_of_its_prompt():
    notes = Notes()
    session = Session()
    run = session.open_run(prompt(notes))
    one_call(run)
    fork = session.fork_run(run, run_id="fork")
    assert notes.heard[-1].forked_from == run.run_id
    one_call(fork, 1)
    assert notes.heard[-1].run_id == "fork"


def test_a_fork_may_have_recorders_of_its_own():
    notes = Notes()
    session = Session()
    run = session.open_run(prompt())
    fork = session.fork_run(run, recorders=[notes])
    one_call(fork)
    assert notes.types == ["RunOpened", "ToolStarted", "ToolInvoked"]


def test_views_of_one_session_are_equal():
    notes = Notes()
    session = Session()
    for one in (session, session, Session()):
        one.open_run(prompt(notes))
    first, second, other = (context.session for context in notes.contexts)
    assert (first == second, first == other, len({first, second, other})) == (True, False, 2)


def test_a_run_may_have_recorders_of_its_own():
    notes = Notes()
    run = Session().open_run(prompt(), recorders=[notes])
    one_call(run)
    assert notes.types == ["RunOpened", "ToolStarted", "ToolInvoked"]


def test_an_object_that_records_nothing_is_refused():
    with pytest.raises(ProviderInvalid, match="object is not a recorder"):
        prompt(object())


def test_a_configuration_names_recorders(tmp_path: Path):
    file = tmp_path / "trimtab.toml"
    named = '["notes", { use = "other", options = { n = 1 } }]'
    file.write_text(f'[prompts."a/b"]\nrecorders = {named}')
    settings = load_configuration(file).prompts["a/b"]
    assert [config.provider.name for config in settings.recorders] == ["notes", "other"]
    assert settings.recorders[1].provider.options == {"n": 1}


@attrs.frozen
class Remark(Event):
    text: str = ""


@attrs.frozen
class Plain:
    text: str = ""


class Remarks(Notes):
    """A recorder that adds to the run what it is told to return for the start of a call."""

    def __init__(self, *returned):
        super().__init__("remarks")
        self.returned = returned

    def record(self, event):
        super().record(event)
        return self.returned if isinstance(event, ToolStarted) else None


@pytest.mark.parametrize("timeout", [None, 5.0])
def test_what_a_recorder_returns_is_added_to_the_run_and_heard_by_the_others(timeout):
    session, remarks, notes = Session(), Remarks(Remark(text="x"), Plain("y")), Notes()
    prompt = Prompt("a", "b", recorders=[remarks, notes], config=None)
    run = session.open_run(prompt, timeout=timeout)
    run.tool_started("read", {}, "c1")
    run.close()
    added = session[Remark].latest()

    assert (added.run_id, added.text) == (run.run_id, "x")
    assert added.elapsed is not None
    assert session[Plain].all() == (Plain("y"),)
    assert added in notes.heard
    assert added not in remarks.heard


@pytest.mark.parametrize("returned", ["text", ["text"], 7, [Plain("x"), None]])
def test_a_recorder_that_returns_no_list_of_records_has_failed(returned):
    class Wrong(Notes):
        def record(self, event):
            return returned

    session = Session()
    run = session.open_run(Prompt("a", "b", recorders=[Wrong()], config=None))
    run.tool_started("read", {}, "c1")

    assert "a list of attrs records" in session[ProviderFaulted].all()[0].error
    assert session[Plain].all() == ()


def test_two_recorders_that_add_to_the_run_from_many_threads_do_not_wait_for_each_other():
    session = Session()
    recorders = [Remarks(Remark(text="x")), Remarks(Plain("y"))]
    recorders[1].name = "others"
    run = session.open_run(Prompt("a", "b", recorders=recorders, config=None))
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda n: run.tool_started("read", {}, f"c{n}"), range(200)))

    assert len(session[Remark]) == len(session[Plain]) == 200


def test_what_one_thread_adds_while_another_asks_the_recorder_is_no_report_of_it():
    asked, added = threading.Event(), threading.Event()

    class Adds(Notes):
        def record(self, event):
            if getattr(event, "call_id", None) == "first":
                return [Plain("one"), Plain("two")]
            if getattr(event, "call_id", None) == "second":
                asked.set()
                assert added.wait(5)
            return None

    class Listens(Notes):
        def record(self, event):
            if event == Plain("one"):
                pool.submit(run.tool_started, "read", {}, "second")
                assert asked.wait(5)
            if event == Plain("two"):
                added.set()

    session = Session()
    run = session.open_run(prompt(Adds(), Listens(name="listens")))
    with ThreadPoolExecutor(1) as pool:
        run.tool_started("read", {}, "first")

    assert added.is_set()
    assert session[ProviderFaulted].all() == ()
