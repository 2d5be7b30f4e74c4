"""trimtab for the OpenAI client: Chat Completions and Responses, of any compatible service.

`OpenAIAdapter` runs a prompt to its end, `GuidedLoop` runs a conversation of yours, `LoopHooks` are
for a loop of your own. The client's package is imported only when a client has to be made.
"""

from trimtab_openai._adapter import OpenAIAdapter
from trimtab_openai._hooks import LoopHooks, StopDecision
from trimtab_openai._loop import Cost, GuidedLoop, OnChunk
from trimtab_openai._loop_state import LoopResult
from trimtab_openai._model_response import (
    ClientMismatch,
    Exhausted,
    LoopStopped,
    ModelFailed,
    TurnLimitReached,
    UnmeasuredBudget,
)
from trimtab_openai._settings import DELIVERY, HOST, Settings

__all__ = [
    "DELIVERY",
    "HOST",
    "ClientMismatch",
    "Cost",
    "Exhausted",
    "GuidedLoop",
    "LoopHooks",
    "LoopResult",
    "LoopStopped",
    "ModelFailed",
    "OnChunk",
    "OpenAIAdapter",
    "Settings",
    "StopDecision",
    "TurnLimitReached",
    "UnmeasuredBudget",
]
