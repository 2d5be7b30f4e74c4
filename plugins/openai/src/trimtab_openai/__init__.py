"""trimtab for the OpenAI client: Chat Completions and Responses, of any compatible service.

`OpenAIAdapter` runs a prompt to its end, `GuidedLoop` runs a conversation of yours, `Steps` are
for a loop of your own. The client's package is imported only where a client has to be made.
"""

from trimtab_openai.adapter import OpenAIAdapter
from trimtab_openai.errors import (
    ClientMismatch,
    Exhausted,
    LoopStopped,
    ModelFailed,
    TurnLimitReached,
)
from trimtab_openai.host import DELIVERY, HOST
from trimtab_openai.loop import GuidedLoop
from trimtab_openai.settings import Settings
from trimtab_openai.steps import Steps, Verdict
from trimtab_openai.talk import Ending

__all__ = [
    "DELIVERY",
    "HOST",
    "ClientMismatch",
    "Ending",
    "Exhausted",
    "GuidedLoop",
    "LoopStopped",
    "ModelFailed",
    "OpenAIAdapter",
    "Settings",
    "Steps",
    "TurnLimitReached",
    "Verdict",
]
