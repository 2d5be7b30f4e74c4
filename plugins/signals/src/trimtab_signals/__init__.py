"""What tool calls mean: records, failures, novelty, waiting, what is known about tools."""

from trimtab_signals._answers import (
    asks_for_input,
    blames_call,
    confirms,
    finds_nothing,
    has_ended,
    in_progress,
    not_yet,
    refuses,
    reports_nothing,
    says_unchanged,
)
from trimtab_signals._calls import (
    CallProjection,
    Calls,
    SavedTurn,
    TurnRecord,
    same_outputs,
    same_reason,
)
from trimtab_signals._canonical import canonical, digest, fingerprint
from trimtab_signals._changes import Change
from trimtab_signals._closing import asks_user, is_question, requests_in, words_of
from trimtab_signals._envelope import arguments_of
from trimtab_signals._failure_lines import excerpt, key_line
from trimtab_signals._failures import error_signature
from trimtab_signals._helpers import advice, asked_of_last, helpers_of
from trimtab_signals._normalise import normalise_text, text_of, without_times
from trimtab_signals._novelty import (
    Pieces,
    Slot,
    brings_nothing,
    is_next_of_series,
    moved,
    names_in,
    steps_of,
)
from trimtab_signals._obligation import Denial, Ending, denial_after, reason_to_stop
from trimtab_signals._orders import NO_ORDERS, Orders, items_of, orders_in, wants_one_at_a_time
from trimtab_signals._particles import denies, is_done_before, waits_for
from trimtab_signals._parts import comes_back_as_told
from trimtab_signals._profiles import STATES, ToolProfiles, is_aside, name_words, tool_name
from trimtab_signals._records import (
    CallRecord,
    SavedCall,
    describe_call,
    failure_episode,
    mentions_failure,
)
from trimtab_signals._shell import operation, reads_only, starts_background, without_input
from trimtab_signals._untried import untried_tools
from trimtab_signals._waiting import (
    APART,
    CEILING_CALLS,
    Span,
    complains,
    is_wait,
    leaves_running,
    paused,
    spaced,
    span_of,
    waited_too_long,
)
from trimtab_signals._ways_out import Asked, WayOut, asked_by, asked_of

__all__ = [
    "APART",
    "CEILING_CALLS",
    "NO_ORDERS",
    "STATES",
    "Asked",
    "CallProjection",
    "CallRecord",
    "Calls",
    "Change",
    "Denial",
    "Ending",
    "Orders",
    "Pieces",
    "SavedCall",
    "SavedTurn",
    "Slot",
    "Span",
    "ToolProfiles",
    "TurnRecord",
    "WayOut",
    "advice",
    "arguments_of",
    "asked_by",
    "asked_of",
    "asked_of_last",
    "asks_for_input",
    "asks_user",
    "blames_call",
    "brings_nothing",
    "canonical",
    "comes_back_as_told",
    "complains",
    "confirms",
    "denial_after",
    "denies",
    "describe_call",
    "digest",
    "error_signature",
    "excerpt",
    "failure_episode",
    "finds_nothing",
    "fingerprint",
    "has_ended",
    "helpers_of",
    "in_progress",
    "is_aside",
    "is_done_before",
    "is_next_of_series",
    "is_question",
    "is_wait",
    "items_of",
    "key_line",
    "leaves_running",
    "mentions_failure",
    "moved",
    "name_words",
    "names_in",
    "normalise_text",
    "not_yet",
    "operation",
    "orders_in",
    "paused",
    "reads_only",
    "reason_to_stop",
    "refuses",
    "reports_nothing",
    "requests_in",
    "same_outputs",
    "same_reason",
    "says_unchanged",
    "spaced",
    "span_of",
    "starts_background",
    "steps_of",
    "text_of",
    "tool_name",
    "untried_tools",
    "waited_too_long",
    "waits_for",
    "wants_one_at_a_time",
    "without_input",
    "without_times",
    "words_of",
]
