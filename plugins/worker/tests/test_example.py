"""The example in the package: a worker with a scripted model, and three requests."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from trimtab_worker import open_mailbox

pytestmark = pytest.mark.slow

EXAMPLE = Path(__file__).parents[1] / "examples" / "worker"
REQUESTS = ('{"text": "to be or not to be"}', '{"text": "that is the question"}', '{"text": ""}')


@pytest.fixture
def trimtab(tmp_path, monkeypatch):
    if not EXAMPLE.is_dir():
        pytest.skip("the example is not in this distribution")
    (tmp_path / "agent.py").write_text((EXAMPLE / "agent.py").read_text())

    def trimtab(*arguments):
        command = [sys.executable, "-m", "trimtab", *arguments]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr
        return done

    monkeypatch.chdir(tmp_path)
    return trimtab


def test_a_worker_on_sqlite_answers_three_requests(trimtab):
    for request in REQUESTS:
        trimtab("mailbox", "send", "sqlite:///queue.db", request)
    worked = trimtab("worker", "agent:setup", "--mailbox", "sqlite:///queue.db", "--until-idle")

    assert worked.stderr.count(" done in ") == 3
    with open_mailbox("sqlite:///queue.db") as mailbox:
        assert mailbox.stats().acked == 3


def test_the_scripted_model_counts_words(trimtab, monkeypatch):
    monkeypatch.syspath_prepend(str(EXAMPLE))
    monkeypatch.delitem(sys.modules, "agent", raising=False)
    import agent

    prompt, session = agent.prepare(agent.Question("to be or not to be"))
    response = agent.setup().adapter.evaluate(prompt, session=session)
    monkeypatch.delitem(sys.modules, "agent")

    assert response.text == "6 words"


def test_the_readme_shows_what_is_tested_and_each_engine():
    text = (EXAMPLE / "README.md").read_text()

    assert all(request in text for request in REQUESTS)
    schemes = set(re.findall(r"--mailbox \"?(\w+):", text))
    assert schemes == {"sqlite", "redis", "sqs", "postgresql"}
    assert (EXAMPLE / "agent.py").exists()
