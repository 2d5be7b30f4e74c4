"""Sessions come back from their journals, whatever happened to the process or the disk."""

import threading
from datetime import UTC, datetime

import pytest
from hypothesis import example, given, settings, strategies as st

from trimtab import (
    ClassificationResult,
    DecisionPoint,
    GuidanceInjection,
    ManualClock,
    Prompt,
    TaskCompletionResult,
)
from trimtab_claude_code._files import Busy, locked
from trimtab_claude_code._guided_session import (
    BYTES_BEFORE_SNAPSHOT,
    EVENTS_BEFORE_SNAPSHOT,
    GuidedSession,
)
from trimtab_claude_code._journal import Journal, Moment, ReplayClock, session_file


class Counter:
    """Says after each turn how many calls there were, and when."""

    name, category = "counter", "test"
    decision_points = (DecisionPoint.PRE_TOOL_SELECTION,)

    def __init__(self, clock):
        self.clock, self.seconds, self.asked = clock, 0.0, 0

    def classify(self, *, context):
        self.clock.advance(self.seconds)
        self.asked += 1
        return ClassificationResult(relevant=True, episode=f"call-{context.tool_call_count}")

    def provide(self, *, context):
        seconds = context.active_seconds
        return GuidanceInjection("count", f"{context.tool_call_count} calls, {seconds:.0f} s")


class Never:
    """Never lets the agent stop; counts how often it was asked."""

    asked = 0

    def check(self, context):
        self.asked += 1
        return TaskCompletionResult.incomplete("More.")


def event(name, **fields):
    return {"session_id": "s", "hook_event_name": name, **fields}


def turn(number, **more):
    """The events of a turn with one call."""
    call = {"tool_name": "Bash", "tool_input": {"command": "ls"}, "tool_use_id": f"t{number}"}
    yield event("PreToolUse", **call, **more)
    yield event("PostToolUse", **call, tool_response={"stdout": "x"}, duration_ms=1, **more)
    yield event("PostToolBatch", tool_calls=[{**call, "tool_response": "x"}], **more)


def words(answer):
    return answer.get("hookSpecificOutput", {}).get("additionalContext", "")


@pytest.fixture
def life(tmp_path):
    """Make sessions over one journal, each as a fresh process would."""
    clock = ManualClock(seconds=1000.0)
    checker, counter = Never(), Counter(clock)
    prompt = Prompt(
        "test", "main", guidance_providers=[counter], completion_checkers=[checker], config=None
    )

    class Life:
        def __init__(self):
            self.problems = []
            self.never, self.counter, self.prompt = checker, counter, prompt
            self.time = clock
            self.journal = Journal(tmp_path / "s.jsonl")

        def begin(self, **more):
            return GuidedSession(
                Journal(self.journal.path),
                lambda kind: prompt,
                self.problems.append,
                clock=ReplayClock(clock),
                **more,
            )

        def tell(self, events):
            """Tell each event to a process of its own; return the words of the last."""
            said = ""
            for told in events:
                clock.advance(1)
                guided = self.begin()
                said = words(guided.answer(told))
            return said

    return Life()


def test_every_event_may_have_a_process_of_its_own(life):
    said = [life.tell(turn(number)) for number in range(1, 4)]

    assert [text.split(" calls")[0][-1] for text in said] == ["1", "2", "3"]
    assert life.problems == []


def test_time_goes_on_between_processes_and_after_a_restart_of_the_machine(life):
    life.tell(turn(1))
    life.time.seconds = 0.0

    assert "2 calls, 4 s" in life.tell(turn(2))  # a pause between two processes does not count


def test_the_journal_is_replaced_by_a_snapshot_from_time_to_time(life):
    turns = EVENTS_BEFORE_SNAPSHOT // 3 + 1
    for number in range(turns):
        life.tell(turn(number))

    recorded = life.journal.read()

    assert recorded.snapshot
    assert len(recorded.received) < EVENTS_BEFORE_SNAPSHOT
    (run,) = life.begin().session.runs().values()
    assert run.calls == turns


def test_large_events_are_replaced_by_a_snapshot_sooner(life):
    guided = life.begin()
    words = "word " * 1_500
    count = BYTES_BEFORE_SNAPSHOT // len(words) + 2
    for number in range(count):
        guided.answer(event("UserPromptSubmit", prompt=f"{number} {words}"))
        guided.after({})

    recorded = life.journal.read()

    assert count < EVENTS_BEFORE_SNAPSHOT
    assert recorded.snapshot
    assert len(recorded.received) < 5


def test_a_checker_is_not_asked_again_when_the_journal_is_read(life):
    for _ in range(3):
        assert "More." in life.tell([event("Stop", last_assistant_message="Done.")])
    assert life.tell([event("Stop", last_assistant_message="Done.")]) == ""

    assert life.never.asked <= 4
    life.begin()
    assert life.never.asked <= 4


def test_what_took_long_is_not_done_again_when_the_journal_is_read(life):
    guided = life.begin()
    life.counter.seconds = 1.0
    said = [words(guided.answer(told)) for told in turn(1)]
    life.counter.seconds = 0.0
    asked = life.counter.asked

    life.begin()

    assert "1 calls" in said[-1]
    assert life.counter.asked == asked


@pytest.mark.slow
@settings(max_examples=40)
@given(cut=st.integers(0, 3000), junk=st.binary(max_size=40))
def test_a_damaged_end_costs_the_last_event_at_most(tmp_path_factory, cut, junk):
    journal = Journal(tmp_path_factory.mktemp("j") / "s.jsonl")
    moment = Moment(datetime(2026, 1, 1, tzinfo=UTC), 1.0)
    for number in range(20):
        journal.append(moment, event("PreToolUse", n=number))
    whole = journal.path.read_bytes()
    journal.path.write_bytes(whole[: len(whole) - cut] + junk.replace(b"\n", b""))

    journal = Journal(journal.path)  # as another process would
    journal.append(moment, event("Stop", n=99))

    told = [one.payload["n"] for one in journal.read().received]
    kept = max(0, whole[: len(whole) - cut].count(b"\n") - 1)  # the first line is the origin
    assert told[:kept] == list(range(kept))
    assert told[-1] == 99
    assert len(told) <= kept + 2


@pytest.mark.parametrize("text", ["[]", "null", '{"at": 1}', '{"at": "x", "seconds": 1}', "\0"])
def test_lines_that_are_none_are_left_out(tmp_path, text):
    journal = Journal(tmp_path / "s.jsonl")
    journal.path.write_text(f"{text}\n")

    assert journal.read().received == ()


def test_a_damaged_snapshot_begins_anew_and_says_so(life):
    life.tell([event("Stop", last_assistant_message="Done.")])
    assert life.journal.read().snapshot
    text = life.journal.path.read_text()
    life.journal.path.write_text(text.replace("version", "vision"))

    assert "1 calls" in life.tell(turn(1))
    assert "starts anew" in life.problems[0]


def test_a_disk_that_takes_nothing_stops_nothing(life, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Journal, "append", full)
    monkeypatch.setattr(Journal, "replace", full)
    guided = life.begin()

    said = [words(guided.answer(told)) for told in turn(1)]

    assert "1 calls" in said[-1]
    assert guided.answer(event("Stop", last_assistant_message="Done."))
    assert any("No space left" in problem for problem in life.problems)


def test_parallel_events_are_all_recorded(life):
    guided = life.begin()
    starts = [next(iter(turn(number))) for number in range(40)]
    threads = [threading.Thread(target=guided.answer, args=(told,)) for told in starts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(life.journal.read().received) == 40
    (run,) = life.begin().session.runs().values()
    assert len(run.running) == 40


def test_a_process_whose_place_was_taken_overwrites_nothing(life):
    first = life.begin()
    for told in turn(1):
        first.answer(told)
    first.answer(next(iter(turn(2))))

    second = life.begin()
    second.answer(event("UserPromptSubmit", prompt="More."))
    first.answer(event("Stop", last_assistant_message="Done."))
    first.release()
    for told in turn(3):
        second.answer(told)

    (run,) = life.begin().session.runs().values()
    assert run.calls == 3  # that of the second turn was interrupted
    assert life.problems == []


CALLS = [("cat missing", True), ("make test", True), ("ls", False), ("cat missing", False)]
FAILING = [CALLS[number] for number in (0, 1, 1, 0, 1, 0, 0, 0, 1)]


def call_events(number, command, failed):
    """The events of a turn with one call, which may fail."""
    call = {"tool_name": "Bash", "tool_input": {"command": command}, "tool_use_id": f"t{number}"}
    yield event("PreToolUse", **call)
    if failed:
        yield event(
            "PostToolUseFailure", **call, error=f"Exit code 1\n{command}: no", duration_ms=1
        )
    else:
        yield event("PostToolUse", **call, tool_response={"stdout": f"{number}"}, duration_ms=1)
    answer = f"{command}: no" if failed else f"{number}"
    yield event("PostToolBatch", tool_calls=[{**call, "tool_response": answer}])


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(
    calls=st.lists(st.sampled_from(CALLS), min_size=3, max_size=12),
    restarts=st.sets(st.integers(0, 40), max_size=6),
)
@example(calls=FAILING, restarts={10})  # a restart shortened the time between two calls
def test_restarts_change_no_decision(tmp_path_factory, calls, restarts):
    pytest.importorskip("trimtab_doom_loop")
    pytest.importorskip("trimtab_diagnostic_signal")
    names = ["doom-loop", "diagnostic-signal"]

    def outputs(restarts):
        clock = ManualClock(seconds=1000.0)
        journal = Journal(tmp_path_factory.mktemp("j") / "s.jsonl")
        prompt = Prompt("a", "b", guidance_providers=names, config=None)

        def begin():
            return GuidedSession(
                Journal(journal.path),
                lambda _: prompt,
                notes.append,
                session_id="s",
                clock=ReplayClock(clock),
            )

        notes, found = [], []
        guided = begin()
        events = [event("UserPromptSubmit", prompt="Go.")]
        events += [e for n, call in enumerate(calls) for e in call_events(n, *call)]
        for number, told in enumerate(events):
            if number in restarts:
                guided = begin()
            clock.advance(1)
            found.append(guided.answer(told))
        assert notes == []
        return found

    assert outputs(restarts) == outputs(set())


def test_a_deadline_goes_on_in_the_next_process(life):
    guided = life.begin(timeout=100)
    guided.answer(event("SessionStart", source="startup"))
    guided.answer(event("UserPromptSubmit", prompt="Go."))
    life.time.advance(70)

    again = life.begin(timeout=100)
    again.answer(event("UserPromptSubmit", prompt="Go on."))

    assert 25 < again._hooks._deadline.remaining().total_seconds() < 31

    again.answer(event("SessionStart", source="resume"))
    assert again._hooks._deadline.remaining().total_seconds() > 99


def test_journals_are_for_the_user_alone(life):
    life.tell(turn(1))

    assert life.journal.path.stat().st_mode & 0o077 == 0


def test_a_lock_is_waited_for_and_not_for_ever(tmp_path):
    path = tmp_path / "s.lock"
    with locked(path, 1.0), pytest.raises(Busy, match=r"s\.lock"), locked(path, 0.05):
        pass
    with locked(path, 0.05):
        assert path.exists()


def test_ids_of_any_kind_stay_in_their_folder(tmp_path):
    ids = ("../../x", "a/b", "", "x" * 5000, "\0", "plain-1")
    paths = [session_file(tmp_path, session_id) for session_id in ids]

    assert {path.parent for path in paths} == {tmp_path / "sessions"}
    assert len(set(paths)) == len(paths)
    assert paths[-1].name == "plain-1.jsonl"
