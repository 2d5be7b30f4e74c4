"""What the tool calls of a run look like so far: fingerprints, tool profiles, signals."""

from trimtab.trajectory._answers import (
    asks_for_input,
    confirms,
    finds_nothing,
    has_ended,
    in_progress,
    refuses,
    reports_nothing,
    says_unchanged,
)
from trimtab.trajectory._canonical import (
    canonical,
    digest,
    fingerprint,
)
from trimtab.trajectory._failure_lines import (
    excerpt,
    key_line,
)
from trimtab.trajectory._failures import (
    error_signature,
)
from trimtab.trajectory._normalise import (
    normalise_text,
    text_of,
    without_times,
)
from trimtab.trajectory._novelty import (
    Pieces,
    brings_nothing,
)
from trimtab.trajectory._orders import (
    NO_ORDERS,
    Orders,
    asks_user,
    orders_in,
    wants_one_at_a_time,
)
from trimtab.trajectory._profiles import (
    ToolProfile,
    ToolProfiles,
    is_aside,
    name_words,
    tool_name,
)
from trimtab.trajectory._projection import (
    BaseProjection,
    MessageRecord,
    Projection,
    TextRecord,
    TurnRecord,
    same_outputs,
    turn_from,
    turn_state,
)
from trimtab.trajectory._records import (
    CallRecord,
    call_from,
    describe_call,
    failure_episode,
    mentions_failure,
)
from trimtab.trajectory._shell import (
    operation,
    reads_only,
    starts_background,
    without_input,
)
from trimtab.trajectory._trajectory import (
    Trajectory,
)
from trimtab.trajectory._untried import (
    untried_tools,
)
from trimtab.trajectory._waiting import (
    CEILING_CALLS,
    Excuse,
    Span,
    excuse_of,
    is_wait,
    leaves_running,
    paused,
    span_of,
    waited_too_long,
)

__all__ = [
    "CEILING_CALLS",
    "NO_ORDERS",
    "BaseProjection",
    "CallRecord",
    "Excuse",
    "MessageRecord",
    "Orders",
    "Pieces",
    "Projection",
    "Span",
    "TextRecord",
    "ToolProfile",
    "ToolProfiles",
    "Trajectory",
    "TurnRecord",
    "asks_for_input",
    "asks_user",
    "brings_nothing",
    "call_from",
    "canonical",
    "confirms",
    "describe_call",
    "digest",
    "error_signature",
    "excerpt",
    "excuse_of",
    "failure_episode",
    "finds_nothing",
    "fingerprint",
    "has_ended",
    "in_progress",
    "is_aside",
    "is_wait",
    "key_line",
    "leaves_running",
    "mentions_failure",
    "name_words",
    "normalise_text",
    "operation",
    "orders_in",
    "paused",
    "reads_only",
    "refuses",
    "reports_nothing",
    "same_outputs",
    "says_unchanged",
    "span_of",
    "starts_background",
    "text_of",
    "tool_name",
    "turn_from",
    "turn_state",
    "untried_tools",
    "waited_too_long",
    "wants_one_at_a_time",
    "without_input",
    "without_times",
]
