"""Journals: one file a session, private and bounded, and `trimtab status` over them."""

from __future__ import annotations

import io
import json
import os
import re
import signal
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from trimtab import (
    ClassificationResult,
    DecisionPoint,
    GuidanceInjection,
    GuidanceProviderConfig,
    Outcome,
    Prompt,
    Session,
    Usage,
)
from trimtab.__main__ import main
from trimtab_trace import (
    Journal,
    JournalOpened,
    JournalSettings,
    SessionJournal,
    open_trace,
    verify,
)
from trimtab_trace._journal.sessions import JournalSession, Tail

from .test_secrets import FOLLOWING, HEX, KNOWN, SECRET as HIDDEN, TAIL

SECRET = "ghp_abcdefghijklmnopqrstuvwxyz0123456789"
ESCAPE = "\x1b[31m"


class Speaker:
    """Speaks after every second call."""

    name, category = "speaker", "test"
    decision_points = (DecisionPoint.PRE_TOOL_SELECTION,)

    def classify(self, *, context: Any) -> ClassificationResult:
        number = context.tool_call_count
        return ClassificationResult(bool(number) and number % 2 == 0, episode=f"call-{number}")

    def provide(self, *, context: Any) -> GuidanceInjection:
        return GuidanceInjection("heed", f"Heed this after {context.tool_call_count} calls.")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TRIMTAB_HOME", str(tmp_path))
    return tmp_path / "journals"


def a_session(
    recorder: Any, *, agents: tuple[str | None, ...] = (None,), calls: int = 4, **settings: Any
) -> Session:
    """Run agents on one session, all of them recorded."""
    provider = GuidanceProviderConfig(Speaker(), cooldown_turns=0, **settings)
    prompt = Prompt("agent", "main", config=None, guidance_providers=[provider])
    session = Session()
    runs = [session.open_run(prompt, agent, recorders=[recorder]) for agent in agents]
    for run in runs:
        run.user_message(f"Fix {ESCAPE}the build with {SECRET}")
        for number in range(calls):
            run.model_responded(tool_calls=[])
            params = {"command": f"make acme-{number}", "token": "correct-horse-battery"}
            run.tool_finished(
                f"c{number}", "x" * 50_000, outcome=Outcome.ERROR, error="no", tool="Bash",
                params=params,
            )  # fmt: skip
            run.guide(DecisionPoint.PRE_TOOL_SELECTION)
    for run in runs:
        run.close("done")
    return session


def status(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    capsys.readouterr()
    assert main(["status", *words]) == 0
    return capsys.readouterr().out


def shown(capsys: pytest.CaptureFixture[str], *words: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(status(capsys, "--json", *words))["sessions"]
    return found


def test_all_runs_of_a_session_are_in_one_private_file(home: Path) -> None:
    recorder = Journal()
    a_session(recorder, agents=(None, "helper"))
    a_session(recorder)

    files = sorted(home.iterdir())
    assert len(files) == 2
    assert [oct(path.stat().st_mode & 0o777) for path in (home, *files)] == [
        "0o700", "0o600", "0o600",
    ]  # fmt: skip
    runs = [sum(event.event_type == "RunOpened" for event in open_trace(path)) for path in files]
    assert sorted(runs) == [1, 2]
    assert all(verify(open_trace(path)).intact for path in files)


def test_a_journal_is_bounded_and_holds_no_secret(home: Path) -> None:
    a_session(Journal(redact=["acme-"]))

    (file,) = home.iterdir()
    text = file.read_text()
    assert len(text) < 60_000
    assert not [word for word in (SECRET, "correct-horse", "acme-1") if word in text]


class Quoting(Speaker):
    """Quotes what the agent did last."""

    def provide(self, *, context: Any) -> GuidanceInjection:
        call = context.last_call
        return GuidanceInjection("heed", f"{call.params} gave {call.result or call.error}")


def test_no_secret_of_the_list_stands_in_a_journal_wherever_it_was(home: Path) -> None:
    every = [*KNOWN, *FOLLOWING]
    config = GuidanceProviderConfig(Quoting(), cooldown_turns=0, max_per_run=len(every))
    prompt = Prompt("agent", "main", config=None, guidance_providers=[config])
    run = Session().open_run(prompt, recorders=[Journal()])
    for number, text in enumerate(every):
        run.user_message(f"Use {text}")
        run.model_responded(text=f"I use {text}", tool_calls=[])
        failed = {"outcome": Outcome.ERROR, "error": f"refused: {text}"} if number % 2 else {}
        params = {"command": text, "nested": [{"header": text}]}
        run.tool_finished(f"c{number}", {"out": text}, tool="Bash", params=params, **failed)
        run.guide(DecisionPoint.PRE_TOOL_SELECTION)
    run.close("done")

    (file,) = home.iterdir()
    written = file.read_text()
    assert written.count("GuidanceDelivered") >= len(every) // 2
    assert [part for part in (TAIL[:20], HEX, HIDDEN, "IOSFODNN7") if part in written] == []
    assert TAIL[:20].upper() not in written
    assert oct(file.stat().st_mode & 0o777) == "0o600"


def test_what_is_in_shadow_stands_there_with_its_words(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    a_session(Journal())
    a_session(Journal(), mode="shadow")
    a_session(Journal(), holdout=1.0)

    states = [
        [(nudge["state"], nudge["words"]) for nudge in session["nudges"]]
        for session in shown(capsys, "--all")
    ]
    words = ["Heed this after 2 calls.", "Heed this after 4 calls."]
    assert states == [
        [(state, text) for text in words] for state in ("delivered", "in shadow", "in shadow")
    ]


def test_status_shows_the_last_session_in_80_columns(
    home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert "no session is recorded" in status(capsys)
    for number in (1, 2, 3):
        monkeypatch.chdir(_made(home.parent / f"project-{number}"))
        a_session(Journal())

    last, two, every = (status(capsys, *words) for words in ((), ("--last", "2"), ("--all",)))
    assert [text.count("project-") for text in (last, two, every)] == [1, 2, 3]
    assert "project-3" in last
    assert "speaker said: Heed this after 2 calls." in last
    assert max(map(len, every.splitlines())) <= 80
    assert ESCAPE not in every
    (session,) = shown(capsys)
    assert (session["host"], session["calls"], session["running"]) == ("local", 4, False)
    assert session["title"].startswith(f"Fix {ESCAPE}the build with [redacted ")


def _made(folder: Path) -> Path:
    folder.mkdir()
    return folder


def test_a_set_aside_provider_is_named_and_brought_back(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (home.parent / "set-aside.json").write_text('{"slow": {"reason": "held its host up"}}')

    assert "set aside: slow held its host up" in status(capsys)
    assert "takes part again" in status(capsys, "--bring-back", "slow")
    assert "set aside" not in status(capsys)
    assert main(["status", "--bring-back", "slow"]) == 2


def test_old_journals_are_removed_by_age_and_size(home: Path) -> None:
    a_session(Journal())
    (old,) = home.iterdir()
    os.utime(old, (time.time() - 31 * 86_400,) * 2)
    a_session(Journal())
    assert not old.exists()

    (large,) = home.iterdir()
    large.write_bytes(bytes(2_000_000))
    a_session(Journal(max_megabytes=1))
    assert not large.exists()


def test_beyond_its_size_a_journal_holds_decisions_only(home: Path) -> None:
    journal = SessionJournal("s", JournalOpened(host="local"), largest=40_000)
    a_session(journal, calls=60)

    (file,) = home.iterdir()
    session = JournalSession(file)
    session.read_on()
    assert file.stat().st_size < 120_000
    assert (session.is_full, len(session.nudges) > 5) == (True, True)
    assert session.open_runs == set()


def test_a_second_process_writes_another_file(home: Path) -> None:
    first = SessionJournal("../s", JournalOpened(host="local"))
    first.record(JournalOpened(host="x"))
    second = SessionJournal("../s", JournalOpened(host="local"))
    second.record(JournalOpened(host="y"))
    first.close()
    second.close()

    assert len(list(home.iterdir())) == 2
    assert list(home.parent.glob("*.jsonl")) == []


def test_what_was_written_before_is_not_written_again(home: Path) -> None:
    journal = SessionJournal("s", JournalOpened(host="local"))
    a_session(journal)
    (file,) = home.iterdir()
    before = file.read_bytes()

    journal.paused = True
    a_session(journal)

    assert file.read_bytes() == before


def test_a_full_disk_stops_no_agent(home: Path) -> None:
    home.write_text("no folder")

    session = a_session(Journal())

    assert session.runs()


def test_a_journal_is_read_on_as_it_grows(home: Path) -> None:
    tail = Tail(home)
    assert tail.poll() == []
    writing = Thread(target=a_session, args=(Journal(),))
    writing.start()
    writing.join()
    (file,) = home.iterdir()
    content = file.read_bytes()
    file.write_bytes(content[: len(content) // 2])

    ((session, first),) = tail.poll()
    assert tail.poll() == []
    with file.open("ab") as more:
        more.write(content[len(content) // 2 :])
    ((again, second),) = tail.poll()

    assert again is session
    assert [nudge.call for nudge in first + second] == [1, 3]
    assert session.nudges == first + second


@pytest.mark.slow
def test_status_follows_what_comes_until_it_is_interrupted(home: Path) -> None:
    a_session(Journal())
    command = [sys.executable, "-m", "trimtab", "status", "--follow"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        before = [process.stdout.readline() for _ in range(5)]
        a_session(Journal(), mode="shadow")
        after = [process.stdout.readline() for _ in range(6)]
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 130

    assert "speaker said: Heed this after 4 calls." in before[-1]
    assert "speaker in shadow: Heed this after 4 calls." in after[-1]


def test_report_shows_what_was_said_beside_what_would_be(
    home: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    pytest.importorskip("trimtab_replay")
    a_session(Journal(), mode="shadow")
    config = tmp_path / "trimtab.toml"
    config.write_text('[prompts."a/b"]\nguidance = []\n')

    page = tmp_path / "report.html"
    words = ("report", "--config", str(config), "--prompt", "a/b", "-o", str(page))
    assert main([*words]) == 0
    assert "found 1 of trimtab" in capsys.readouterr().err
    embedded = re.search(r'type="application/json" id="data">(.*?)</script>', page.read_text())
    assert embedded is not None
    (run,) = json.loads(embedded[1])["runs"]
    assert run["title"].startswith("Fix")
    assert [(one["state"], one["call"], bool(one["at"])) for one in run["said"]] == [
        ("in shadow", 1, True), ("in shadow", 3, True),
    ]  # fmt: skip
    assert run["nudges"] == []


def test_effect_reads_journals_where_no_path_is_named(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("trimtab_replay")
    for _ in range(2):
        a_session(Journal())
        a_session(Journal(), holdout=1.0)

    assert main(["effect", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    (effect,) = found["providers"]
    assert (found["runs"], effect["nudged_runs"], effect["held_out_runs"]) == (4, 2, 2)
    assert effect["measures"]["left"]["nudged"][1] > 0


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("yes", "journal must be a table, or false."),
        ({"keep": 1}, "unknown key 'journal.keep'. Did you mean 'keep_days'?"),
        ({"enabled": 1}, "journal.enabled must be true or false."),
        ({"keep_days": 0}, "journal.keep_days must be a number above 0"),
        ({"max_megabytes": True}, "journal.max_megabytes must be a number above 0"),
        (
            {"keep": 1, "enabled": 1},
            "Did you mean 'keep_days'? journal.enabled must be true or false.",
        ),
    ],
)
def test_wrong_settings_are_named(value: object, message: str) -> None:
    with pytest.raises(ValueError, match="journal") as raised:
        JournalSettings.read(value)

    assert message in str(raised.value)


def test_model_and_what_its_responses_took_are_shown(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    end = datetime(2026, 1, 1, tzinfo=UTC)
    session = Session()
    run = session.open_run(Prompt("agent", "main", config=None), recorders=[Journal()])
    about: dict[str, Any] = {"model": f"m{ESCAPE}", "provider": "acme", "at": end}
    used = Usage(input_tokens=1_000, output_tokens=50)
    run.model_responded(text="a", usage=used, started=end - timedelta(seconds=2), **about)
    run.model_responded(text="b", usage=used, started=end - timedelta(seconds=4), **about)
    run.model_responded(text="nothing is known of this one")
    run.close("done")

    text = status(capsys)
    (found,) = shown(capsys)

    assert "(acme), 2 responses, 2,000 tokens in, 100 out, 3.0 s each" in text
    assert ESCAPE not in text
    assert (found["provider"], found["turns"]) == ("acme", 3)
    assert found["use"] == {
        "responses": 2, "input_tokens": 2_000, "output_tokens": 100, "seconds": 6.0,
    }  # fmt: skip


def test_a_status_line_shows_the_newest_words_of_one_session(
    home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    a_session(SessionJournal("claude-code-s1", JournalOpened(host="claude-code", session="s1")))
    a_session(SessionJournal("claude-code-s2", JournalOpened(host="claude-code")), calls=1)

    def line(given: bytes) -> str:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(given)))
        return status(capsys, "--line")

    assert "speaker said: Heed this after 4 calls.\n" in line(b'{"session_id": "s1"}')
    assert line(b'{"session_id": "s2"}') == line(b'{"session_id": "../x"}') == ""
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"[1]")))
    assert main(["status", "--line"]) == 2
