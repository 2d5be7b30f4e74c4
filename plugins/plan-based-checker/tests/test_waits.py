"""Ends of a turn that are right though the plan is open."""

from __future__ import annotations

import pytest

from trimtab import Outcome, Plan, PlanStep, Prompt, Session
from trimtab.events import CompletionStatus


def status_of(text, *, before="", user="", calls=(), notice="", done="spec", steps=("build",)):
    """Return the verdict after `calls` and a closing `text`, with a step open."""
    session = Session()
    run = session.open_run(Prompt("a", "b", [], completion_checkers=["plan-based-checker"]))
    if before:
        run.model_responded(text=before)
    if user:
        run.user_message(user)
    for number, (tool, params, answer, *outcome) in enumerate(calls):
        run.model_responded()
        run.tool_started(tool, params, str(number))
        run.tool_finished(str(number), answer, outcome=outcome[0] if outcome else Outcome.OK)
    if notice:
        run.user_message(notice, notification=True)
    run.model_responded(text=text)
    session.dispatch(Plan([PlanStep(done, "done"), *(PlanStep(one, "pending") for one in steps)]))
    return str(run.check_completion().status)


@pytest.mark.parametrize(
    "text",
    [
        "Which one do you want, A or B?",
        "Could you confirm the target branch?\n\nI have prepared everything else.",
        "Two options:\n\n1. Keep it\n2. Drop it\n\nLet me know which you prefer.",
        "Please review the plan above and approve it before I implement it.",
        "I need you to run `gh auth login` first; I can't open the pull request without it.",
        "I cannot continue without the API token.",
        "¿Uso Postgres o SQLite?",
        "请确认后我再继续。",
    ],
)
def test_an_agent_that_asks_its_user_may_stop(text):
    assert status_of(text) == CompletionStatus.UNVERIFIED


@pytest.mark.parametrize(
    "text",
    [
        "Shall I go on with the build?",
        "Shall I proceed with the build, or review it first?",
        "Do you want to proceed to phase 3?",
        "Skal jeg gå videre med build?",
        "Mam kontynuować build?",
    ],
)
def test_leave_to_go_on_with_the_plan_is_no_reason_to_stop(text):
    assert status_of(text) == CompletionStatus.INCOMPLETE


@pytest.mark.parametrize(
    "text",
    [
        "All done.",
        "The research is complete.",
        "I have implemented the main parts of it. The tests pass.",
        "Why was it slow? It read the file twice.\nNow it reads it once.",
        'I updated the FAQ ("How do I reset?") and the index.',
        "Next I will write the tests.",
        "Ready for your review.",
        "Waiting for your go-ahead.",
        "Shall I go on?",
        "Soll ich weitermachen?",
        "¿Quieres que siga?",
        "Bitte prüfe den Entwurf und gib mir Bescheid.",
        "Step one is done. Let me know if you have any questions!",
        "第一步完成。如有任何问题请随时告诉我。",
        "全部完成。",
        "The server is running on port 3000.",
    ],
)
def test_an_agent_that_reports_is_sent_back(text):
    assert status_of(text) == CompletionStatus.INCOMPLETE


@pytest.mark.parametrize(
    "user",
    [
        "Write the spec and stop there, I want to review it first.",
        "Only update progress.md, nothing else. We continue tomorrow.",
        "Draft it; let me approve it, then implement.",
        "Don't implement anything before you have my word.",
        "Mach heute nur den Entwurf, morgen machen wir weiter.",
        "Faça só o rascunho. Continuamos amanhã com o resto.",
    ],
)
def test_a_user_may_order_a_stop_on_the_way(user):
    assert status_of("The spec is in spec.md.", user=user) == CompletionStatus.UNVERIFIED


def test_steps_behind_the_last_number_that_the_user_named_may_wait():
    open_steps = ("chapter 4", "chapter 5")
    asked = status_of("Chapter 3 is done.", user="Translate chapters 1 to 3", steps=open_steps)
    further = status_of("Chapter 3 is done.", user="Translate chapters 1 to 5", steps=open_steps)

    assert (asked, further) == (CompletionStatus.UNVERIFIED, CompletionStatus.INCOMPLETE)


def test_a_later_order_takes_the_place_of_the_first():
    assert status_of("It is built.", user="Now build it.") == CompletionStatus.INCOMPLETE


AGENT = (
    "Agent",
    {"prompt": "x", "run_in_background": True},
    "Async agent launched.\nagentId: a81f",
)
SHELL = ("Bash", {"command": "make", "run_in_background": True}, "Running in background, ID: b1")


def test_work_in_the_background_is_waited_for_until_it_reports():
    assert status_of("The agent is at work.", calls=[AGENT]) == CompletionStatus.UNVERIFIED
    done = (
        "<task-notification><task-id>a81f</task-id><status>completed</status></task-notification>"
    )
    assert status_of("It is back.", calls=[AGENT], notice=done) == CompletionStatus.INCOMPLETE


def test_a_shell_in_the_background_counts_where_the_agent_says_that_it_waits():
    assert status_of("The build runs; I wait for it.", calls=[SHELL]) == CompletionStatus.UNVERIFIED
    assert status_of("The feature is finished.", calls=[SHELL]) == CompletionStatus.INCOMPLETE


@pytest.mark.parametrize(
    "call",
    [
        ("question", {"question": "Delete the old bucket?"}, "(waiting for the user)"),
        ("ask_user", {"text": "A or B?"}, ""),
        ("AskUserQuestion", {"questions": [{"options": [{"label": "A"}, {"label": "B"}]}]}, ""),
        ("ask_followup_question", {"question": "A or B?"}, "asked"),
        ("request_user_input", {"prompt": "A or B?"}, "{}"),
        ("human_input", {"text": "A or B?"}, "ok"),
        ("ask_human", {"text": "A or B?"}, "Frage gestellt"),
        ("clarify", {"text": "A or B?"}, "sent"),
        ("prompt_user", {"text": "A or B?"}, "shown"),
        ("post", {"channel": "ops"}, "sent, awaiting approval"),
        ("vraag_goedkeuring", {"actie": "wissen"}, {"status": "wacht op gebruiker", "id": "g-31"}),
    ],
)
def test_a_question_put_by_a_tool_is_open_until_something_else_is_done(call):
    read = ("read", {"path": "a"}, "text")
    assert status_of("", calls=[call]) == CompletionStatus.UNVERIFIED
    assert status_of("It is done.", calls=[call, read]) == CompletionStatus.INCOMPLETE


def test_a_question_that_the_result_answers_is_no_longer_open():
    options = [{"label": "OAuth"}, {"label": "Key"}]
    asked = ("AskUserQuestion", {"questions": [{"options": options}]}, 'They chose "OAuth".')
    echoed = ("AskUserQuestion", {"questions": [{"options": options}]}, "Shown: OAuth, Key")
    assert status_of("OAuth it is.", calls=[asked]) == CompletionStatus.INCOMPLETE
    assert status_of("", calls=[echoed]) == CompletionStatus.UNVERIFIED


def test_what_was_delegated_and_came_back_with_its_answer_is_not_under_way():
    begun = ("delegate", {"to": "writer"}, "delegated, task id: t4")
    back = ("delegate", {"to": "writer"}, "writer: three names, the shortest one is best")
    assert status_of("The writer is at it.", calls=[begun]) == CompletionStatus.UNVERIFIED
    assert status_of("I am closing the task.", calls=[back]) == CompletionStatus.INCOMPLETE


@pytest.mark.parametrize(
    "user",
    [
        "Stop. Don't change anything else.",
        "stop",
        "STOP!",
        "Stopp. Nichts mehr ändern.",
        "Halt!",
        "Arrête. Ne touche plus à rien.",
        "Alto, no cambies nada más.",
        "Pare. Não mude mais nada.",
        "Хватит. Больше ничего не меняй.",
        "停。不要再改了。",
        "やめて。もう何も変えないで。",
        "그만. 더 이상 바꾸지 마.",
        "Basta così, fermati.",
        "Dur. Başka bir şey değiştirme.",
        "Stop. Nic więcej nie zmieniaj.",
        "Stop. Verander niets meer.",
        "Okay hold on, pause here.",
    ],
)
def test_a_user_who_says_stop_is_obeyed_in_any_language(user):
    assert status_of("It is done so far.", user=user) == CompletionStatus.UNVERIFIED


@pytest.mark.parametrize(
    "step",
    [
        "review by the user",
        "Durchsicht durch den Nutzer",
        "relecture par l'utilisateur",
        "revisão pelo usuário",
        "用户审核",
        "Sign-off (customer)",
        "Fehler beheben (Team)",
        "User: pick a colour",
        "Deploy [human]",
        "revisione dell'utente",
    ],
)
def test_a_step_that_people_take_is_waited_for(step):
    status = status_of("It is written.", steps=(step, "implementation"))
    assert status == CompletionStatus.UNVERIFIED


@pytest.mark.parametrize(
    "step",
    [
        "Create the user table",
        "Import users from the CRM",
        "Benutzer anlegen",
        "Ajouter la page utilisateur",
        "Export customer data",
        "Write the user guide",
        "Tests for the user model",
    ],
)
def test_a_step_about_people_is_the_agent_s_own(step):
    assert status_of("It is written.", steps=(step,)) == CompletionStatus.INCOMPLETE


@pytest.mark.parametrize(
    "tool",
    [
        "request_handoff",
        "transfer_to_human",
        "escalate_to_support",
        "hand_over_to_agent",
        "assign_to_operator",
        "confirm_with_user",
        "wait_for_user",
    ],
)
def test_an_agent_that_has_given_the_work_to_others_may_stop(tool):
    calls = [(tool, {"summary": "s"}, {"status": "handed_off"})]
    assert status_of("I passed it on.", calls=calls) == CompletionStatus.UNVERIFIED


@pytest.mark.parametrize("tool", ["transfer_funds", "confirm_order", "assign_label", "list_users"])
def test_an_agent_that_has_done_something_else_may_not(tool):
    calls = [(tool, {"id": 4}, {"status": "done"})]
    assert status_of("It is done.", calls=calls) == CompletionStatus.INCOMPLETE


@pytest.mark.parametrize(
    "text",
    [
        "Which database should I use, Postgres or MySQL?",
        "Welche Datenbank soll ich nehmen, Postgres oder MySQL?",
        "Quelle base dois-je utiliser, Postgres ou MySQL ?",
        "¿Qué base de datos uso, Postgres o MySQL?",
        "Qual banco devo usar, Postgres ou MySQL?",
        "Какую базу использовать, Postgres или MySQL?",
        "您想用哪个数据库 Postgres 还是 MySQL?",
        "データベースは Postgres と MySQL のどちらにしますか?",
        "Postgres와 MySQL 중 어느 것을 쓸까요?",
        "Quale database devo usare, Postgres o MySQL?",
        "Welke database moet ik gebruiken, Postgres of MySQL?",
        "Której bazy użyć, Postgres czy MySQL?",
        "Hangi veritaban\u0131n\u0131 kullanay\u0131m, Postgres mi MySQL mi?",
        "Please log in in the browser window, then I can write the parser.",
    ],
)
def test_an_agent_that_lacks_something_of_its_user_may_stop_in_any_language(text):
    assert status_of(f"The design is done. {text}") == CompletionStatus.UNVERIFIED


@pytest.mark.parametrize(
    "user",
    [
        "Don't stop until all steps are done",
        "Stopwords must be removed by the parser",
        "Add a stop button",
        "Fix the pause handling",
        "Halte dich an den Plan",
        "The parser stops at line 3, fix it",
    ],
)
def test_a_message_that_speaks_of_stopping_is_no_order_to_stop(user):
    assert status_of("The design is done.", user=user) == CompletionStatus.INCOMPLETE


@pytest.mark.parametrize("params", [{"question": "A or B?"}, '{"question": "A or B?"}'])
def test_a_thought_after_a_question_takes_it_not_back(params):
    calls = [("ask_user", params, "shown"), ("think", {"thought": "I wait."}, "ok")]
    assert status_of("", calls=calls) == CompletionStatus.UNVERIFIED


FAILED, DENIED = Outcome.ERROR, Outcome.DENIED
LOOK = ("bash", {"command": "env | grep -i rclone; ls ~/.config"}, "rclone.conf")
OPEN = ("upload the dump", "compare the sums")
BLOCKED = [
    ("Failed: 401 unauthorized, access key missing", FAILED),
    ("HTTP 403: キーがありません", FAILED),
    ("Fehler 402: Guthaben aufgebraucht", FAILED),
    ('{"status": 407, "title": "вход запрещён"}', FAILED),
    ('{"error": {"code": 451, "reason": "yasak"}}', FAILED),
    ("error 401: brak klucza", Outcome.OK),
    ("captcha required", FAILED),
    ("The user has denied this", DENIED),
]
TOLD = [
    "Lo script è pronto. Per la prova serve la chiave, che non si trova in nessun file.",
    "Nie mam klucza do serwera, więc dalej ma ruch administrator.",
    "Der Server nimmt den Schlüssel nicht an; er liegt nur bei Ihnen.",
    "サーバーの鍵がないため、ここから先は進めません。",
    "Anahtar dosyada değil, не найден ни в одном файле.",
    "ไม่มีคีย์ของเซิร์ฟเวอร์ ต้องขอจากผู้ดูแล",
]


def denied(answer, outcome, command="rclone copy dump remote:"):
    """Return a call of a shell that did not get what it needs."""
    return ("bash", {"command": command}, answer, outcome)


@pytest.mark.parametrize("text", TOLD)
@pytest.mark.parametrize(("answer", "outcome"), BLOCKED)
def test_an_agent_that_lacks_what_only_people_give_may_stop(answer, outcome, text):
    call = denied(answer, outcome)
    assert status_of(text, calls=[call], steps=OPEN) == CompletionStatus.UNVERIFIED
    assert status_of(text, calls=[call, LOOK], steps=OPEN) == CompletionStatus.UNVERIFIED


@pytest.mark.parametrize(
    ("calls", "text"),
    [
        # Nothing was tried.
        ([], TOLD[0]),
        # It came through in the end.
        ([denied("401", FAILED), LOOK, denied("3 files sent", Outcome.OK)], TOLD[0]),
        # What failed is the agent's own to mend, or something else worked in between.
        ([denied("rclone: unknown flag --foo", FAILED), LOOK], TOLD[0]),
        ([denied("2 tests failed", FAILED), LOOK, denied("2 tests failed", FAILED, "x")], TOLD[0]),
        # It says that all is well, or what it does next.
        ([denied("Failed: 401 unauthorized", FAILED), LOOK], "All is done and uploaded."),
        ([denied("Failed: 401 unauthorized", FAILED), LOOK], "401, so I search the other store:"),
    ],
)
def test_an_agent_that_gives_up_or_claims_is_sent_back(calls, text):
    assert status_of(text, calls=calls, steps=OPEN) == CompletionStatus.INCOMPLETE


def test_three_ways_that_fail_in_a_row_end_what_an_agent_can_do():
    said = "Kein Weg zum Zielnetz"
    ways = [("bash", {"command": f"{one} a.example"}, said, FAILED) for one in ("curl", "ping")]
    third = ("fetch", {"url": "https://a.example"}, said, FAILED)
    text = "Das Zielnetz ist von hier aus nicht erreichbar."
    edit = ("edit", {"path": "a"}, "ok")

    assert status_of(text, calls=[*ways, third], steps=OPEN) == CompletionStatus.UNVERIFIED
    assert status_of(text, calls=[*ways, edit, third], steps=OPEN) == CompletionStatus.INCOMPLETE
    assert status_of(text, calls=ways, steps=OPEN) == CompletionStatus.INCOMPLETE


def test_a_remark_behind_a_question_about_an_open_step_does_not_answer_it():
    steps = ("move the old records", "write the notes")
    asks = "The parser is done. Shall the 40,212 old records move too? That is for good."
    takes = "Should the old records move? I move the old records now."

    assert status_of(asks, steps=steps) == CompletionStatus.UNVERIFIED
    assert status_of(takes, steps=steps) == CompletionStatus.INCOMPLETE


@pytest.mark.parametrize(
    ("user", "text"),
    [
        ("You can stop here, don't go on with the others today.", "Phase 1 is done."),
        (
            "Du kannst hier aufhören, mach mit den anderen heute nicht weiter.",
            "Fertig bis hierher.",
        ),
        ("Pode parar por aqui, não continue com as outras fases.", "A fase 1 está pronta."),
        ("Puedes parar aquí, no sigas con las demás.", "La fase 1 está lista."),
        ("Можешь остановиться, не продолжай остальное.", "Фаза 1 готова."),
        ("这里可以停了 其他的不要继续。", "第一阶段完成。"),
    ],
)
def test_a_user_who_lets_the_rest_be_is_obeyed(user, text):
    steps = ("phase 2", "phase 3")
    assert status_of(text, user=user, steps=steps) == CompletionStatus.UNVERIFIED


@pytest.mark.parametrize(
    "user",
    [
        "Don't stop here, go on with the others.",
        "Nicht aufhören, mach mit den anderen weiter.",
        "No pares, sigue con las demás.",
    ],
)
def test_a_user_who_wants_no_stop_is_obeyed_too(user):
    steps = ("phase 2", "phase 3")
    assert status_of("Phase 1 is done.", user=user, steps=steps) == CompletionStatus.INCOMPLETE


@pytest.mark.parametrize(
    ("answer", "text", "may"),
    [
        # A state, or words of it in the language of the run, and the number of the case.
        ('{"job": "tj-7719", "state": "queued"}', "tj-7719 เข้าคิวแล้ว", True),
        ('{"stav": "čeká na schválení", "č": "Z-2231"}', "Build čeká na schválení Z-2231.", True),
        # A number of what was made, and another job's.
        (
            '{"ticket": "T-4711", "title": "printer"}',
            "The spec is ticket T-4711, build next.",
            False,
        ),
        ('{"job": "tj-7719", "state": "queued"}', "The build is next.", False),
    ],
)
def test_a_case_that_is_pending_is_known_by_its_number(answer, text, may):
    calls = [("submit", {"file": "a.wav"}, answer)]
    assert (status_of(text, calls=calls) == CompletionStatus.UNVERIFIED) == may


@pytest.mark.parametrize(
    "text",
    [
        "Imam ih 412. Smijem li ih izbrisati?",
        "Ktorú z nich beriem?\n1) lacnú\n2) rýchlu",
        "Vilken tar vi: den billiga, den snabba eller ingen av dem?",
        "ควรใช้ Postgres ไหม?",
        "Uzmem li onu iz Zadra?",
    ],
)
def test_a_question_that_holds_its_answers_or_what_was_found_needs_one(text):
    calls = [("search", {"q": "boat"}, "Zadra 412, Pula 398")]
    assert status_of(f"Našao sam dvije. {text}", calls=calls) == CompletionStatus.UNVERIFIED


@pytest.mark.parametrize(
    ("answer", "text", "may"),
    [
        ("Ja, bitte.", "Gut. Soll ich also die alten Rechnungen archivieren?", False),
        ("Nur die von 2021.", "Soll ich die Rechnungen `2021/a` oder `2021/b` archivieren?", True),
        ("Was kostet das?", "Nichts. Soll ich die alten Rechnungen archivieren?", True),
    ],
)
def test_a_question_that_the_user_has_answered_is_not_put_again(answer, text, may):
    status = status_of(
        text,
        before="Soll ich die alten Rechnungen archivieren?",
        user=answer,
        steps=["Rechnungen archivieren"],
    )
    assert (status == CompletionStatus.UNVERIFIED) is may


@pytest.mark.parametrize(
    ("tool", "text", "may"),
    [
        ("send_email", "Ho chiesto alla banca il numero del mandato e la copia firmata.", True),
        ("send_email", "La pratica è aperta. Ora preparo il bonifico.", False),
        ("write_file", "Ho scritto la nota sul mandato e sulla copia firmata.", False),
    ],
)
def test_an_agent_that_has_asked_somebody_and_tells_what_may_wait(tool, text, may):
    asked = {
        "to": "banca",
        "text": "Buongiorno, potete inviare il numero del mandato e la copia firmata?",
    }
    status = status_of(text, calls=[(tool, asked, "ok")], steps=["fare il bonifico"])
    assert (status == CompletionStatus.UNVERIFIED) is may


@pytest.mark.parametrize(
    ("user", "may"),
    [
        ("Analysiere nur die Heizung. Baue noch nichts um.", True),
        ("Analysiere auch die Heizung.", False),
        ("Analysiere die Heizung. Lass die Fenster nicht offen.", False),
    ],
)
def test_a_ban_beside_an_order_that_is_done_holds_for_older_steps(user, may):
    status = status_of(
        "Die Analyse der Heizung: der Vorlauf ist zu warm.",
        user=user,
        calls=[("read_file", {"path": "h.csv"}, "Vorlauf 61")],
        done="Heizung analysieren",
        steps=["Fenster dämmen"],
    )
    assert (status == CompletionStatus.UNVERIFIED) is may


def test_leave_to_go_on_with_steps_is_no_answer_that_they_need():
    text = "Let me know if you'd like me to continue with the build and the release."
    assert status_of(text, steps=["build", "release"]) == CompletionStatus.INCOMPLETE


def test_a_sign_within_a_word_denies_nothing():
    text = "我会把照片分别移动到三个文件夹。接下来统计数量和大小。"
    assert status_of(text, steps=["移动照片"]) == CompletionStatus.INCOMPLETE


@pytest.mark.parametrize(
    ("user", "text", "may"),
    [
        ("Mach nur den Entwurf. Den Versand übernehme ich.", "Der Entwurf liegt da.", True),
        (
            "Mach den Entwurf, aber verschick noch nichts.",
            "Entwurf fertig, nichts verschickt.",
            True,
        ),
        ("Nimm nur geprüfte Zahlen für Entwurf und Versand.", "Der Entwurf liegt da.", False),
        ("Entwurf und Versand, aber nicht vor Freitag.", "Der Entwurf liegt da.", False),
        ("Naredi samo osnutek, pošiljanje uredim sam.", "Osnutek je pripravljen.", True),
        ("Hör nicht auf, bevor alles fertig ist.", "Der Entwurf liegt da.", False),
        ("Zeig mir den Entwurf vor dem Versand.", "Der Entwurf liegt da.", False),
        ("Ich lese den Entwurf, bevor der Versand beginnt.", "Der Entwurf liegt da.", True),
        ("Heute reicht der Entwurf, den Versand machen wir morgen.", "Der Entwurf liegt da.", True),
        ("Mach den Entwurf, den Versand dann für morgen.", "Der Entwurf liegt da.", False),
    ],
)
def test_an_order_is_limited_by_only_not_yet_and_what_the_user_does(user, text, may):
    calls = [("write", {"file": "a.md"}, "ok")]
    done, step = ("Osnutek", "Pošiljanje") if "Osnutek" in text else ("Entwurf", "Versand")
    status = status_of(text, user=user, calls=calls, done=done, steps=[step])
    assert (status == CompletionStatus.UNVERIFIED) is may


def test_who_says_that_only_one_part_was_done_is_pushed():
    status = status_of(
        "Stimmt, ich mache den Rest.",
        before="Der Entwurf liegt da.",
        user="Du hast nur den Entwurf gemacht.",
        done="Entwurf",
        steps=["Versand"],
    )
    assert status == CompletionStatus.INCOMPLETE


@pytest.mark.parametrize(
    ("polled", "text", "may"),
    [
        ('{"stav": "kreslí se", "hotovo": 12}', "T-82 se ještě kreslí.", True),
        ('{"stav": "vytištěno"}', "T-82 je hotová. Další je build.", False),
        (None, "T-82 mám. Další je build.", False),
    ],
)
def test_a_case_runs_while_later_answers_tell_its_state_again(polled, text, may):
    calls = [("tisk", {"soubor": "a"}, '{"zakazka": "T-82", "stav": "kreslí se"}')]
    if polled:
        calls.append(("stav", {"zakazka": "T-82"}, polled))
    assert (status_of(text, calls=calls) == CompletionStatus.UNVERIFIED) is may


@pytest.mark.parametrize(
    ("tool", "params", "answer", "may"),
    [
        ("zeptat_se", {"text": "Kolik kusů chcete?"}, '{"stav": "odesláno"}', True),
        ("hyväksyntä", {"id": "F-2", "kysymys": "Lähetetäänkö lasku?"}, "odottaa vastausta", True),
        ("sök", {"fråga": "När öppnar badet?"}, "10–20", False),
        ("skriv", {"fil": "brev.md", "text": "Kommer ni på fredag?"}, "ok", False),
    ],
)
def test_a_question_is_put_by_a_tool_of_any_name(tool, params, answer, may):
    status = status_of("Det är gjort.", calls=[(tool, params, answer)])
    assert (status == CompletionStatus.UNVERIFIED) is may


@pytest.mark.parametrize(
    "text",
    [
        "One moment please, I start the build now.",
        "Ögonblick, vänligen. Jag startar build nu.",
        "请稍等。我马上开始 build。",
    ],
)
def test_a_moment_please_asks_for_nothing(text):
    assert status_of(text) == CompletionStatus.INCOMPLETE


@pytest.mark.parametrize(
    ("user", "may"), [("Start the build, but not before 22:00.", True), ("Build it.", False)]
)
def test_who_was_told_a_time_waits_for_it(user, may):
    status = status_of("The build starts at 22:00.", user=user, done="check")
    assert (status == CompletionStatus.UNVERIFIED) is may


@pytest.mark.parametrize(
    "state", ["AFVENTER_GODKENDELSE", "afventer godkendelse", "WAITING_FOR_LISE"]
)
def test_a_state_that_waits_for_somebody_is_read_however_it_is_written(state):
    booked = ("book", {"what": "crane"}, {"status": state, "who": "Lise Dam"})
    text = "The booking is with Lise Dam."
    assert status_of(text, calls=[booked], steps=["Book crane"]) == CompletionStatus.UNVERIFIED


def test_how_far_the_work_goes_is_no_condition_of_the_user():
    said = status_of(
        "일정표를 완성했습니다. 다음 지시를 기다리겠습니다.",
        user="촬영 일정표를 만들고, 배우별 콜시트까지 작성해서 저장해 줘.",
        calls=[("make", {"days": 12}, "12일 일정표 저장됨")],
        done="일정표",
        steps=["배우별 콜시트", "저장 확인"],
    )
    assert said == CompletionStatus.INCOMPLETE
