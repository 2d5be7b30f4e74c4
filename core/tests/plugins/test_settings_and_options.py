"""A setting in the place of an option, and the reverse, is refused with the right place."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from trimtab import (
    Budget,
    CompletionCheckerConfig,
    ConfigurationError,
    FeedbackProviderConfig,
    FeedbackTrigger,
    GuidanceProviderConfig,
    Host,
    MarkdownSection,
    Prompt,
    PromptError,
    PromptTemplate,
    Session,
    Tool,
    enable,
    hookimpl,
    load_configuration,
)
from trimtab.inspection import ProviderInvalid, ProviderOptionsError, refresh
from trimtab_testing import Speaker

SOURCE = """
class Provider:
    name = "mine"
    category = "mine"

    def __init__(self, size=1):
        self.size = size

    def classify(self, context): ...
    def should_run(self, context): ...
    def provide(self, context): ...
    def check(self, context): ...
"""
ENTRIES = """
[trimtab.guidance]
mine = mine_nudges:Provider
[trimtab.feedback]
mine = mine_nudges:Provider
[trimtab.completion]
mine = mine_nudges:Provider
"""


@pytest.fixture
def mine(importable: Any) -> None:
    """Install a provider of three kinds."""
    importable.add("mine-nudges", entries=ENTRIES, mine_nudges=SOURCE)
    refresh()


@pytest.mark.usefixtures("mine")
@pytest.mark.parametrize(
    ("kind", "option", "place"),
    [
        (
            "guidance_providers",
            "max_per_turn",
            r"GuidanceProviderConfig\(enable\(…\), max_per_turn=…\)",
        ),
        ("feedback_providers", "every_n_calls", r"FeedbackTrigger\(every_n_calls=…\)"),
        ("completion_checkers", "timeout", r"CompletionCheckerConfig\(enable\(…\), timeout=…\)"),
    ],
)
def test_a_setting_given_as_an_option_is_refused(kind: str, option: str, place: str) -> None:
    with pytest.raises(ProviderOptionsError, match=f"It is a setting: write.*{place}"):
        Prompt("a", "b", config=None, **{kind: [enable("mine", **{option: 1})]})
    with pytest.raises(ProviderOptionsError, match=f"the setting '{option}'\\? Write.*{place}"):
        Prompt("a", "b", config=None, **{kind: [enable("mine", **{f"{option}s": 1})]})


@pytest.mark.parametrize(
    "settings", [GuidanceProviderConfig, FeedbackProviderConfig, CompletionCheckerConfig]
)
def test_an_option_given_as_a_setting_is_refused(settings: Any) -> None:
    with pytest.raises(TypeError, match=r"has no setting 'size'.*enable\('name', size=…\)"):
        settings("mine", size=3)
    with pytest.raises(TypeError, match=r"'proviser'\. Did you mean 'provider'"):
        settings(proviser="mine")


@pytest.mark.parametrize(
    ("cls", "wrong", "meant"),
    [
        (Prompt, "guidance", "guidance_providers"),
        (Prompt, "completion", "completion_checkers"),
        (Prompt, "tool", "tools"),
        (PromptTemplate, "feedback_provider", "feedback_providers"),
        (MarkdownSection, "titel", "title"),
        (FeedbackTrigger, "every_n_call", "every_n_calls"),
        (Tool, "desc", "description"),
        (Host, "parallel", "parallel_calls"),
        (Budget, "max_tokens", "max_total_tokens"),
    ],
)
def test_an_unknown_argument_is_answered_with_the_one_that_is_meant(
    cls: Any, wrong: str, meant: str
) -> None:
    with pytest.raises(TypeError, match=f"no argument '{wrong}'. Did you mean '{meant}'. Its"):
        cls(**{wrong: 1})


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ('guidance = [{ use = "mine", size = 3 }]', r"options = \{ size = … \}"),
        ('guidance = [{ use = "mine", max_per_turns = 3 }]', "Did you mean 'max_per_turn'"),
        ('guidance_providers = ["mine"]', "In a file its name is 'guidance'"),
        ('completion_checkers = ["mine"]', "In a file its name is 'completion'"),
        ('recorder = ["mine"]', "Did you mean 'recorders'"),
        ('guidance = "mine"', "guidance must be an array, not 'mine'"),
    ],
)
def test_a_file_names_the_right_place(tmp_path: Path, line: str, problem: str) -> None:
    path = tmp_path / "trimtab.toml"
    path.write_text(f'[prompts."a/b"]\n{line}\n', encoding="utf-8")
    with pytest.raises(ConfigurationError, match=problem):
        load_configuration(path)


@pytest.mark.parametrize(
    "kind", ["guidance_providers", "feedback_providers", "completion_checkers", "recorders"]
)
def test_a_name_is_no_list_of_names(kind: str) -> None:
    with pytest.raises(PromptError, match=r"tuple or list, not 'doom-loop': write \['doom-loop'\]"):
        Prompt("a", "b", config=None, **{kind: "doom-loop"})


@pytest.mark.parametrize("option", ["tryfirst", "trylast"])
def test_an_option_of_pluggy_that_has_no_effect_is_refused(option: str) -> None:
    class Marked:
        @hookimpl(**{option: True})  # pyright: ignore[reportCallIssue]
        def guide_pre_render(self, context: Any) -> None:
            return None

    with pytest.raises(ProviderInvalid, match=f"with {option}, which has no effect"):
        Prompt("a", "b", config=None, guidance_providers=[Marked()])


def test_prompts_sessions_and_runs_show_what_they_are() -> None:
    prompt: Prompt[Any] = Prompt("a", "b", config=None, guidance_providers=[Speaker()])
    session = Session()
    run = session.open_run(prompt, run_id="r")

    assert repr(prompt) == "<Prompt 'a/b': speaker>"
    assert repr(session) == "<Session of 1 run, 1 record>"
    assert repr(run) == "<Run 'r' of 'a/b': 0 calls, open>"
    assert repr(Prompt("a", "b", config=None)) == "<Prompt 'a/b': no providers>"
