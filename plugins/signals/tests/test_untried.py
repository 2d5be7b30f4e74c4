"""Which tools are proposed to an agent that is stuck, and in what order."""

import time

import pytest
from hypothesis import given, strategies as st

from trimtab import Outcome, Prompt, Session
from trimtab_signals import Calls, ToolProfiles
from trimtab_signals._untried import ranked

FILES = (
    "read_file read_multiple_files write_file edit_file create_directory list_directory "
    "directory_tree move_file search_files get_file_info list_allowed_directories"
).split()
FORGE = (
    "create_issue get_issue list_issues update_issue add_issue_comment create_pull_request "
    "get_pull_request list_pull_requests merge_pull_request get_pull_request_status "
    "get_pull_request_reviews create_branch list_branches list_commits search_code get_me"
).split()
CHAT = (
    "slack_list_channels slack_post_message slack_reply_to_thread slack_get_channel_history "
    "slack_get_users slack_get_user_profile"
).split()
SQL = "read_query write_query create_table list_tables describe_table append_insight".split()
SHOP = (
    "cancel_pending_order exchange_delivered_order_items find_user_id_by_email "
    "find_user_id_by_name_zip get_order_details get_product_details get_user_details think "
    "transfer_to_human_agents calculate"
).split()
PAYMENTS = (
    "create_customer list_customers list_products list_prices create_payment_link create_refund "
    "list_payment_intents list_subscriptions cancel_subscription search_documentation"
).split()
CODING = "Bash Edit Glob Grep Read Write WebFetch WebSearch TodoWrite Task".split()


def recent(*calls):
    """Return the records of calls ``(tool, params, answer, failed)``."""
    run = Session().open_run(Prompt("a", "b", []))
    for number, (tool, params, answer, failed) in enumerate(calls):
        run.model_responded()
        run.tool_started(tool, params, str(number))
        outcome = Outcome.ERROR if failed else Outcome.OK
        run.tool_finished(str(number), answer, outcome=outcome)
    return run.trajectory.follow(Calls).recent(8)


def untried(tools, tool, params, answer, descriptions=None):
    """Return what is proposed after three equal failures."""
    calls = recent(*[(tool, params, answer, True)] * 3)
    return ranked(tools, (tool,), ToolProfiles(), calls=calls, descriptions=descriptions or {})


@pytest.mark.parametrize(
    ("tools", "tool", "params", "answer", "first"),
    [
        (FILES, "edit_file", {"path": "a.py"}, "could not find exact match", "read_file"),
        (FILES, "read_file", {"path": "a/b"}, "no such file or directory", "list_directory"),
        (
            FILES,
            "write_file",
            {"path": "/etc/x"},
            "Access denied: path outside allowed directories",
            "list_allowed_directories",
        ),
        (
            FORGE,
            "merge_pull_request",
            {"owner": "o", "pull_number": 3},
            "405 Pull Request is not mergeable",
            "get_pull_request",
        ),
        (CHAT, "slack_post_message", {"channel_id": "a"}, "channel_not_found", CHAT[0]),
        (SQL, "read_query", {"query": "select x"}, "no such column: x", "describe_table"),
        (SQL, "read_query", {"query": "select x"}, "no such table: t", "list_tables"),
        (
            SHOP,
            "exchange_delivered_order_items",
            {"order_id": "#W1", "item_ids": [1]},
            "Error: order is not delivered",
            "get_order_details",
        ),
        (
            SHOP,
            "find_user_id_by_email",
            {"email": "a@b.c"},
            "Error: user not found",
            "find_user_id_by_name_zip",
        ),
        (PAYMENTS, "create_refund", {"payment_intent": "p"}, "No such payment_intent: p", None),
        (PAYMENTS, "create_payment_link", {"price": "q"}, "No such price: q", "list_prices"),
        (CODING, "Edit", {"file_path": "a.py"}, "String to replace not found", "Read"),
    ],
)
def test_the_first_tool_tells_about_what_went_wrong(tools, tool, params, answer, first):
    found = untried(tools, tool, params, answer)
    assert found[0] in (first or "list_payment_intents", "list_allowed_directories") or (
        found[0].startswith(first or "list_payment_intents")
    )
    assert tool not in found


def test_a_tool_that_the_answer_names_comes_first():
    answer = "refused: call move_file before"
    assert untried(FILES, "write_file", {"path": "a"}, answer)[0] == "move_file"


def test_tools_that_explain_come_before_those_that_look_alike():
    tools = ("explain_query", "list_users", "describe_table", "run_query", "finish")
    found = untried(tools, "run_query", {"sql": "select 1"}, "no such column: city")
    assert found[0] == "describe_table"


def test_a_tool_with_the_same_verb_comes_late():
    tools = ("search_manual", "search_history", "list_topics", "open_page")
    assert untried(tools, "search_manual", {"words": "x"}, "0 results")[0] == "list_topics"


def test_what_ends_the_run_or_was_just_tried_comes_last():
    tools = ("start", "stop_service", "finish", "read_log", "submit_answer", "open_door")
    calls = recent(
        ("read_log", {}, "empty", False), *[("start", {"service": "web"}, "refused", True)] * 3
    )
    found = ranked(tools, ("start",), ToolProfiles(), calls=calls)
    assert "finish" not in found[:2]
    assert "submit_answer" not in found[:2]


def test_a_description_tells_what_a_name_leaves_open():
    tools = ("book_room", "room_schedule", "room_colour", "paint_room")
    told = {"room_schedule": "Show when a room is free.", "room_colour": "Paint a room."}
    found = untried(tools, "book_room", {"room": "North"}, "error: not free", told)
    assert found[0] == "room_schedule"


def test_a_tool_that_does_not_exist_leaves_the_last_known_failure_to_speak():
    tools = ("install_package", "show_licence", "list_versions", "list_users")
    calls = recent(
        ("install_package", {"package": "x", "version": "2"}, "no matching version", True),
        *[("error", {"message": "x"}, "no tool named 'error'", True)] * 3,
    )
    found = ranked(tools, ("error",), ToolProfiles(), calls=calls)
    assert found[0] == "list_versions"


def test_words_of_a_server_that_most_names_have_count_for_nothing():
    assert untried(CHAT, "slack_post_message", {"text": "x"}, "slack error")[0] != CHAT[2]


def test_no_more_than_two_and_none_where_tools_are_unknown():
    assert len(untried(FORGE, "get_me", {}, "error")) == 2
    assert ranked(None, ("a",), ToolProfiles()) == ()


def test_tools_that_someone_else_called_are_not_proposed():
    run = Session().open_run(Prompt("a", "b", []))
    calls = [("get_mail", "user"), ("get_issue", "model"), *[("update_issue", "model")] * 8]
    for number, (tool, caller) in enumerate(calls):
        run.tool_started(tool, {}, str(number), caller=caller)
        outcome = Outcome.ERROR if tool == "update_issue" else Outcome.OK
        run.tool_finished(str(number), "no such issue", outcome=outcome)
    seen = run.trajectory.follow(Calls).recent(64)
    assert ranked(None, ("update_issue",), ToolProfiles(), calls=seen) == ("get_issue",)


def test_polls_are_not_proposed():
    assert ranked(("wait", "read"), (), ToolProfiles()) == ("read",)


NAMES = st.lists(
    st.text(min_size=1, max_size=40) | st.sampled_from(FILES + FORGE), max_size=30, unique=True
)


@given(NAMES, st.data())
def test_any_names_answers_and_descriptions_give_untried_tools_in_one_order(names, data):
    tried = data.draw(st.lists(st.sampled_from(names), max_size=3)) if names else []
    text = data.draw(st.text(max_size=300))
    calls = recent(*[(name, {"a": text}, text, True) for name in tried])
    told = dict.fromkeys(names, text)
    found = ranked(names, tried, ToolProfiles(), calls=calls, descriptions=told)

    assert set(found) <= set(names) - set(tried)
    assert len(set(found)) == len(found) <= 4
    assert found == ranked(reversed(names), tried, ToolProfiles(), calls=calls, descriptions=told)


@pytest.mark.parametrize("hostile", ["{" + "a" * 100_000, "no " * 50_000, "_=," * 40_000])
def test_hostile_answers_take_no_longer_than_their_length_asks_for(hostile):
    calls = recent(*[("get_me", {"a": hostile}, hostile, True)] * 3)
    began = time.process_time()
    told = dict.fromkeys(FORGE, hostile)
    ranked(FORGE, ("get_me",), ToolProfiles(), calls=calls, descriptions=told)
    assert time.process_time() - began < 1.0


@pytest.mark.parametrize("answer", ["error", "not allowed", "0 rows"])
def test_a_tool_that_changes_something_is_proposed_only_if_the_answer_names_it(answer):
    tools = ("block_card", "check_out", "drop_row", "delete_file", "show_account", "probe")
    assert set(untried(tools, "probe", {}, answer)) <= {"show_account"}
    assert untried(tools, "probe", {}, "call check_out first")[0] == "check_out"


def test_a_tool_for_the_users_requests_is_not_proposed():
    told = {"list_goals": "Lists goals. Use this only when the user asks for it."}
    assert untried(("probe", "list_goals"), "probe", {}, "error", told) == ()
    assert untried(("probe", "CronList", "Monitor"), "probe", {}, "error") == ()


def test_the_first_call_is_proposed_again_once_its_obstacle_is_cleared():
    calls = recent(
        ("refund_order", {"id": 1}, "Error: a hold is on it", True),
        ("release_hold", {"id": 1}, "Released.", False),
        *[("release_hold", {"id": 1}, "There is no hold.", True)] * 3,
    )
    tools = ("refund_order", "release_hold", "show_order", "block_customer")
    found = ranked(tools, ("release_hold",), ToolProfiles(), calls=calls)
    assert found[0] == "refund_order"
    assert "block_customer" not in found
