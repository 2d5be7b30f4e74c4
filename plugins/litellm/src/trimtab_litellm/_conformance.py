"""The conformance kit's loops of litellm: ``trimtab conformance litellm`` plays them."""

from __future__ import annotations

import os

from trimtab_litellm._adapter import HOST, SETTINGS, async_client
from trimtab_openai import GuidedLoop
from trimtab_openai.testing import loop_kit, loop_of
from trimtab_testing import Task

MODELS = {
    "anthropic": ("anthropic/claude-sonnet-4-5", ""),
    "gemini": ("gemini/gemini-2.5-pro", "/v1beta/models/gemini-2.5-pro"),
    "openai": ("openai/m", "/v1"),
    "responses": ("openai/m", "/v1"),
}
"""The model of each dialect, and the path of its service."""


def _loop(task: Task) -> GuidedLoop:
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # else it is fetched
    model, path = MODELS[task.wire]
    client = async_client(api_base=f"{task.url}{path}", api_key="x", num_retries=1)
    return loop_of(task, client, model, HOST, SETTINGS)


KIT = loop_kit(
    "litellm",
    HOST,
    _loop,
    claims=(
        "anthropic cancel errors gate gemini invalid limit parallel responses resume shared stop "
        "stream structured"
    ),
)
"""What the loop claims."""
