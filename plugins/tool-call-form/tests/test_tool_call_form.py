"""A call written as text is noticed, and answers that only look like one are left alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from trimtab import Host, ToolCall
from trimtab_testing import Call, Lab, Player, Text
from trimtab_tool_call_form import ToolCallForm, find_written_call

HOST = Host("test", tools=frozenset({"read", "shell"}))
BAR = "\uff5c"
WRITTEN = {
    "labels in Spanish": 'Acción: read\nEntrada de la acción: {"path": "a"}',
    "labels in Finnish": 'Toiminto: read\nToiminnon syöte: {"path": "a"}',
    "labels in Vietnamese": 'Hành động: read\nĐầu vào hành động: {"path": "a"}',
    "json": '{"name": "read", "arguments": {"path": "a"}}',
    "fence": 'I read:\n```json\n{"tool": "read", "parameters": {"path": "a"}}\n```\nI go on.',
    "tag": '<tool_call>{"name": "read", "arguments": {"path": "a"}}</tool_call> please',
    "open tag": '<tool_call>\n{"name": "read", "argu',
    "xml": "<function=shell><parameter=command>ls</parameter></function>",
    "invoke": '<function_calls><invoke name="shell"></invoke></function_calls>',
    "mistral": '[TOOL_CALLS][{"name": "read", "arguments": {}}]',
    "list": '[{"name": "shell", "arguments": {"command": "ls"}}]',
    "cut": '{"name": "read", "arguments": {"path": "a',
    "DSML": f'<{BAR}DSML{BAR}tool_calls><{BAR}DSML{BAR}invoke name="read">',
    "DSML with two bars": f'<{BAR}{BAR}DSML{BAR}{BAR}invoke name="read">\n',
    "DSML with plain bars": '< calls>\n<|DSML|invoke name="shell">\nls\n</|DSML|invoke>',
    "DeepSeek": f"<{BAR}tool▁calls▁begin{BAR}>function<{BAR}tool▁sep{BAR}>read\n",
    "harmony": '<|channel|>commentary to=functions.read <|message|>{"path":"a"}<|call|>',
    "function call tag": '<functioncall {"name": "read", "arguments": {"path": "a"}}>',
    "elements": '<function>\n<name>shell</name>\n<parameter name="command">ls</parameter>\n',
    "the tool's own tag": "I look.\n<read>\n<path>a</path>\n</read>",
    "the tool's own tag in a fence": "Sure.\n```xml\n<read>\n<path>a</path>\n</read>\n```",
    "ReAct": 'Thought: I look.\nAction: read\nAction Input: {"path": "a"}',
    "python": 'read(path="a")',
    "python in a fence of its own": '```tool_code\nprint(default_api.read(path="a"))\n```',
    "arguments behind the word": 'call\n[{"path": "a"}]',
    "behind a sentence": 'I look.\n{"name": "read", "arguments": {"path": "a"}}',
    "right behind a sentence": 'I look.{"name": "read", "arguments": {"path": "a"}}',
    "without its head": "<name>read\n</parameter>\n<parameter=path>\na\n</parameter>\n</function>",
    "without its opening mark": '{"name": "read", "arguments": {"path": "a"}}</tool_call>',
    "printed by Python": "[{'name': 'read', 'arguments': {'path': 'a'}}]",
    "behind another sentence": 'Ich sehe nach. <tool_call>{"name": "read"}',
}
PLAIN = {
    "prose": "I read the file with read and found nothing.",
    "output": '{"title": "A report", "lines": 3}',
    "record": '{"name": "Ada", "input": "x"}',
    "no arguments": '{"name": "read"}',
    "code": '```python\nread(path="a")\n```',
    "empty": "",
    "schema": 'The config is `{"name": "web", "args": ["a"]}`.',
    "in backticks": f"It begins with `<tool_call>`, then `<{BAR}DSML{BAR}invoke name=...`.",
    "in quotes": 'He wrote "<tool_call>" and stopped.',
    "at the end of a sentence": 'Send it as {"name": "read", "arguments": {"path": "a"}}',
    "a closing tag": "The block ends with `</function>`, then comes `<parameter=path>`.",
    "in a sentence": "Models write a call as <tool_call> followed by JSON.",
    "indented": "It looks like this:\n\n    <function=read>\n\nand is right.",
    "an example": f'Try:\n```json\n{{"name": "read", "arguments": {{}}}}\n```\n{"So it is. " * 9}',
    "a sentence behind an example": (
        'Like so:\n```\n<tool_call>{"name": 1}</tool_call>\n```\nThat is its form; it runs nothing.'
    ),
    "another element": "In HTML <read> is no tag, and </read> isn't either.",
}


FORMS = [
    json.loads(line)
    for line in Path(__file__).with_name("forms.jsonl").read_text(encoding="utf-8").splitlines()
]
"""Forms of many families of models, texts that speak of calls, and answers to who asks for them."""
TOOLS = frozenset(
    {"read_file", "web_search", "get_weather", "Bash", "HassTurnOn", "mcp__crm__get_contact"}
)
BEFORE = ("", "I'll read it now.\n\n", "Ich lese sie jetzt.\n\n", "<think>I need it.</think>\n")


@pytest.mark.parametrize("before", BEFORE)
def test_the_forms_of_many_models_are_known_whatever_stands_before(before: str) -> None:
    forms = [form for form in FORMS if form["kind"] == "written"]
    missed = [f["name"] for f in forms if find_written_call(before + f["text"], TOOLS) is None]

    assert len(forms) > 60
    assert missed == []


TALK = {
    "in backticks": "The model writes `{}` and the parser does not see it, which is the bug.",
    "in quotes": "The log says “{}” and then nothing happens, so the parser is at fault.",
    "as an example": "It looks so:\n\n```\n{}\n```\n\nThe server runs it. You may forbid it.",
    "indented": "It looks like this:\n\n    {}\n\nand the server reads it before it answers.",
    "in quoted lines": "> {}\n\nThis line in your log means that the call was written as text.",
}
SHOWN = frozenset({"trunc-json", "single-missing"})
"""Without its end an example is as long as a call."""


@pytest.mark.parametrize("around", TALK.values(), ids=TALK.keys())
def test_a_form_of_any_model_is_no_call_where_a_text_speaks_of_it(around: str) -> None:
    forms = [f for f in FORMS if f["kind"] == "written" and "```" not in f["text"]]
    glue = {"> {}": "\n> ", "    {}": "\n    ", "{}\n```": "\n"}
    line = next((one for mark, one in glue.items() if mark in around), " ")
    texts = {f["name"]: around.format(line.join(f["text"].splitlines())) for f in forms}

    assert len(texts) > 100
    assert {name for name, text in texts.items() if find_written_call(text, TOOLS)} <= SHOWN


@pytest.mark.parametrize("part", [0.8, 0.9, 0.95])
def test_a_call_that_was_cut_off_is_a_call_once_its_arguments_began(part: float) -> None:
    marked = [f for f in FORMS if f["kind"] == "written" and f["text"].startswith(("<", "["))]
    missed = [
        f["name"]
        for f in marked
        if find_written_call(f["text"][: int(len(f["text"]) * part)], TOOLS) is None
    ]

    assert len(marked) > 60
    assert set(missed) <= {"xml-func"}  # without its end like an element of a page


def test_a_name_that_is_bound_to_arguments_is_a_call_in_a_form_that_nobody_knows() -> None:
    around = ("{} {}", "<<call {}>> {} <<end>>", "@@tool {}\n{}\n@@end", "[{} := {}]", "%{}% {}")
    texts = [form.format("read_file", '{"path": "a.txt"}') for form in around]

    assert [find_written_call(text, TOOLS) for text in texts] == ["read_file"] * len(texts)


def test_an_object_that_names_a_tool_beside_its_arguments_is_a_call() -> None:
    assert find_written_call('{"function": "read_file", "path": "a.txt"}', TOOLS) == "read_file"
    assert find_written_call('{"tool": "read_file", "result": "12 lines"}', TOOLS) is None


def test_who_speaks_of_calls_or_shows_one_that_was_asked_for_makes_none() -> None:
    plain = [form for form in FORMS if form["kind"] != "written"]
    told = [f["name"] for f in plain if find_written_call(f["text"], TOOLS, f.get("request", ""))]

    assert len(plain) > 30
    assert told == []


@pytest.mark.parametrize("text", WRITTEN.values(), ids=WRITTEN.keys())
def test_an_agent_that_ends_with_a_written_call_is_sent_back(text: str) -> None:
    player = Player(guidance=[ToolCallForm], host=HOST).play([Text(text)])
    assert player.spoke == [0]
    assert "nothing was run" in player.texts[0]


@pytest.mark.parametrize("text", PLAIN.values(), ids=PLAIN.keys())
def test_an_answer_that_is_no_call_is_left_alone(text: str) -> None:
    assert Player(guidance=[ToolCallForm], host=HOST).play([Text(text)]).spoke == []


def test_the_tool_is_named_if_it_can_be_read() -> None:
    player = Player(guidance=[ToolCallForm], host=HOST)
    assert '(to "read")' in player.play([Text(WRITTEN["json"])]).texts[0]
    assert find_written_call("<tool_call>", HOST.tools) == ""
    assert find_written_call(WRITTEN["xml"], HOST.tools) == "shell"


def test_a_response_with_real_calls_is_left_alone() -> None:
    player = Player(guidance=[ToolCallForm], host=HOST)
    player.run.model_responded(text=WRITTEN["json"], tool_calls=[ToolCall("read", {}, "c")])
    assert not player.run.guide("pre_response")
    assert player.play([Call("read")]).spoke == []


def test_without_known_tools_any_name_counts() -> None:
    assert find_written_call('{"name": "other", "arguments": {}}', None) == "other"
    assert find_written_call('{"name": "Ada", "address": {"town": "Lyon"}}', None) is None
    assert find_written_call('{"name": "other", "arguments": {}}', HOST.tools) is None


@pytest.mark.parametrize(
    "part",
    [
        "{",
        "```",
        '"name": "',
        '"name"     ',
        "<tool_call",
        "[{",
        "read(",
        "read {",
        "read <",
        "read:\n",
        "(",
        "<read>",
        "`",
        '{"name": "a", ',
        " ",
        "\n```json\n{",
    ],
)
@pytest.mark.parametrize("length", [10_000, pytest.param(200_000, marks=pytest.mark.slow)])
def test_hostile_text_takes_linear_time(part: str, length: int, seconds: Any) -> None:
    text = part * (length // len(part))
    assert seconds(lambda: find_written_call(text, HOST.tools)) < 1


@pytest.mark.parametrize(
    "form", ['{}(query="{}")', '→ {}[{{"query": "{}"}}]', 'tool: {} {{"q": "{}"}}']
)
def test_long_arguments_are_no_prose(form: str) -> None:
    text = form.format("search_museums", "the hours of all the museums in the old town of Rome")

    assert find_written_call(text, frozenset({"search_museums"})) == "search_museums"


def test_the_message_is_bounded_and_quotes_the_name() -> None:
    host = Host("test", tools=frozenset({"x" * 80}))
    text = (
        Player(guidance=[ToolCallForm], host=host)
        .play([Text(f'{{"name": "{"x" * 80}", "arguments": {{}}}}')])
        .texts[0]
    )
    assert len(text) < 350


def test_a_message_of_one_s_own_is_checked() -> None:
    lab = Lab(guidance={"tool-call-form": ToolCallForm})
    assert lab.prompt(guidance=["tool-call-form"])
    with pytest.raises(ValueError, match="message"):
        ToolCallForm(message="{unknown}")


@pytest.mark.parametrize("text", WRITTEN.values(), ids=WRITTEN.keys())
@pytest.mark.parametrize("around", ["{}", "That is the file:\n\n{}\nIt is an example."])
def test_what_a_tool_has_shown_is_no_call_of_the_agent(text: str, around: str) -> None:
    shown = Call("read", {"path": "calls.txt"}, f"first\n{text}\nlast")
    other = Call("read", {"path": "calls.txt"}, "nothing")

    quoted = Player(guidance=[ToolCallForm], host=HOST).play([shown, Text(around.format(text))])
    assert quoted.spoke == []
    assert Player(guidance=[ToolCallForm], host=HOST).play([other, Text(text)]).spoke == [1]


@pytest.mark.parametrize(
    "text",
    [
        '<tool name="shell" command="git grep x" cwd="/srv" />\n<tool name="read" path="a" />',
        '<invocation tool="shell" command="ls"/>\n</tool_call>',
        "I look.\n<do what='read' path='src/a.ts'></do>",
        '<use_tool id="shell" args={"command": "ls"}>',
    ],
)
def test_an_element_that_names_a_tool_beside_arguments_is_a_call(text: str) -> None:
    assert find_written_call(text, HOST.tools) in ("read", "shell")


def test_an_element_of_a_page_is_none() -> None:
    for text in ('<input name="read" type="text"> is the field.', 'See <a href="read">there</a>.'):
        assert find_written_call(text, HOST.tools) is None


def test_who_named_the_tool_gets_the_call_to_paste() -> None:
    written = '```json\n{"name": "read", "arguments": {"path": "a"}}\n```\n'
    remark = "If it fails, shorten the path a bit."

    assert (
        find_written_call(written + remark, HOST.tools, "Which JSON do I paste for read?") is None
    )
    assert find_written_call(written + remark, HOST.tools, "Open the file.") == "read"
    assert find_written_call(written, HOST.tools, "Use read on the file.") == "read"


def test_a_fence_with_prose_on_both_sides_holds_an_example() -> None:
    call = "```xml\n<read>\n<path>NÉV</path>\n</read>\n```\n"
    remark = "A nagybetűs részeket a modell tölti ki."

    assert find_written_call(f"Minta a rendszerüzenetbe:\n\n{call}{remark}", HOST.tools) is None
    assert find_written_call(call, HOST.tools) == "read"
    assert find_written_call(f"Megnyitom.\n{call}Várok az eredményre.", HOST.tools) == "read"
