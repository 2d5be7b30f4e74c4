"""The examples of the README, run as they stand, with the real runtime."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from trimtab_test_servers import Call, OpenAIServer, say

pytest.importorskip("openai")  # an extra of pydantic-ai-slim
pytest.importorskip("trimtab_doom_loop")
pytestmark = pytest.mark.e2e

README = Path(__file__).parents[1] / "README.md"
EXAMPLES = dict(re.findall(r"```py\n# (\w+\.py)\n(.*?)```", README.read_text(), re.DOTALL))
SCRIPTS: dict[str, Any] = {
    "agent.py": [say(Call("look", {"path": "a.py"})), say("It sets a name.")],
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_runs(name: str, tmp_path: Path) -> None:
    with OpenAIServer(SCRIPTS[name]) as server:
        environment = {**os.environ, "OPENAI_BASE_URL": server.base_url, "OPENAI_API_KEY": "x"}
        done = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", EXAMPLES[name]],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
        )
    assert done.stdout.strip() == SCRIPTS[name][-1].text, done.stderr
    assert server.refusals == ()
