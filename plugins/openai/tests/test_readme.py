"""The examples of the README, run as they stand, with the real client."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from trimtab_test_servers import Call, OpenAIServer, say

pytest.importorskip("openai")
pytest.importorskip("trimtab_doom_loop")
pytestmark = pytest.mark.e2e

README = Path(__file__).parents[1] / "README.md"
EXAMPLES = dict(re.findall(r"```py\n# (\w+\.py)\n(.*?)```", README.read_text(), re.DOTALL))
SCRIPTS = {
    "agent.py": [say(Call("read", {"path": "setup.cfg"})), say("It sets a name.")],
    "conversation.py": [say("Hello."), say("Goodbye.")],
    "own_loop.py": [say(Call("wave")), say("Hello.")],
}
PRINTED = {
    "agent.py": "It sets a name.\n",
    "conversation.py": "......Goodbye.\n",
    "own_loop.py": "Hello.\n",
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_runs(name, tmp_path):
    (tmp_path / "setup.cfg").write_text("[metadata]\nname = x\n")
    with OpenAIServer(SCRIPTS[name]) as server:
        environment = {**os.environ, "OPENAI_BASE_URL": server.base_url, "OPENAI_API_KEY": "x"}
        done = subprocess.run(
            [sys.executable, "-c", EXAMPLES[name]],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
        )
    assert done.stderr == ""
    assert done.stdout.strip(".") == PRINTED[name].strip(".")
    assert server.refusals == ()


def test_each_host_is_shown_in_few_lines():
    assert set(EXAMPLES) == set(SCRIPTS)
    assert all(len(text.splitlines()) <= 21 for text in EXAMPLES.values())
