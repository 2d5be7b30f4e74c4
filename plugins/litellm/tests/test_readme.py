"""The examples of the README, run as they stand."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from trimtab_test_servers import OpenAIServer, say

pytestmark = pytest.mark.e2e

README = Path(__file__).parents[1] / "README.md"
EXAMPLES = dict(re.findall(r"```py\n# (\w+\.py)\n(.*?)```", README.read_text(), re.DOTALL))


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_runs(name, tmp_path):
    pytest.importorskip("litellm")
    pytest.importorskip("trimtab_doom_loop")
    with OpenAIServer([say("Hello.")]) as server:
        environment = {
            **os.environ,
            "LITELLM_LOCAL_MODEL_COST_MAP": "True",
            "OPENAI_BASE_URL": server.base_url,
            "OPENAI_API_KEY": "x",
            "PYTHONWARNINGS": "ignore",
        }
        done = subprocess.run(
            [sys.executable, "-c", EXAMPLES[name]],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
        )
    assert done.stdout == "Hello.\n", done.stderr
    assert server.refusals == ()


def test_each_is_under_20_lines():
    assert set(EXAMPLES) == {"agent.py", "conversation.py", "async_conversation.py"}
    assert all(len(text.splitlines()) < 20 for text in EXAMPLES.values())
