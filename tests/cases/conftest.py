"""Public cases, driven through the engine as a host drives it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import timedelta
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest

from trimtab import (
    Budget,
    Deadline,
    DecisionPoint,
    Feedback,
    Host,
    ManualClock,
    Outcome,
    Plan,
    PlanStep,
    Prompt,
    Session,
    ToolCall,
    enable,
)
from trimtab.events import CompletionStatus

DATA = Path(__file__).parent.parent / "data" / "cases.jsonl"
PROVIDERS = {
    "ConsultationPromptProvider": ("guidance_providers", "consultation-prompt"),
    "ParallelToolReminder": ("guidance_providers", "parallel-tool-reminder"),
    "DeadlineFeedback": ("feedback_providers", "deadline-feedback"),
    "PlanBasedChecker": ("completion_checkers", "plan-based-checker"),
}
Case = dict[str, Any]


def cases() -> list[Case]:
    """Return the cases about the providers above."""
    lines = DATA.read_text(encoding="utf-8").splitlines()
    return [case for case in map(json.loads, lines) if case["concerns"] in PROVIDERS]


class Broken:
    """A checker whose machinery fails."""

    def __init__(self, error: str) -> None:
        self.error = error

    def check(self, context: Any) -> Any:
        raise RuntimeError(self.error)


class Driver:
    """Plays one case; `spoke` holds, for each time the provider spoke, the index of the item."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self.clock = ManualClock()
        self.session = Session(clock=self.clock)
        self.began = self.clock.now()
        self.index = -1
        self.spoke: list[int] = []
        self.run = self._open()

    def _open(self) -> Any:
        case = self.case
        field, name = PROVIDERS[case["concerns"]]
        provider = enable(name, **case.get("config", {}))
        deadline, budget = case.get("deadline_s"), case.get("budget_s")
        return self.session.open_run(
            Prompt("case", case["id"], config=None, **{field: [provider]}),
            host=Host(tools=frozenset(case["tools"]) if "tools" in case else None),
            deadline=None if deadline is None else Deadline(deadline, self.clock),
            budget=None if budget is None else Budget(max_active_seconds=budget),
        )

    def play(self) -> list[int]:
        """Play all items."""
        items = list(enumerate(self.case["calls"]))
        for _, group in groupby(items, lambda item: item[1].get("turn", ("event", item[0]))):
            batch = list(group)
            if "event" in batch[0][1]:
                self._event(*batch[0])
            else:
                self._turn(batch)
        return self.spoke

    def _turn(self, batch: list[tuple[int, Case]]) -> None:
        calls = [ToolCall(item["tool"], item["args"], f"c{index}") for index, item in batch]
        self.run.model_responded(tool_calls=calls)
        self._guide(DecisionPoint.PRE_TOOL_EXECUTION)
        for call in calls:
            self.run.tool_started(call.tool, call.params, call.call_id)
        for index, item in batch:
            self._end(index, item)
        self._guide(DecisionPoint.PRE_TOOL_SELECTION)

    def _end(self, index: int, item: Case) -> None:
        self.index = index
        self._wait(item)
        outcome = Outcome.ERROR if item["error"] else Outcome.OK
        self.run.tool_finished(f"c{index}", item["result"], outcome=outcome, poll=item.get("poll"))
        self._guide(DecisionPoint.POST_TOOL_RESULT)
        if self.run.feedback():
            assert self.session[Feedback].latest().provider_name == self._name
            self.spoke.append(index)

    def _wait(self, item: Case) -> None:
        if "t" in item:
            until = item.get("mono", item["t"])
            self.clock.advance(until - self.clock.monotonic())
            self.clock.set_wall(self.began + timedelta(seconds=item["t"]))

    def _event(self, index: int, item: Case) -> None:
        self.index = index
        kind = item["event"]
        if kind == "assistant_text":
            self.run.model_responded(text=item["text"])
            self._guide(DecisionPoint.PRE_RESPONSE)
        elif kind == "user_message":
            self.run.user_message(item["text"])
        else:
            self._stop(item, final=kind == "run_end")

    def _stop(self, item: Case, *, final: bool) -> None:
        if item.get("plan"):
            steps = [PlanStep(step["t"], step["s"]) for step in item["plan"]]
            self.session.dispatch(Plan(steps))
        running = [task for task in item.get("background_tasks", ()) if task["status"] == "running"]
        verdict = self.run.check_completion(
            background_work=bool(running),
            api_error=item.get("error"),
            awaiting_user=self.case.get("awaiting_user", False),
            final=final,
            extra=[Broken(item["checker_error"])] if "checker_error" in item else [],
        )
        if verdict.status is CompletionStatus.INCOMPLETE:
            self.spoke.append(self.index)

    @property
    def _name(self) -> str:
        return PROVIDERS[self.case["concerns"]][1]

    def _guide(self, point: DecisionPoint) -> None:
        for injection in self.run.guide(point).injections:
            assert injection.source == self._name
            self.spoke.append(self.index)


def faults(case: Case, spoke: list[int]) -> Iterator[str]:
    """Yield what is wrong with when the provider spoke."""
    if case["expected"] == "silent" and spoke:
        yield f"spoke at {spoke} and should be silent"
    if case["expected"] == "fire" and not spoke:
        yield "should speak and was silent"
    if spoke and case["at"] is not None and spoke[0] > case["at"]:
        yield f"spoke first at {spoke[0]}, later than {case['at']}"
    if "expect_count" in case and len(spoke) != case["expect_count"]:
        yield f"spoke {len(spoke)} times instead of {case['expect_count']}"
    most = case.get("max_blocks", case.get("max_fires"))
    if most is not None and len(spoke) > most:
        yield f"spoke {len(spoke)} times, more than {most}"


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Give every test that takes a `case` all of them, by id."""
    if "case" in metafunc.fixturenames:
        metafunc.parametrize("case", cases(), ids=lambda case: case["id"])


@pytest.fixture
def faults_of() -> Callable[[Case], list[str]]:
    """Return a function that plays a case and says what was wrong."""
    return lambda case: list(faults(case, Driver(case).play()))
