"""Templates, binding and rendering."""

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from trimtab import (
    ConfigurationError,
    Feedback,
    FeedbackProviderConfig,
    FeedbackTrigger,
    GuidanceProviderConfig,
    MarkdownSection,
    Prompt,
    PromptError,
    PromptTemplate,
    Resources,
    Tool,
    ToolResult,
    enable,
)


@dataclass(frozen=True)
class Task:
    goal: str


@dataclass(frozen=True)
class Style:
    tone: str


@dataclass(frozen=True)
class Answer:
    value: int


class Monitor:
    name = "monitor"

    def should_run(self, *, context):
        return True

    def provide(self, *, context):
        return Feedback(summary="Fine.")


TASK = MarkdownSection[Task](key="task", title="Task", template="${goal}")
STYLE = MarkdownSection[Style](key="style", title="Style", template="${tone}")


def prompt(*sections, **fields):
    return Prompt(ns="agent", key="main", sections=sections, config=None, **fields)


def answer(params, *, context):
    return ToolResult.ok(params.goal)


def tool(name):
    return Tool(name, "A tool.", Task, answer)


def test_the_name_is_namespace_and_key_unless_given():
    assert prompt().name == "agent/main"
    assert prompt(name="other").name == "other"
    assert PromptTemplate("agent", "main").name == "agent/main"


def test_a_prompt_is_made_from_a_template_or_from_its_parts():
    template = PromptTemplate(ns="agent", key="main", sections=[TASK])
    from_template = Prompt(template, config=None).render(Task("Go"))
    from_parts = Prompt("agent", "main", (TASK,), config=None).render(Task("Go"))
    assert from_template == from_parts


def test_parameters_may_be_bound_in_steps():
    half = prompt(TASK, STYLE).bind(Task("Go"))
    assert half.render(Style("dry")).text == "## Task\n\nGo\n\n## Style\n\ndry"
    assert half.bind(Style("dry")).render().text == half.render(Style("dry")).text


def test_what_is_given_later_wins():
    assert prompt(TASK).bind(Task("a")).bind(Task("b")).render().text == "## Task\n\nb"
    assert prompt(TASK).bind(Task("a")).render(Task("b")).text == "## Task\n\nb"


def test_binding_leaves_the_prompt_as_it_was():
    first = prompt(TASK)
    first.bind(Task("a"))
    with pytest.raises(PromptError):
        first.render()


def test_binding_does_not_build_the_providers_again():
    first = prompt(
        TASK, feedback_providers=(FeedbackProviderConfig(Monitor(), FeedbackTrigger(1)),)
    )
    assert first.bind(Task("a")).table is first.table


def test_missing_parameters_name_section_class_and_fields():
    with pytest.raises(PromptError, match=r"'task'.*Task.*goal"):
        prompt(TASK).render()


def test_parameters_that_no_section_takes_are_refused():
    with pytest.raises(PromptError, match="Style"):
        prompt(TASK).bind(Style("dry"))


def test_two_parameters_of_one_type_are_refused():
    with pytest.raises(PromptError, match="Task"):
        prompt(TASK).render(Task("a"), Task("b"))


def test_resources_come_with_the_bound_prompt():
    resources = Resources.of(Style("dry"))
    bound = prompt(TASK).bind(resources=resources)
    assert bound.resources.get(Style) == Style("dry")
    assert bound.bind(Task("a")).resources is resources
    assert prompt(TASK).resources.get_optional(Style) is None


def test_tools_are_those_of_the_template_and_of_enabled_sections():
    on = MarkdownSection(key="on", title="On", template="", tools=[tool("b")])
    off = MarkdownSection(key="off", title="Off", template="", enabled=False, tools=[tool("c")])
    rendered = prompt(on, off, tools=[tool("a")]).render()
    assert [tool.name for tool in rendered.tools] == ["a", "b"]
    assert rendered.text == "## On"


def test_the_output_type_comes_from_the_brackets_or_by_name():
    bracketed = PromptTemplate[Answer](ns="a", key="b")
    assert Prompt(bracketed, config=None).render().output_type is Answer
    assert prompt(output_type=Answer).render().output_type is Answer
    assert prompt().render().output_type is None


def test_providers_may_be_given_in_every_form():
    monitor = Monitor()
    template = PromptTemplate(
        ns="a",
        key="b",
        guidance_providers=["doom-loop", enable("doom-loop", window_size=4)],
        feedback_providers=[monitor],
    )
    assert [type(item) for item in template.guidance_providers] == [GuidanceProviderConfig] * 2
    assert template.guidance_providers[1].provider.options == {"window_size": 4}
    assert template.feedback_providers == (FeedbackProviderConfig(monitor),)


def test_settings_of_another_kind_are_refused():
    with pytest.raises(PromptError, match="GuidanceProviderConfig"):
        PromptTemplate("a", "b", feedback_providers=[GuidanceProviderConfig("doom-loop")])


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"ns": " "}, "ns must be text"),
        ({"key": 3}, "key must be text"),
        ({"guidance_providers": "doom-loop"}, "guidance providers .* list, not 'doom-loop'"),
        ({"feedback_providers": enable("doom-loop")}, "feedback providers .* not ProviderRef"),
        ({"completion_checkers": None}, "completion providers .* not None"),
        ({"sections": "Do it."}, "sections .* not 'Do it.'"),
        ({"sections": MarkdownSection(key="k", title="t", template="")}, "sections .* list"),
        ({"tools": [print]}, "tools must hold Tool"),
    ],
)
def test_what_is_declared_wrongly_is_named(fields, told):
    with pytest.raises(PromptError, match=told):
        PromptTemplate(**{"ns": "a", "key": "b", **fields})


def test_a_template_is_not_changed_on_the_way_into_a_prompt():
    with pytest.raises(PromptError, match="alone"):
        Prompt(PromptTemplate("a", "b"), guidance_limit=2)  # pyright: ignore[reportCallIssue]


@pytest.mark.parametrize("config", ["trimtab.toml", Path("trimtab.toml"), {"prompts": {}}])
def test_a_configuration_is_loaded_first(config):
    with pytest.raises(ConfigurationError, match="load_configuration"):
        Prompt("a", "b", config=config)


def test_fields_of_a_template_can_not_be_set():
    with pytest.raises(AttributeError):
        PromptTemplate("a", "b").key = "c"


@pytest.mark.waits
def test_declaring_a_prompt_imports_nothing_heavy(unmeasured):
    heavy = ("importlib_metadata", "cattrs", "asyncio", "tomllib")
    program = (
        "import sys, trimtab; trimtab.PromptTemplate('a', 'b');"
        f"print([name for name in {heavy!r} if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
        env=unmeasured,
    )
    assert done.stdout.strip() == "[]"


def test_a_table_that_is_there_takes_the_place_of_all_that_is_declared():
    watched = FeedbackProviderConfig(Monitor(), FeedbackTrigger(every_n_calls=1))
    first = Prompt("a", "b", feedback_providers=[watched], config=None)

    again = Prompt("c", "d", feedback_providers=["nobody-has-this"], table=first.table)

    assert [source.name for source in again.table.sources] == [Monitor.name]
