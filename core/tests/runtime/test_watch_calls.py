"""Which provider is being called can be watched, for processes that end those that hang."""

import pytest

from trimtab import ClassificationResult, DecisionPoint, GuidanceInjection, Prompt, Session
from trimtab.hosting import watch_calls


class Speaker:
    category = "test"

    def __init__(self, name, fails=False):
        self.name, self.fails = name, fails

    def classify(self, context):
        if self.fails:
            raise ValueError("broken")
        return ClassificationResult(relevant=True)

    def provide(self, context):
        return GuidanceInjection("key", f"{self.name} speaks")


@pytest.fixture
def told():
    names = []
    watch_calls(names.append)
    yield names
    watch_calls(None)


@pytest.mark.parametrize("timeout", [None, 5.0])
def test_each_call_is_told_before_it_and_its_end_after_it(told, timeout):
    prompt = Prompt(
        "n", "k", guidance_providers=[Speaker("one"), Speaker("two", fails=True)], config=None
    )
    run = Session().open_run(prompt)
    told.clear()

    run.guide(DecisionPoint.PRE_TOOL_SELECTION, timeout=timeout)

    assert {*told} == {"one", "two", ""}
    assert told[-1] == ""


def test_a_watch_ends(told):
    watch_calls(None)
    prompt = Prompt("n", "k", guidance_providers=[Speaker("one")], config=None)

    Session().open_run(prompt).guide(DecisionPoint.PRE_TOOL_SELECTION)

    assert told == []
