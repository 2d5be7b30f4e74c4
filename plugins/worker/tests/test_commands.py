"""`trimtab worker` and `trimtab mailbox`, as processes and in this one."""

import io
import json
import signal
import sqlite3
import subprocess
import sys
import textwrap
import threading
import time
import urllib.error
import urllib.request
from contextlib import contextmanager, suppress

import pytest

from trimtab import __main__  # noqa: F401 - the command line that is tested
from trimtab_worker import SqliteMailbox, WorkerError
from trimtab_worker._setup import make_loop
from trimtab_worker._supervisor import Supervisor
from trimtab_worker._worker_command import describe

pytestmark = pytest.mark.slow

AGENT = """
import os, signal, time
from trimtab import MarkdownSection, Prompt, PromptResponse, Session
from trimtab_worker import LeaseExtenderConfig, MainLoop, MainLoopConfig, WorkerSetup, open_mailbox

CONFIG = MainLoopConfig(longest_silence=60, poll_wait=0.1, retry_delay=0)

class Agent:
    def evaluate(self, prompt, *, session, deadline=None, budget=None, heartbeat=None):
        text = prompt.render().text
        if "slow" in text:
            time.sleep(1.5)
        if "fail" in text:
            raise RuntimeError("it \\x1b[31mfails")
        if "kill" in text:
            os.kill(os.getpid(), signal.SIGKILL)
        if "hang" in text:
            time.sleep(100)
        if "executor" in text:
            from concurrent.futures import ThreadPoolExecutor
            ThreadPoolExecutor().submit(time.sleep, 100).result()
        return PromptResponse("done")

    async def aevaluate(self, prompt, **rest):
        raise NotImplementedError

def prepare(request):
    return Prompt("a", "b", [MarkdownSection(key="k", title="T", template=str(request))]), Session()

def setup():
    return WorkerSetup(adapter=Agent(), prepare=prepare, config=CONFIG)

def loop(url):
    return MainLoop(Agent(), open_mailbox(url), CONFIG, prepare=prepare)

def own():
    return MainLoop(Agent(), open_mailbox("sqlite:///queue.db"), CONFIG, prepare=prepare)

def watched(url):
    config = MainLoopConfig(
        poll_wait=0.1,
        visibility_timeout=12,
        lease_extender=LeaseExtenderConfig(interval=0.1, extension=12),
        longest_silence=0.7,
        watchdog_threshold=1,
    )
    return MainLoop(Agent(), open_mailbox(url), config, prepare=prepare)

def wrong():
    return 7

def broken():
    raise ValueError("no key in the environment")

value = 3
"""
URL = "sqlite:///queue.db"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "agents_of_tests.py").write_text(textwrap.dedent(AGENT))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    monkeypatch.delitem(sys.modules, "agents_of_tests", raising=False)
    return tmp_path


@pytest.fixture
def mailbox(folder):
    with SqliteMailbox(folder / "queue.db") as mailbox:
        yield mailbox


def trimtab(*arguments, text=None):
    command = [sys.executable, "-m", "trimtab", *arguments]
    return subprocess.run(command, capture_output=True, text=True, input=text, timeout=60)


@contextmanager
def start(*arguments):
    """Start a worker; end it where the test fails, which nobody else does."""
    command = [sys.executable, "-m", "trimtab", "worker", *arguments]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as worker:
        try:
            yield worker
        except BaseException:
            worker.kill()
            raise


def read_until(stream, wanted):
    lines = []
    while not lines or wanted not in lines[-1]:
        line = stream.readline()
        assert line, lines
        lines.append(line)
    return lines


def test_sending_counting_and_working(mailbox):
    sent = trimtab("mailbox", "send", URL, '{"task": "a"}')
    piped = trimtab("mailbox", "send", URL, "-", text='"b"')
    counted = json.loads(trimtab("mailbox", "stats", URL, "--json").stdout)
    worked = trimtab("worker", "agents_of_tests:setup", "--mailbox", URL, "--until-idle")

    assert (sent.stdout, piped.stdout) == ("1\n", "2\n")
    assert {name: counted[name] for name in ("waiting", "in_flight", "delayed", "dead")} == {
        "waiting": 2, "in_flight": 0, "delayed": 0, "dead": 0,
    }  # fmt: skip
    assert worked.returncode == 0, worked.stderr
    assert "worker: waiting for messages (sqlite)" in worked.stderr
    assert "worker: message 1 done in " in worked.stderr
    assert worked.stderr.endswith("stopped: 2 received, 2 done, 0 failed, 0 buried, 0 abandoned\n")
    assert mailbox.stats().acked == 2


def test_a_message_is_sent_once_under_a_key(mailbox):
    sent = [trimtab("mailbox", "send", URL, '"a"', "--once", "order 7") for _ in range(2)]

    assert [(one.stdout, one.returncode) for one in sent] == [("1\n", 0), ("", 0)]
    assert mailbox.stats().waiting == 1


def test_failures_are_printed_without_control_characters_and_end_in_dead_letters(mailbox):
    mailbox.send("fail")
    worked = trimtab("worker", "agents_of_tests:loop", "--mailbox", URL, "--until-idle")
    listed = trimtab("mailbox", "dead", URL)

    assert worked.returncode == 1
    assert "message 1 given up: RuntimeError: it " in worked.stderr
    assert "\x1b" not in worked.stderr + listed.stdout
    assert "1  delivered 5 times  RuntimeError: it " in listed.stdout
    assert '{"v":1,"body":"fail"}' in listed.stdout


def test_dead_letters_are_listed_requeued_and_dropped(mailbox, capsys):
    from trimtab.__main__ import main

    for number in range(3):
        mailbox.send(number)
        mailbox.bury(mailbox.receive()[0], "bad\x07 luck")

    assert main(["mailbox", "dead", URL, "list", "2", "--json"]) == 0
    (letter,) = json.loads(capsys.readouterr().out)["dead_letters"]
    assert (letter["id"], letter["deliveries"]) == ("2", 1)
    assert main(["mailbox", "dead", URL, "requeue", "1"]) == 0
    assert main(["mailbox", "dead", URL, "drop", "9"]) == 1
    assert main(["mailbox", "dead", URL, "drop"]) == 0
    assert main(["mailbox", "dead", URL]) == 0
    assert capsys.readouterr().out == "1 sent again\n0 dropped\n2 dropped\nno dead letters\n"
    assert mailbox.stats().waiting == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["mailbox", "send", URL, "no json"], "the body is not JSON"),
        (["mailbox", "send", URL, "1", "--delay", "-1"], "delay must be seconds of 0 or more"),
        (["mailbox", "stats", "nothing"], "not a URL of a mailbox"),
        (["mailbox", "stats", "nothing:x"], "No mailbox 'nothing' is installed"),
        (["mailbox", "stats", "sqlite:///no/such/folder/q.db"], "there is no mailbox"),
        (["mailbox", "dead", "sqlite:///mistyped.db"], "there is no mailbox"),
        (["mailbox", "send", "sqlite:///no/such/q.db", "1"], "unable to open database file"),
        (["mailbox", "stats", "sqlite:queue.db"], "names no file"),
        (
            ["mailbox", "send", "sqlite:///q.db?durabel=1", "1"],
            "parameter of sqlite: is durable=1",
        ),
        (["mailbox", "send", "sqlite:///q.db?durable=yes", "1"], "one parameter of sqlite:"),
        (["mailbox", "stats", "sqlite://host/q.db"], "names no file"),
        (["worker", "agents_of_tests"], "names no factory"),
        (["worker", "no_such_module:f"], "can't be imported: ModuleNotFoundError"),
        (["worker", "agents_of_tests:nothing"], "can't be imported: AttributeError"),
        (["worker", "agents_of_tests:value"], "is not a function but int"),
        (["worker", "agents_of_tests:wrong"], "must return a MainLoop, an EvalLoop or a Worker"),
        (["worker", "agents_of_tests:broken"], "ValueError: no key in the environment"),
        (["worker", "agents_of_tests:setup"], "needs --mailbox URL"),
        (["worker", "agents_of_tests:own", "--mailbox", URL], "a mailbox of its own"),
    ],
)
def test_wrong_input_is_named_with_status_2(folder, capsys, arguments, said):
    from trimtab.__main__ import main

    assert main(arguments) == 2
    assert said in capsys.readouterr().err


def test_an_endless_body_on_standard_input_is_refused(folder, capsys, monkeypatch):
    monkeypatch.setattr("trimtab_worker._mailbox_command.LONGEST_INPUT", 10)
    monkeypatch.setattr("sys.stdin", io.StringIO('"' + "x" * 20))

    from trimtab.__main__ import main

    assert main(["mailbox", "send", URL, "-"]) == 2
    assert "more than 10 characters" in capsys.readouterr().err


def test_a_mistyped_path_creates_no_mailbox(folder, capsys):
    from trimtab.__main__ import main

    before = sorted(path.name for path in folder.iterdir())
    for arguments in (["stats", "sqlite:///other.db"], ["dead", "sqlite:///other.db", "drop"]):
        assert main(["mailbox", *arguments]) == 2
    assert main(["mailbox", "send", "sqlite:other.db", "1"]) == 2
    assert sorted(path.name for path in folder.iterdir()) == before


@pytest.mark.parametrize(
    "command",
    [
        ["mailbox", "send", "memory:", "1"],
        ["mailbox", "stats", "memory:"],
        ["worker", "agents_of_tests:setup", "--mailbox", "memory:"],
    ],
)
def test_a_mailbox_that_ends_with_the_command_is_refused(command, folder, capsys):
    from trimtab.__main__ import main

    assert main(command) == 2
    assert "sqlite:///queue.db" in capsys.readouterr().err


def test_a_factory_may_bring_its_own_mailbox(folder):
    with pytest.raises(WorkerError, match="of its own"):
        make_loop("agents_of_tests:own", URL, print)
    assert make_loop("agents_of_tests:own", None, print).requests.path.name == "queue.db"


def test_sigterm_finishes_the_message_in_work(mailbox):
    mailbox.send("slow")
    mailbox.send("never begun")
    with start("agents_of_tests:loop", "--mailbox", URL) as worker:
        read_until(worker.stderr, "waiting for messages")
        until = time.monotonic() + 20
        while mailbox.stats().in_flight == 0:
            assert time.monotonic() < until
            time.sleep(0.02)
        worker.send_signal(signal.SIGTERM)
        rest = worker.stderr.read()

    assert worker.returncode == 0
    assert "SIGTERM: finishing the message in progress" in rest
    assert "stopped by SIGTERM: 1 received, 1 done" in rest
    assert (mailbox.stats().acked, mailbox.stats().waiting) == (1, 1)


def working_on(mailbox, count=1):
    """Wait until so many messages are in work."""
    until = time.monotonic() + 30
    while mailbox.stats().in_flight < count:
        assert time.monotonic() < until
        time.sleep(0.02)


def test_a_second_signal_gives_the_message_back(mailbox):
    """Nobody waits half an hour for a lease whose worker was stopped."""
    mailbox.send("hang")
    with start("agents_of_tests:loop", "--mailbox", URL) as worker:
        working_on(mailbox)
        worker.send_signal(signal.SIGTERM)
        read_until(worker.stderr, "once more")
        worker.send_signal(signal.SIGTERM)
        rest = worker.stderr.read()

    assert worker.returncode == 0, rest
    assert "message 1 given back unfinished" in rest
    assert "0 abandoned, 1 returned" in rest
    assert mailbox.stats().waiting == 1


def test_a_signal_within_the_call_that_stops_a_loop_stops_it_too(folder):
    """The handler of a second signal runs wherever the first one's is: in a locked event, too."""
    code = (
        "import signal, sys\n"
        "from trimtab_worker._setup import make_loop\n"
        f"loop = make_loop('agents_of_tests:loop', {URL!r}, print)\n"
        "signal.signal(signal.SIGTERM, lambda *_: loop.stop(drain=0.0))\n"
        "def interrupt(frame, event, _):\n"
        "    if event == 'call' and frame.f_code.co_name == 'notify_all':\n"
        "        sys.setprofile(None)\n"
        "        signal.raise_signal(signal.SIGTERM)\n"
        "sys.setprofile(interrupt)\n"
        "loop.stop()\n"
        "print('interrupted' if sys.getprofile() is None else 'not', loop.run().received)\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False
    )
    assert ended.stdout == "interrupted 0\n", ended.stderr


def test_a_message_is_given_back_when_the_time_to_drain_is_over(mailbox):
    mailbox.send("hang")
    with start("agents_of_tests:loop", "--mailbox", URL, "--drain", "0.3") as worker:
        working_on(mailbox)
        worker.send_signal(signal.SIGTERM)
        rest = worker.stderr.read()

    assert worker.returncode == 0, rest
    assert mailbox.stats().waiting == 1


def test_a_tool_thread_that_hangs_does_not_keep_the_process(mailbox):
    """Threads of an executor are joined at exit, for ever if they hang."""
    mailbox.send("executor")
    with start("agents_of_tests:loop", "--mailbox", URL, "--drain", "0.3") as worker:
        working_on(mailbox)
        time.sleep(0.3)
        worker.send_signal(signal.SIGTERM)
        assert worker.wait(20) == 0
    assert mailbox.stats().waiting == 1


def test_the_third_signal_ends_a_worker_that_cannot_give_back(mailbox):
    mailbox.send("hang")
    with start("agents_of_tests:loop", "--mailbox", URL) as worker:
        working_on(mailbox)
        holder = sqlite3.connect("queue.db", isolation_level=None)
        holder.execute("begin immediate")
        for expected in ("once more gives it back", "once more ends at once"):
            worker.send_signal(signal.SIGTERM)
            read_until(worker.stderr, expected)
        worker.send_signal(signal.SIGTERM)
        assert worker.wait(20) == -signal.SIGTERM
        holder.close()


def test_three_signals_end_several_workers_that_hang(mailbox):
    for _ in range(2):
        mailbox.send("hang")
    arguments = ("agents_of_tests:loop", "--mailbox", URL, "--workers", "2")
    with start(*arguments) as supervisor:
        working_on(mailbox, 2)
        supervisor.send_signal(signal.SIGTERM)
        read_until(supervisor.stderr, "once more")
        supervisor.send_signal(signal.SIGTERM)
        rest = supervisor.stderr.read()

    assert supervisor.returncode == 0, rest
    assert mailbox.stats().waiting == 2


def test_workers_end_with_their_parent(mailbox):
    """A parent that is killed leaves nobody behind who goes on taking messages."""
    arguments = ("agents_of_tests:loop", "--mailbox", URL, "--workers", "2", "--drain", "0.2")
    with start(*arguments) as supervisor:
        for _ in range(2):
            mailbox.send("hang")
        working_on(mailbox, 2)
        supervisor.kill()
        rest = supervisor.stderr.read()  # the workers hold it open as long as they live

    assert rest.count("the parent process has ended") == 2
    assert mailbox.stats().waiting == 2


def test_workers_that_end_by_themselves_without_a_limit_are_replaced(folder):
    """Also with status 0: nobody told them to end."""
    counter = folder / "starts"
    code = f"open({str(counter)!r}, 'a').write('x')"
    said = []
    supervisor = Supervisor([sys.executable, "-c", code], 1, said.append)
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    threading.Timer(4, lambda: signal.raise_signal(signal.SIGTERM)).start()
    try:
        status = supervisor.run()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)

    assert len(counter.read_text()) >= 2
    assert status == 3
    assert "ended with status 0" in said[0]


@pytest.mark.parametrize(
    "option",
    [["--workers", "0"], ["--workers", "-3"], ["--max-messages", "0"], ["--drain", "-1"]],
)
def test_numbers_that_mean_nothing_are_refused(folder, capsys, option):
    from trimtab.__main__ import main

    with pytest.raises(SystemExit) as ended:
        main(["worker", "agents_of_tests:setup", "--mailbox", URL, *option])
    assert ended.value.code == 2
    assert "is not a number" in capsys.readouterr().err


def test_a_log_of_json_has_an_object_for_each_event(mailbox):
    mailbox.send("a")
    mailbox.send("fail")
    worked = trimtab(
        "worker", "agents_of_tests:loop", "--mailbox", URL, "--max-messages", "2", "--log", "json"
    )
    events = [json.loads(line) for line in worked.stderr.splitlines()]

    assert [event["event"] for event in events] == [
        "WorkerStarted", "MessageReceived", "MessageDone", "MessageReceived", "MessageFailed",
        "WorkerStopped",
    ]  # fmt: skip
    assert {"at", "pid"} <= set(events[0])
    assert (events[4]["message_id"], events[4]["deliveries"]) == ("2", 1)
    assert events[5]["failed"] == 1


def test_a_stuck_worker_is_reported_and_its_process_ends(mailbox):
    mailbox.send("hang")
    with start("agents_of_tests:watched", "--mailbox", URL) as worker:
        said = worker.stderr.read()

    assert worker.returncode == -signal.SIGKILL
    assert "worker-0 is stuck: no beat for " in said
    assert mailbox.stats().in_flight == 1


def test_several_workers_share_the_work_and_a_dead_one_is_replaced(mailbox):
    for task in ("a", "b", "kill", "c", "d"):
        mailbox.send(task)
    with start("agents_of_tests:loop", "--mailbox", URL, "--workers", "2") as supervisor:
        read_until(supervisor.stderr, "ended with status -9")
        until = time.monotonic() + 30
        while mailbox.stats().acked < 4:
            assert time.monotonic() < until
            time.sleep(0.05)
        supervisor.send_signal(signal.SIGTERM)
        rest = supervisor.stderr.read()

    assert "2 workers ended, 1 of them replaced" in rest
    assert supervisor.returncode == 3
    assert mailbox.stats().in_flight == 1


def test_workers_that_end_by_themselves_are_not_replaced(mailbox):
    mailbox.send("a")
    worked = trimtab(
        "worker", "agents_of_tests:loop", "--mailbox", URL, "--workers", "2", "--until-idle"
    )

    assert worked.returncode == 0, worked.stderr
    assert worked.stderr.count("waiting for messages") == 2
    assert mailbox.stats().acked == 1


def test_a_worker_whose_input_is_wrong_is_not_started_again(folder, capfd):
    command = [sys.executable, "-m", "trimtab", "worker", "no_such_module:f"]
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        status = Supervisor(command, 2, print).run()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)

    assert status == 2
    assert capfd.readouterr().err.count("can't be imported") == 2


def test_lease_events_are_printed_with_their_facts():
    from trimtab_worker import LeaseCapNear, LeaseLost, LeaseShaky

    lost = LeaseLost(message_id="7", reason="no beat for 300 s", final=False)
    near = LeaseCapNear(message_id="7", remaining=600.0, limit=43200.0, reason="SQS")

    shaky = LeaseShaky(message_id="7", error="down", remaining=-6.995878025598131)
    assert describe(shaky) == "message 7: LeaseShaky (error down, remaining -7.0)"
    assert describe(lost) == "message 7: LeaseLost (reason no beat for 300 s, final False)"
    assert "remaining 600.0, limit 43200.0, reason SQS" in describe(near)
    assert describe(object()) is None


def test_an_installed_command_is_listed():
    listed = trimtab("--help").stdout

    assert "worker" in listed
    assert "mailbox" in listed


def test_messages_are_shown_and_purged(mailbox):
    mailbox.send("leased")
    held = mailbox.receive()[0]
    mailbox.send({"task": "tidy up"})
    mailbox.send("later", delay=60)

    shown = trimtab("mailbox", "peek", URL).stdout.splitlines()
    assert shown[0] == "2  waiting, delivered 0 times"
    assert "tidy up" in shown[1]
    assert {line.split(" for ")[0] for line in shown[2::2]} == {"1  leased", "3  delayed"}
    found = json.loads(trimtab("mailbox", "peek", URL, "--json", "--limit", "1").stdout)
    assert [one["state"] for one in found["messages"]] == ["waiting"]
    assert "oldest    waits for" in trimtab("mailbox", "stats", URL).stdout

    counted = trimtab("mailbox", "purge", URL)
    assert (counted.returncode, counted.stdout) == (
        1,
        "2 messages would be deleted; give --yes to delete\n",
    )
    assert trimtab("mailbox", "purge", URL, "--yes").stdout == "2 deleted\n"
    assert held.ack()
    assert "no messages" in trimtab("mailbox", "peek", URL).stdout


def test_probes_of_several_workers_are_answered_by_their_parent(mailbox):
    with start(
        "agents_of_tests:setup", "--mailbox", URL, "--workers", "2", "--health", "0"
    ) as worker:
        line = read_until(worker.stderr, "probes are answered on port")[-1]
        port = line.split("port ")[1].split(":")[0]
        until = time.monotonic() + 30
        while True:
            with suppress(urllib.error.HTTPError):
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/ready", timeout=5) as said:
                    assert json.load(said)["live"]
                break
            assert time.monotonic() < until
            time.sleep(0.1)
        worker.terminate()
        worker.communicate(timeout=30)
    assert worker.returncode == 0
