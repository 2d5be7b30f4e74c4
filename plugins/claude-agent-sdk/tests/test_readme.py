"""The examples of the README, run with the real program."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from trimtab_test_servers import Call, say

pytestmark = pytest.mark.e2e

README = Path(__file__).parents[1] / "README.md"
EXAMPLES = dict(re.findall(r"```py\n# (\w+\.py)\n(.*?)```", README.read_text(), re.DOTALL))


@pytest.mark.parametrize("name", ["agent.py", "own_options.py"])
def test_the_example_runs_and_is_short(ground, name):
    pytest.importorskip("trimtab_doom_loop")
    from trimtab_test_servers import claude_code_environment

    failing = [say(Call("Bash", {"command": "cat missing", "description": "x"})) for _ in range(3)]
    (ground.work / name).write_text(EXAMPLES[name])
    with ground.serving([*failing, say("The tests pass.")]) as server:
        done = subprocess.run(
            [sys.executable, name],
            cwd=ground.work,
            env={**os.environ, **claude_code_environment(server, ground.home)},
            capture_output=True,
            text=True,
            timeout=60,
        )

    assert (done.stdout, done.returncode) == ("The tests pass.\n", 0)
    assert ground.heard('<guidance source="doom-loop">') == [0, 0, 0, 1]
    assert len([line for line in EXAMPLES[name].splitlines() if line.strip()]) < 20
