"""Which tools are proposed to an agent that is stuck, and in what order."""

from types import SimpleNamespace

import pytest
from hypothesis import given, strategies as st

from trimtab import Host, Outcome, Prompt, Session
from trimtab.events import UserMessage
from trimtab_signals import Calls, ToolProfiles, WayOut, agents
from trimtab_signals._helpers import helpers
from trimtab_signals._tool_words import words_of_tool
from trimtab_signals._untried import proposed, untried_tools

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


def recent(*calls, profiles=()):
    """Return the records of calls ``(tool, params, answer, failed)``."""
    host = Host(name="tests", tool_profiles=tuple(profiles))
    run = Session().open_run(Prompt("a", "b", []), host=host)
    for number, (tool, params, answer, failed) in enumerate(calls):
        run.model_responded()
        run.tool_started(tool, params, str(number))
        outcome = Outcome.ERROR if failed else Outcome.OK
        run.tool_finished(str(number), answer, outcome=outcome)
    return run.trajectory.follow(Calls).recent(8)


def untried(tools, tool, params, answer, descriptions=None):
    """Return what is proposed after three equal failures."""
    calls = recent(*[(tool, params, answer, True)] * 3)
    found = proposed(tools, (tool,), ToolProfiles(), calls=calls, descriptions=descriptions or {})
    return (found,) if found else ()


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
            "list_pull_requests",
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


@pytest.mark.parametrize(
    ("tools", "tool", "params", "answer", "first"),
    [
        # what an answer says has to be done first, if only its description says who does it
        (
            {"blame": "Show who changed it.", "sync_up": "Fetch what others did to a plan."},
            "publish",
            {"plan": "p"},
            "refused (fetch first)",
            "sync_up",
        ),
        # a thing that the answer speaks of is identified before others are listed
        (
            {"list_plans": "List the plans.", "identify_blade": "Turn it, and read its number."},
            "start_saw",
            {"plan": 4},
            "Sägeblatt unbekannt: blade",
            "identify_blade",
        ),
        # of equals the one whose description shares most with the call
        (
            {"get_hall": "Show a hall.", "list_open_lanes": "List the lanes of a hall."},
            "book_lane",
            {"hall": "h"},
            "täynnä",
            "list_open_lanes",
        ),
    ],
)
def test_what_a_tool_says_of_itself_decides_between_looks(tools, tool, params, answer, first):
    told = {**tools, tool: "Book a lane of a pool in a hall."}
    assert untried([*told], tool, params, answer, told)[0] == first


@pytest.mark.parametrize(
    ("descriptions", "task", "first"),
    [
        # words that few of the tools have, in the language of the task
        (
            {
                "hent": "Viser foderet.",
                "slaa": "Slår et dyr op efter øremærke.",
                "vis": "Viser tanken.",
            },
            "Hvor meget giver koen med øremærke 77?",
            "slaa",
        ),
        (
            {"sostav": "Показывает состав поезда.", "grafik": "Показывает график бригады."},
            "Кто ведёт поезд? Нужна бригада.",
            "grafik",
        ),
        (
            {"denpyo": "伝票を表示する。", "kaiin": "会員番号を一覧で表示する。"},
            "会員番号で予約を取り消してください。",
            "kaiin",
        ),
    ],
)
def test_the_task_decides_between_looks_in_any_language(descriptions, task, first):
    calls = recent(*[("x9", {"q": 1}, "E-17", True)] * 3)
    tools = {*descriptions, "x9"}
    for told in (descriptions, dict(reversed(descriptions.items()))):
        found = proposed(tools, ("x9",), ToolProfiles(), calls=calls, descriptions=told, task=task)
        assert found == first


@pytest.mark.parametrize(
    ("name", "description"),
    [
        ("x8", "Slår alarmen fra."),
        ("x8", "Перечисляет деньги."),
        ("x8", "Traži povrat alarma."),
        ("x8", "Wypisuje alarm."),
        ("x8", "알람을 찾아 간다"),
        ("disable_rotor_check", "Switch off the check of the rotor for all later runs."),
        ("skip_check", "Skips the check."),
        ("mute_scan", "Turn the scan of a gate off."),
        ("wipe_view", "Erase the view of a user."),
        ("recall_loan", "Ask the borrower to send a loan back."),
        ("recall_product", "Announce that a product is taken back."),
        ("mass_erase", "Erase the whole flash, including calibration, and unlock the chip."),
        ("discard_find", "מוציא ממצא מהאוסף."),
        ("listForAuction", "Put a coin up for auction."),
        ("x8", "Erklärt eine Karte für ungültig."),
        ("x8", "Explicitly ends a contract."),
        ("x8", "Note that a room is clean."),
        ("x8", "Lässt das Bier eines Tanks in den Kanal."),
    ],
)
def test_what_may_be_a_change_is_not_taken_for_a_look(name, description):
    assert not words_of_tool(name, description, frozenset()).reads


def test_a_change_that_shares_only_what_was_handed_over_is_not_proposed():
    told = {
        "order_yarn": "Orders yarn of a dye lot.",
        "open_lot": "Opens a dye lot of a colour.",
        "list_looms": "Lists the looms.",
        "weave": "Weaves a rug.",
    }
    params = {"dye_lot": "red"}
    assert untried(told, "order_yarn", params, "no dye lot of that name", told) != ("open_lot",)


def test_a_change_is_not_proposed_because_a_likelier_one_may_not_be():
    told = {
        "book": "Books a scan.",
        "stop_scale": "Puts the bird on the scale: its weight is new then.",
        "skip_checks": "Skips a check of the weight.",
    }
    answer = "refused: the weight is old, put the bird on the scale"
    assert untried(told, "book", {"bird": 1}, answer, told) == ()


def test_a_look_that_was_made_is_not_proposed_again():
    told = {"book": "Books a berth.", "list_berths": "Lists the berths.", "moor": "Moors a boat."}
    failed = ("book", {"berth": 1}, "berth 1 is unknown", True)
    made = ("list_berths", {}, "berth 2, berth 3", False)
    for before, first in (([], "list_berths"), ([made], "")):
        calls = recent(*before, *[failed] * 3)
        found = proposed(told, ("book",), ToolProfiles(), calls=calls, descriptions=told)
        assert found == first


def test_the_user_is_asked_where_it_is_likelier_that_no_tool_helps():
    told = {"paint": "Paints a door.", "list_parks": "Lists parks.", "ask_user": "Asks the user."}
    calls = recent(*[("paint", {"door": 1}, "keine Farbe", True)] * 3)
    for asks, first in (("ask_user", "ask_user"), ("", "")):
        found = proposed(
            told, ("paint",), ToolProfiles(), calls=calls, descriptions=told, asks=asks
        )
        assert found == first


@pytest.mark.parametrize(
    ("name", "description"),
    [
        ("file_read", "Safely read a file."),
        ("recall_note", "Recall what was noted."),
        ("x8", "Slår et dyr op efter øremærke."),
        ("x8", "伝票を表示する。"),
        ("x8", "Объясняет код: причина и что делать."),
        ("x8", "Explica un código."),
        ("x_ara", "Ad\u0131ndan kodunu arar."),
        # things side by side, what something has
        ("x8", "Läge för klaffar, bommar och signaler."),
        ("x8", "Liczba osób, język, trasa, termin grupy."),
        ("x8", "Kartoteka: numer licencji, trasy."),
        ("x8", "State of the cluster."),
    ],
)
def test_a_look_is_known_by_its_name_or_by_what_it_says_of_itself(name, description):
    assert words_of_tool(name, description, frozenset()).reads


def test_tools_that_explain_come_before_those_that_look_alike():
    tools = ("explain_query", "list_users", "describe_table", "run_query", "finish")
    found = untried(tools, "run_query", {"sql": "select 1"}, "no such column: city")
    assert found[0] in ("describe_table", "explain_query")


def test_what_ends_the_run_or_was_just_tried_comes_last():
    tools = ("start", "stop_service", "finish", "read_log", "submit_answer", "open_door")
    calls = recent(
        ("read_log", {}, "empty", False), *[("start", {"service": "web"}, "refused", True)] * 3
    )
    found = proposed(tools, ("start",), ToolProfiles(), calls=calls)
    assert found not in ("finish", "submit_answer")


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
    found = proposed(tools, ("error",), ToolProfiles(), calls=calls)
    assert found == "list_versions"


def test_words_of_a_server_that_most_names_have_count_for_nothing():
    found = untried(CHAT, "slack_post_message", {"text": "x"}, "slack error: no such channel")
    assert found[0] == CHAT[0]


def test_none_is_proposed_where_tools_are_unknown():
    assert proposed(None, ("a",), ToolProfiles()) == ""


def test_one_is_named():
    run = Session().open_run(Prompt("a", "b", []))
    told = {"get_merge": "Show a merge.", "list_conflicts": "List the conflicts of a merge."}
    for number in range(3):
        run.tool_started("merge", {"branch": "b"}, str(number))
        run.tool_finished(str(number), "conflicts in two files", outcome=Outcome.ERROR)
    knows = SimpleNamespace(
        trajectory=run.trajectory,
        tools={*told, "merge"},
        tool_descriptions=told,
        session={UserMessage: SimpleNamespace(all=list)},
        run_id=run.run_id,
    )
    assert untried_tools(knows, ("merge",)) == ("list_conflicts",)


def test_tools_that_someone_else_called_are_not_proposed():
    run = Session().open_run(Prompt("a", "b", []))
    calls = [("get_mail", "user"), ("get_issue", "model"), *[("update_issue", "model")] * 8]
    for number, (tool, caller) in enumerate(calls):
        run.tool_started(tool, {}, str(number), caller=caller)
        outcome = Outcome.ERROR if tool == "update_issue" else Outcome.OK
        run.tool_finished(str(number), "no such issue", outcome=outcome)
    seen = run.trajectory.follow(Calls).recent(64)
    assert proposed(None, ("update_issue",), ToolProfiles(), calls=seen) == "get_issue"


def test_polls_are_not_proposed():
    assert untried(("wait", "read", "edit"), "edit", {"path": "a"}, "error") == ("read",)


NAMES = st.lists(
    st.text(min_size=1, max_size=40) | st.sampled_from(FILES + FORGE), max_size=30, unique=True
)


@given(NAMES, st.data())
def test_any_names_answers_and_descriptions_give_untried_tools_in_one_order(names, data):
    tried = data.draw(st.lists(st.sampled_from(names), max_size=3)) if names else []
    text = data.draw(st.text(max_size=300))
    calls = recent(*[(name, {"a": text}, text, True) for name in tried])
    told = dict.fromkeys(names, text)
    found = proposed(names, tried, ToolProfiles(), calls=calls, descriptions=told)

    assert found in {"", *names} - set(tried)
    assert found == proposed(reversed(names), tried, ToolProfiles(), calls=calls, descriptions=told)


@pytest.mark.parametrize("hostile", ["{" + "a" * 100_000, "no " * 50_000, "_=," * 40_000])
def test_hostile_answers_take_no_longer_than_their_length_asks_for(hostile, seconds):
    calls = recent(*[("get_me", {"a": hostile}, hostile, True)] * 3)
    told = dict.fromkeys(FORGE, hostile)

    def rank():
        proposed(FORGE, ("get_me",), ToolProfiles(), calls=calls, descriptions=told)

    assert seconds(rank) < 1.0


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
    found = proposed(tools, ("release_hold",), ToolProfiles(), calls=calls)
    assert found == "refund_order"


# What real agents have, with their shell and their way to edit.
CLAUDE = (
    "Bash Read Edit Write Glob Grep LS NotebookEdit WebFetch WebSearch TodoWrite Task TaskOutput "
    "Skill AskUserQuestion ToolSearch ListAgents CronList Monitor TaskList TaskGet "
    "ListMcpResourcesTool ReadMcpResourceTool"
).split()
CODEX = (
    "exec_command write_stdin apply_patch update_plan view_image web_search list_mcp_resources "
    "read_mcp_resource spawn_agent wait_agent get_goal create_goal update_goal request_user_input"
).split()
COPILOT = (
    "bash read_bash stop_bash list_bash view create edit grep glob report_intent web_fetch task "
    "fetch_copilot_cli_documentation read_agent list_agents skill ask_user"
).split()
CLINE = (
    "execute_command read_file write_to_file replace_in_file search_files list_files use_mcp_tool "
    "access_mcp_resource load_mcp_documentation team_list_runs team_status team_create_task "
    "web_fetch attempt_completion"
).split()
GEMINI = (
    "run_shell_command read_file read_many_files list_directory glob search_file_content replace "
    "write_file save_memory google_web_search get_internal_docs ask_user"
).split()
AGENTS = {
    "Claude Code": (CLAUDE, agents.CLAUDE_CODE, "Bash", "Edit"),
    "Codex": (CODEX, agents.CODEX, "exec_command", "apply_patch"),
    "Copilot": (COPILOT, agents.COPILOT, "bash", "edit"),
    "Cline": (CLINE, (), "execute_command", "replace_in_file"),
    "Gemini": (GEMINI, agents.GEMINI_CLI, "run_shell_command", "replace"),
}
ON_FILES = frozenset(
    "Read Glob Grep LS view grep glob read_file read_many_files search_files list_files "
    "list_directory search_file_content".split()
)
PRINTED = (
    "ModuleNotFoundError: No module named 'app'",
    "cat: src/x.py: No such file or directory",
    "E   assert 3 == 4\nFAILED tests/test_a.py::test_b - assert 3 == 4",
    "src/index.ts(3,5): error TS2304: Cannot find name 'Foo'.",
    "CONFLICT (content): Merge conflict in README.md",
    "error: externally-managed-environment",
)


@pytest.mark.parametrize("name", AGENTS)
@pytest.mark.parametrize("printed", PRINTED)
def test_what_an_agent_has_for_itself_is_not_proposed_when_a_command_or_an_edit_fails(
    name, printed
):
    tools, profiles, shell, edit = AGENTS[name]
    for tool, params in ((shell, {"command": "x"}), (edit, {"file_path": "src/a.py"})):
        calls = recent(*[(tool, params, printed, True)] * 3, profiles=profiles)
        found = proposed(tools, (tool,), ToolProfiles(profiles), calls=calls)
        assert found in {"", *ON_FILES}
        assert bool(found) is not ON_FILES.isdisjoint(tools)


def test_a_look_at_something_else_is_not_proposed_however_few_tools_there_are():
    told = {
        "list_menus": "List the menus of the week.",
        "book_room": "Book a room.",
        "get_tariff": "Show what power costs.",
    }
    assert untried(told, "book_room", {"room": "A"}, "refused", told) == ()
    told["calendar_of"] = "Show when a room is free."
    assert untried(told, "book_room", {"room": "A"}, "refused", told) == ("calendar_of",)


@pytest.mark.parametrize(
    ("tools", "found"),
    [
        ("wait_seconds pause_campaign book", {WayOut.LATER: "wait_seconds"}),
        ("wait_for_element sleep", {WayOut.LATER: "sleep"}),
        ("ask_user search", {WayOut.ASK: "ask_user"}),
        ("AskUserQuestion Read", {WayOut.ASK: "AskUserQuestion"}),
        ("request_user_input exec", {WayOut.ASK: "request_user_input"}),
        ("vent_minutter ventilate", {WayOut.LATER: "vent_minutter"}),
        ("varakozas varos_lista", {WayOut.LATER: "varakozas"}),
        ("hoi_nguoi_dung hoi_vien", {WayOut.ASK: "hoi_nguoi_dung"}),
        ("attendre espera_lista", {WayOut.LATER: "attendre"}),
        ("vanta_minuter varna", {WayOut.LATER: "vanta_minuter"}),
        ("vendeg_kerdezese szoba_cseréje", {WayOut.ASK: "vendeg_kerdezese"}),
        ("fraga_gasten demande_client_liste", {WayOut.ASK: "fraga_gasten"}),
        ("preguntar_cliente message_owner", {WayOut.ASK: "preguntar_cliente"}),
        ("message_owner message_all_owners", {WayOut.ASK: "message_owner"}),
        ("customer_demand demanda_cliente guest_request", {}),
        ("待つ 待機列", {WayOut.LATER: "待つ"}),
        ("ask_question user_search input_text customer_update", {}),
        ("", {}),
    ],
)
def test_the_tools_that_wait_and_that_ask_a_person_are_known_by_their_names(tools, found):
    assert helpers(tools.split(), {}) == found


@pytest.mark.parametrize(
    ("description", "asks"),
    [
        ("Ask the customer something.", True),
        ("Esittää kysymyksen tehtävän antaneelle asiakkaalle.", True),
        ("Κάνει μια ερώτηση στον χρήστη.", True),
        ("向用户提问。", True),
        ("Stelt de gebruiker een vraag.", True),
        ("Call a customer. Ask for one.", False),
        ("Müşteriyi arar.", False),
        ("Κάνει ερώτηση σε αυτόν που έδωσε την εντολή.", True),
        ("Xóa một giống khỏi danh mục.", False),
        ("Ask for a branch to be merged.", False),
        ("Kérdést küld a vendégnek.", True),
        ("Demande au client ce qu'il veut.", True),
        ("Demande une réparation.", False),
        ("Viser kundens spørgsmål.", True),  # no form tells that these are asked already
    ],
)
def test_a_tool_that_asks_a_person_is_known_by_what_it_says_of_itself(description, asks):
    assert helpers(["dialogue"], {"dialogue": description}) == (
        {WayOut.ASK: "dialogue"} if asks else {}
    )


def test_a_tool_that_reads_asks_no_person():
    assert helpers(["list_asked"], {"list_asked": "List what users asked."}) == {}


@pytest.mark.parametrize(
    ("answer", "tools", "first"),
    [
        ("case 81 has to be claimed before it is changed", "claim_case delete_case", "claim_case"),
        ("Claim the case first.", "claimCase delete_case", "claimCase"),
        ("the order must be cancelled before", "cancel_order", None),
        ("the form must be signed first", "claim_case sign_lease", None),
    ],
)
def test_a_step_that_an_answer_says_has_to_come_first_is_proposed(answer, tools, first):
    found = untried(
        [*tools.split(), "set_state"], "set_state", {"case": "81", "payment": "p"}, answer
    )
    assert (found[0] if found else None) == first


@pytest.mark.parametrize(
    "answer", ["unknown station 'X'", "Haltestelle 'X' unbekannt", "Arrêt inconnu", "ありません"]
)
def test_what_is_not_found_is_looked_for_in_any_language(answer):
    tools = ("plan_route", "show_station", "list_stations")
    params = {"from_station": "X"}
    assert untried(tools, "plan_route", params, answer)[0] == "list_stations"


@pytest.mark.parametrize(
    ("tool", "params", "answer", "told", "first"),
    [
        # an id that is unknown: the tool that gives ids
        *[
            (
                "plan_route",
                {"from_id": "FFM"},
                answer,
                {
                    "get_train_info": "Show route and stops of a train.",
                    "find_stop": "Look a stop up by name; returns the IDs that fit.",
                },
                "find_stop",
            )
            for answer in ("unknown stop 'FFM'", "kein stop 'FFM'")
        ],
        # what does not exist has no rules
        (
            "get_price",
            {"sku": "MUG"},
            "no such article",
            {
                "get_packing_rules": "Show the rules for packing an article.",
                "search_products": "Search articles by name; returns the codes.",
            },
            "search_products",
        ),
        # what the answer says was not done
        (
            "read_file_of",
            {"archive": "a"},
            "archive a is on tape and has not been fetched",
            {
                "get_policy": "Show how long an archive is kept.",
                "fetch_archive": "Bring an archive from tape to disk.",
            },
            "fetch_archive",
        ),
        # what the answer says it is done with
        (
            "create_refund",
            {"payment_id": "p"},
            "p is not captured; an authorization is released with a void",
            {
                "capture_payment": "Draw the amount.",
                "void_authorization": "Release the amount held.",
            },
            "void_authorization",
        ),
        # an edit that failed: the text itself
        (
            "apply_patch",
            {"file": "a.go", "diff": "x"},
            "1 hunk FAILED",
            {
                "git_blame": "Show who changed each line of a file.",
                "read_lines": "Return lines of a file.",
            },
            "read_lines",
        ),
    ],
)
def test_the_tool_that_gives_what_the_failed_call_needs_comes_first(
    tool, params, answer, told, first
):
    assert untried([tool, *told], tool, params, answer, told)[:1] == (first,)


@pytest.mark.parametrize("answer", ["Geen graf met nummer 'Jan Vos'.", "E12", "رقم غير صحيح"])
def test_words_where_an_id_is_wanted_are_looked_up_whatever_the_answer_says(answer):
    told = {
        "get_grave": "Show a grave.",
        "get_fees": "Show what graves cost.",
        "search_burials": "Search burials by name; returns the grave.",
    }
    first = untried(told, "get_grave", {"number": "Jan Vos"}, answer, told)[:1]
    assert first == ("search_burials",)


BOOK = ("start_brew", "show_vat", "list_recipes", "delete_recipe", "rinse_vat", "sell_beer")
SAYS = {
    "start_brew": "Begin a brew in a vat.",
    "show_vat": "Show how full a vat is.",
    "list_recipes": "List the recipes.",
    "delete_recipe": "Delete a recipe.",
    "rinse_vat": "Wash an empty vat; afterwards its state is “clean”, until beer is in it again.",
    "sell_beer": "Sell beer.",
}


@pytest.mark.parametrize(
    ("change", "first"),
    [
        ({}, "rinse_vat"),
        ({"rinse_vat": "Wash a vat; it is clean then."}, "rinse_vat"),
        ({"rinse_vat": "Prepare a vat; it is clean then."}, "rinse_vat"),
        # it takes something away, or is paid for
        ({"rinse_vat": "Remove what is in a vat; its state is “clean” then."}, "show_vat"),
        ({"rinse_vat": "Wash a vat; its state is “clean” then. Costs 90 euros."}, "show_vat"),
    ],
)
def test_a_step_is_proposed_if_it_is_likelier_than_any_other_tool(change, first):
    answer = "V1 not started: it is dirty. Needed: state “clean”."
    found = untried(BOOK, "start_brew", {"vat": "V1"}, answer, {**SAYS, **change})

    assert found[0] == first


@pytest.mark.parametrize(
    ("name", "description", "prepares"),
    [
        ("git_log", "Show the latest commits of the current branch.", False),
        ("log_in", "Log in to the shop.", True),
        ("load_map", "Show a map.", False),
        ("fetch_tags", "Download tags from the remote.", True),
    ],
)
def test_what_only_shows_something_prepares_nothing(name, description, prepares):
    assert words_of_tool(name, description, frozenset()).prepares is prepares


@pytest.mark.parametrize(
    ("description", "found"),
    [
        ("Opens the window.", "open_window"),
        ("Opens the window by force; damages the drive.", None),
        ("Öffnet das Fenster mit Gewalt und beschädigt den Antrieb.", None),
        ("Emergency: opens the window.", None),
        ("Opens the window, at no cost.", "open_window"),
    ],
)
def test_what_does_damage_is_not_proposed(description, found):
    told = {"open_window": description, "close_shop": "Ends the day.", "sweep": "Sweeps."}
    answer = "window is closed, it has to be open"
    named = untried({**told, "air": ""}, "air", {"room": 4}, answer, told)
    assert (named[0] if named else None) == found


def test_a_word_with_an_accent_is_that_of_a_name_without():
    """The room that is full is no reason to close it."""
    told = {
        "przydziel_lozko": "Przydziela osobie miejsce w pokoju.",
        "wolne_pokoje": "Lista pokojów danego typu z wolnymi miejscami.",
        "zamknij_pokoj": "Wyłącza pokój z użytku.",
        "plan_posilkow": "Plan posiłków.",
    }
    params = {"karta": "3390", "pokoj": "12"}
    calls = recent(*[("przydziel_lozko", params, "Pokój 12: 4/4 zajęte.", False)] * 3)
    task = "Przydziel łóżko (karta 3390). Najlepiej pokój 12, ale może być inny."
    found = proposed(
        told, {"przydziel_lozko"}, ToolProfiles(), calls=calls, descriptions=told, task=task
    )

    assert found == "wolne_pokoje"


@pytest.mark.parametrize(
    "description",
    [
        "Wartet n Minuten.",
        "Attende i minuti indicati.",
        "Chờ số phút cho trước.",
        "Περιμένει τα λεπτά.",
        "Pauses for the given minutes.",
    ],
)
def test_a_description_that_says_no_more_than_how_long_is_of_a_tool_that_waits(description):
    assert helpers(["x"], {"x": description}) == {WayOut.LATER: "x"}
    assert helpers(["x"], {"x": f"{description[:-1]}, then looks whether the job has ended"}) == {}
