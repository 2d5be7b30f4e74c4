"""Sessions are saved as snapshots; a forked process goes on with a lock that is free."""

from __future__ import annotations

import copy
import os
import pickle
import subprocess
import sys
from typing import Any

import pytest

from trimtab import Session, SessionError


@pytest.mark.parametrize("make", [pickle.dumps, copy.copy, copy.deepcopy])
def test_a_session_is_neither_pickled_nor_copied(make: Any) -> None:
    with pytest.raises(SessionError, match=r"session\.snapshot\(\).*Session\.restore"):
        make(Session())


FORK = """
import os, sys, threading, time, warnings
from trimtab import DecisionPoint, Prompt, Session
from trimtab_testing import Speaker

warnings.simplefilter("ignore")
session = Session()
speaker = Speaker(text=lambda c: f"{c.tool_call_count} calls")
prompt = Prompt("a", "b", guidance_providers=[speaker], config=None)
run = session.open_run(prompt)
run.guide("pre_tool_selection", timeout=5)  # a worker thread waits now, which the child lacks
held, done = threading.Event(), threading.Event()

def hold():
    with session.lock:
        held.set()
        done.wait(20)

threading.Thread(target=hold, daemon=True).start()
held.wait(5)
child = os.fork()
if child == 0:
    began = time.monotonic()
    fork = session.open_run(prompt)
    said = fork.guide("pre_tool_selection", timeout=5), run.guide("pre_response", timeout=5)
    run.user_message("go on")
    os._exit(0 if time.monotonic() - began < 3 and said[0] else 3)
_, status = os.waitpid(child, 0)
done.set()
sys.exit(os.waitstatus_to_exitcode(status))
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_process_goes_on_though_another_thread_held_the_lock() -> None:
    done = subprocess.run([sys.executable, "-c", FORK], timeout=60, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
