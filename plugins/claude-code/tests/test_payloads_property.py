"""Whatever a hook is told, the answer is a valid one and nothing is raised."""

from hypothesis import given, settings, strategies as st

from trimtab import Prompt, Session
from trimtab_claude_code.hooks import EVENTS, RECORDS, ClaudeCodeHooks

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=8,
)
KEYS = (
    "session_id",
    "agent_id",
    "agent_type",
    "tool_name",
    "tool_use_id",
    "tool_input",
    "tool_response",
    "tool_calls",
    "duration_ms",
    "error",
    "prompt",
    "source",
    "background_tasks",
    "session_crons",
    "last_assistant_message",
)
CALL = st.fixed_dictionaries(
    {
        "tool_name": st.sampled_from(["Bash", "StructuredOutput"]),
        "tool_use_id": st.sampled_from("ab"),
    },
    optional={"tool_response": JSON},
)
EVENT = st.fixed_dictionaries(
    {"hook_event_name": st.sampled_from(EVENTS), "session_id": st.just("s")},
    optional={key: JSON for key in KEYS if key != "session_id"},
)
PAYLOAD = (
    JSON
    | EVENT
    | st.tuples(EVENT, CALL).map(lambda pair: {**pair[0], **pair[1]})
    | st.tuples(EVENT, st.lists(CALL, max_size=3)).map(
        lambda pair: {**pair[0], "tool_calls": pair[1]}
    )
)


@given(st.lists(PAYLOAD, max_size=12))
@settings(max_examples=50)
def test_any_payloads_are_answered(payloads):
    hooks = ClaudeCodeHooks(Session(), Prompt("test", "main", config=None))

    assert [hooks.answer(payload) for payload in payloads] == [{}] * len(payloads)
    again = Session.restore(hooks.session.snapshot(), types=RECORDS)
    assert again.runs().keys() == hooks.session.runs().keys()
