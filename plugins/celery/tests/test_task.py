"""Agents on Celery workers and a real Redis: beats, stopped and killed workers, exits."""

import signal
import time

import pytest

pytest.importorskip("celery")

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(240)]

# A worker looks for what to give back some 10 seconds after its start, and seldom afterwards. How
# long it takes to start is up to the machine, so agents go on until the test says a word.


def test_an_agent_that_beats_outlasts_the_visibility_timeout_of_four_seconds(workers):
    """Beside it, the same as a plain task of Celery with `acks_late`: it is worked on twice."""
    for _ in range(2):
        workers.start()
    agent = workers.app.agent.delay(["beats", ["go", "go"]])
    workers.app.plain.delay(["go"])
    workers.wait_for("begins", "beats")
    workers.wait_for("begins", "plain")
    workers.start()  # idle: it gives back what is not renewed
    workers.wait_for("begins", "plain", 2)
    workers.say("go")
    answer = agent.get(timeout=90)

    assert (answer["text"], answer["message_id"]) == ("done by delivery 1", agent.id)
    assert [one["number"] for one in workers.journal("begins", "beats")] == [1]


def test_a_stopped_worker_neither_acknowledges_nor_answers_after_another_took_over(workers):
    """The zombie ends its task first, while the healthy worker is still at it."""
    first = workers.start()
    agent = workers.app.agent.delay(["zombie", ["stopped", "go"]])
    workers.wait_for("begins", "zombie")
    workers.signal(first, signal.SIGSTOP)
    workers.start()
    workers.wait_for("begins", "zombie", 2)
    workers.say("stopped")
    workers.signal(first, signal.SIGCONT)
    workers.wait_for("refused", "zombie")
    time.sleep(1)  # to acknowledge, if it did
    held = workers.redis.hlen("unacked")
    workers.say("go")
    answer = agent.get(timeout=60)

    assert held == 1, "the healthy worker's message was removed under it"
    assert answer["text"] == "done by delivery 2"
    assert [one["number"] for one in workers.journal("effect", "zombie")] == [2]
    assert workers.journal("refused", "zombie")[0]["number"] == 1
    until = time.monotonic() + 10
    while workers.redis.hlen("unacked"):
        assert time.monotonic() < until
        time.sleep(0.1)
    # The stale worker has a place for other work again.
    assert workers.app.agent.delay(["after", 0]).get(timeout=60)["ok"]


def test_the_task_of_a_killed_worker_goes_on_elsewhere_from_its_last_snapshot(workers):
    first = workers.start()
    agent = workers.app.agent.delay(["killed", 8])
    workers.wait_for("begins", "killed")
    time.sleep(2)
    workers.signal(first, signal.SIGKILL)
    workers.start()

    assert agent.get(timeout=120)["text"] == "done by delivery 2"
    assert [one["known"] for one in workers.journal("begins", "killed")] == [0, 1]


def test_whatever_an_agent_raises_is_one_failed_task(workers):
    from celery.exceptions import Retry

    workers.start()
    for kind, error in (
        ("CancelledError", "CancelledError"),
        ("SystemExit", "SystemExit: 3"),
        ("GeneratorExit", "GeneratorExit"),
    ):
        with pytest.raises(Exception, match=error) as failed:
            workers.app.agent.delay([kind, 0]).get(timeout=60)
        assert not isinstance(failed.value, Retry)
    assert workers.app.agent.delay(["after", 0]).get(timeout=60)["ok"]
    assert workers.running[0].poll() is None


def test_a_task_can_be_called_without_a_broker(workers):
    answer = workers.app.agent.apply(args=(["direct", 0],)).get()

    assert answer["text"] == "done by delivery 1"
