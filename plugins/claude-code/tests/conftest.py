"""A hook's life without a program: payloads in the shape that Claude Code sends."""

import json
from pathlib import Path

import attrs
import pytest

from trimtab import (
    ClassificationResult,
    DecisionPoint,
    Feedback,
    FeedbackProviderConfig,
    FeedbackTrigger,
    GuidanceInjection,
    Prompt,
    Session,
)
from trimtab_claude_code.hooks import ClaudeCodeHooks

DATA = Path(__file__).parent / "data"


@attrs.frozen
class Speaker:
    """Guidance at chosen points, each time with the number of calls so far."""

    name: str = "speaker"
    category: str = "test"
    decision_points: tuple = (DecisionPoint.PRE_TOOL_SELECTION,)
    text: str = "{calls} calls"

    def classify(self, *, context):
        return ClassificationResult(relevant=True, episode=f"call-{context.tool_call_count}")

    def provide(self, *, context):
        return GuidanceInjection("count", self.text.format(calls=context.tool_call_count))


@attrs.frozen
class Reporter:
    """Feedback whenever it is asked."""

    name: str = "reporter"

    def should_run(self, *, context):
        return True

    def provide(self, *, context):
        return Feedback(provider_name=self.name, summary=f"{context.tool_call_count} calls made")


class Told:
    """Payloads of one conversation, made as the program makes them."""

    def __init__(self, session_id="conversation", **agent):
        self.common = {"session_id": session_id, "cwd": "/work", **agent}
        self.calls = []

    def event(self, name, **fields):
        return {**self.common, "hook_event_name": name, **fields}

    def pre(self, tool="Bash", params=None, call_id=None):
        call_id = call_id or f"toolu_{len(self.calls)}"
        self.calls.append(call_id)
        return self.event("PreToolUse", **self.call(tool, params, call_id))

    def post(self, response="done", tool="Bash", params=None, call_id=None):
        call = self.call(tool, params, call_id or self.calls[-1])
        return self.event("PostToolUse", **call, tool_response=response, duration_ms=5)

    def failure(self, error="Exit code 1", tool="Bash", params=None, call_id=None, **more):
        call = self.call(tool, params, call_id or self.calls[-1])
        return self.event("PostToolUseFailure", **call, error=error, duration_ms=5, **more)

    def batch(self, *answers, tool="Bash"):
        """A batch of (call id, answer)."""
        calls = [{**self.call(tool, None, i), "tool_response": text} for i, text in answers]
        return self.event("PostToolBatch", tool_calls=calls)

    def stop(self, text="Done.", **more):
        return self.event("Stop", last_assistant_message=text, background_tasks=[], **more)

    @staticmethod
    def call(tool, params, call_id):
        params = {"command": "ls"} if params is None else params
        return {"tool_name": tool, "tool_input": params, "tool_use_id": call_id}


@pytest.fixture
def told():
    return Told()


@pytest.fixture
def session():
    return Session()


@pytest.fixture
def guided(session):
    """Make hooks over the session, from what a prompt declares."""

    def make(*guidance, feedback=(), completion=(), **more):
        triggered = [
            FeedbackProviderConfig(each, FeedbackTrigger(every_n_calls=1)) for each in feedback
        ]
        prompt = Prompt(
            "test",
            "main",
            guidance_providers=guidance,
            feedback_providers=triggered,
            completion_checkers=completion,
            config=None,
        )
        return ClaudeCodeHooks(session, prompt, **more)

    return make


@pytest.fixture
def recorded():
    """A whole session's payloads, hand-made after real ones."""
    return [json.loads(line) for line in (DATA / "session.jsonl").read_text().splitlines()]


@pytest.fixture
def speaker():
    return Speaker


@pytest.fixture
def reporter():
    return Reporter


@pytest.fixture
def another():
    return Told
