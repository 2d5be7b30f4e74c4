"""What a prompt may ask of Claude Code is checked when it is built."""

from importlib.metadata import distribution

import pytest

from trimtab import DecisionPoint, GuidanceProviderConfig, Prompt
from trimtab_claude_code.hooks import CLAUDE_CODE, UnsupportedPoint, check_prompt
from trimtab_signals import ToolProfiles

SELECTION = DecisionPoint.PRE_TOOL_SELECTION
EXECUTION = DecisionPoint.PRE_TOOL_EXECUTION
RESPONSE = DecisionPoint.PRE_RESPONSE


@pytest.fixture
def prompt(speaker):
    def make(*points, **settings):
        provider = GuidanceProviderConfig(speaker(decision_points=points), **settings)
        return Prompt("test", "main", guidance_providers=[provider], config=None)

    return make


@pytest.mark.parametrize("points", [(RESPONSE,), (EXECUTION,), (RESPONSE, EXECUTION)])
def test_a_provider_that_would_never_be_heard_is_an_error(prompt, points):
    with pytest.raises(UnsupportedPoint, match="'speaker' is not heard at"):
        check_prompt(prompt(*points))


@pytest.mark.parametrize("points", [(SELECTION,), (SELECTION, RESPONSE), tuple(DecisionPoint)])
def test_a_provider_that_is_heard_wherever_it_matters_is_fine(prompt, points):
    assert check_prompt(prompt(*points)) == ()


def test_a_provider_that_is_heard_only_in_part_is_a_warning(prompt):
    (warning,) = check_prompt(prompt(SELECTION, EXECUTION))

    assert "PRE_TOOL_EXECUTION" in warning
    assert "refuse=True" in warning


def test_a_provider_that_may_refuse_calls_is_heard_before_them(prompt):
    assert check_prompt(prompt(EXECUTION, refuse=True)) == ()


def test_the_shell_of_claude_code_is_known():
    profiles = ToolProfiles(CLAUDE_CODE.tool_profiles)
    call = {"command": "ls", "description": "List"}

    assert profiles.of("Bash").command(call) == "ls"
    assert "description" in profiles.of("Bash").ignored_params
    assert profiles.of("Read").read_only
    assert not profiles.of("Write").read_only


def test_the_package_offers_no_provider():
    groups = {entry.group for entry in distribution("trimtab-claude-code").entry_points}

    assert groups == {"trimtab.commands", "trimtab.events", "trimtab.hosts", "trimtab.tables"}
