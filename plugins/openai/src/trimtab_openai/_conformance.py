"""The conformance kit's loops of the OpenAI client: ``trimtab conformance openai`` plays them."""

from __future__ import annotations

from openai import AsyncOpenAI

from trimtab_openai._loop import GuidedLoop
from trimtab_openai._settings import HOST, Settings
from trimtab_openai.testing import loop_kit, loop_of
from trimtab_testing import Task


def _loop(task: Task) -> GuidedLoop:
    url = f"{task.url}/v1"
    client = task.once(lambda: AsyncOpenAI(base_url=url, api_key="x", max_retries=1), "client")
    return loop_of(task, client, "m", HOST, Settings())


KIT = loop_kit(
    "openai",
    HOST,
    _loop,
    claims=(
        "cancel errors gate invalid limit parallel responses resume shared stop stream structured"
    ),
)
"""What the loop claims."""
