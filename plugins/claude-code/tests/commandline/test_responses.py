"""What the journal says of responses: read from the program's own transcript."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from trimtab import Prompt
from trimtab_claude_code._guided_session import GuidedSession
from trimtab_claude_code._responses import Responses
from trimtab_trace import JournalOpened, SessionJournal
from trimtab_trace._journal.sessions import JournalSession

USAGE = {
    "input_tokens": 10,
    "cache_creation_input_tokens": 5,
    "cache_read_input_tokens": 85,
    "output_tokens": 20,
}


def at(second: int) -> str:
    return datetime(2026, 1, 1, 0, 0, second, tzinfo=UTC).isoformat().replace("+00:00", "Z")


def answer(name: str, second: int, *content: dict, usage: object = USAGE) -> dict:
    message = {"id": name, "model": "claude-x", "content": list(content), "usage": usage}
    return {"type": "assistant", "timestamp": at(second), "message": message}


def asked(second: int) -> dict:
    return {"type": "user", "timestamp": at(second), "message": {"role": "user", "content": "x"}}


CALL = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {}}


@pytest.fixture
def transcript(tmp_path):
    return tmp_path / "transcript.jsonl"


def append(path: Path, *rows: object) -> None:
    with path.open("a", encoding="utf-8") as file:
        file.writelines((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows)


def event(path: Path, name: str, **more: object) -> dict:
    return {"session_id": "s", "hook_event_name": name, "transcript_path": str(path), **more}


def test_model_tokens_and_times_of_each_response_stand_in_the_journal(tmp_path, transcript):
    append(transcript, asked(0), answer("msg_earlier", 1))
    recorder = SessionJournal("s", JournalOpened(host="claude-code"), folder=tmp_path / "journals")
    prompt = Prompt("test", "main", config=None)
    problems: list[str] = []
    guided = GuidedSession(None, lambda kind: prompt, problems.append, recorder=recorder)

    def tell(name: str, **more: object) -> None:
        told = event(transcript, name, **more)
        guided.answer(told)
        guided.after(told)

    tell("UserPromptSubmit", prompt="Go.")
    append(transcript, asked(2), answer("msg_1", 4, {"type": "text"}), answer("msg_1", 5, CALL))
    call = {"tool_name": "Bash", "tool_input": {}, "tool_use_id": "t1"}
    tell("PreToolUse", **call)
    tell("PostToolUse", **call, tool_response="x")
    tell("PostToolBatch", tool_calls=[call])
    append(transcript, asked(6), answer("msg_2", 7))
    tell("Stop", last_assistant_message="Done.")
    tell("SessionEnd", reason="other")
    guided.release()

    (path,) = (tmp_path / "journals").iterdir()
    session = JournalSession(path)
    session.read_on()
    assert problems == []
    assert (session.model, session.provider, session.turns) == ("claude-x", "anthropic", 2)
    use = session.use
    assert (use.responses, use.input_tokens, use.output_tokens, use.seconds) == (2, 200, 40, 4.0)
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    first, second = (row["payload"] for row in rows if row["event_type"] == "ResponseMeasured")
    assert (first["response_id"], first["call_ids"]) == ("msg_1", ["t1"])
    assert (second["response_id"], second["usage"]["cached_tokens"]) == ("msg_2", 85)


@pytest.mark.parametrize(
    "rows",
    [
        ["no json", "[1]", "[" * 5_000],
        [{"type": "assistant"}, {"type": "assistant", "message": 3}],
        [{"type": "assistant", "timestamp": 5, "message": {"id": [], "content": 3}}],
        [answer("msg_2", 1, 3, {"type": "tool_use"}, usage={"input_tokens": "x"})],
        [answer("msg_2", 1, usage={"input_tokens": -1})],
        [answer("msg_2", 1, usage={"input_tokens": 10**40})],
    ],
)
def test_rows_that_make_no_sense_hold_no_other_up(transcript, rows):
    responses = Responses()
    assert responses.after(event(transcript, "UserPromptSubmit")) == []
    append(transcript, asked(0), *rows, answer("msg_1", 1))

    found = responses.after(event(transcript, "Stop"))

    assert found[-1].response_id == "msg_1"
    assert responses.after(event(transcript, "Stop")) == []


def test_a_row_that_is_not_whole_yet_is_read_later_and_a_missing_file_is_no_error(transcript):
    responses = Responses()
    assert responses.after(event(transcript, "Stop")) == []
    assert responses.after(event(transcript, "Stop", transcript_path=3)) == []
    line = json.dumps(answer("msg_1", 1))
    transcript.write_text(line)
    assert responses.after(event(transcript, "Stop")) == []
    transcript.write_text(line + "\n")

    assert [one.response_id for one in responses.after(event(transcript, "Stop"))] == ["msg_1"]


def test_a_subagents_transcript_is_read_when_it_stops(tmp_path, transcript):
    responses = Responses()
    own = tmp_path / "agent-a1.jsonl"
    append(own, asked(0), {**answer("msg_9", 2), "agentId": "a1"})

    (one,) = responses.after(event(transcript, "SubagentStop", agent_transcript_path=str(own)))

    assert (one.agent, one.ended.second - one.started.second) == ("a1", 2)
