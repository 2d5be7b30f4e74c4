"""What the tool calls of a run look like so far: fingerprints, tool profiles, signals."""

from trimtab.trajectory.canonical import canonical, digest
from trimtab.trajectory.failures import error_signature
from trimtab.trajectory.normalise import normalise_text
from trimtab.trajectory.profiles import ToolProfile, ToolProfiles
from trimtab.trajectory.projection import BaseProjection, Projection
from trimtab.trajectory.records import (
    CallRecord,
    MessageRecord,
    TextRecord,
    TurnRecord,
    fingerprint,
)
from trimtab.trajectory.trajectory import Trajectory

__all__ = [
    "BaseProjection",
    "CallRecord",
    "MessageRecord",
    "Projection",
    "TextRecord",
    "ToolProfile",
    "ToolProfiles",
    "Trajectory",
    "TurnRecord",
    "canonical",
    "digest",
    "error_signature",
    "fingerprint",
    "normalise_text",
]
