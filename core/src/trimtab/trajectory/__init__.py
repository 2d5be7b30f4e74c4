"""What the tool calls of a run look like so far: fingerprints, tool profiles, signals."""

from trimtab.trajectory._canonical import canonical, digest
from trimtab.trajectory._failures import error_signature
from trimtab.trajectory._normalise import bounded, normalise_text, text_of
from trimtab.trajectory._profiles import ToolProfile, ToolProfiles, words_of
from trimtab.trajectory._projection import BaseProjection, Projection
from trimtab.trajectory._records import (
    CallRecord,
    MessageRecord,
    TextRecord,
    TurnRecord,
    call_from,
    fingerprint,
    turn_from,
    turn_state,
)
from trimtab.trajectory._shell import goes_on, operation, reads_only, waits
from trimtab.trajectory._trajectory import Trajectory
from trimtab.trajectory._waiting import CEILING_CALLS, Span, is_wait, paused, span_of, too_long

__all__ = [
    "CEILING_CALLS",
    "BaseProjection",
    "CallRecord",
    "MessageRecord",
    "Projection",
    "Span",
    "TextRecord",
    "ToolProfile",
    "ToolProfiles",
    "Trajectory",
    "TurnRecord",
    "bounded",
    "call_from",
    "canonical",
    "digest",
    "error_signature",
    "fingerprint",
    "goes_on",
    "is_wait",
    "normalise_text",
    "operation",
    "paused",
    "reads_only",
    "span_of",
    "text_of",
    "too_long",
    "turn_from",
    "turn_state",
    "waits",
    "words_of",
]
