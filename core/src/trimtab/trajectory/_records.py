"""What projections are fed with: calls, turns, texts and messages, with their fingerprints."""

from __future__ import annotations

from typing import Any

import attrs

from trimtab._events.run import CallOrigin, Outcome, ToolInvoked
from trimtab.trajectory._canonical import VOLATILE_PARAMS, canonical, digest, only_fields
from trimtab.trajectory._failures import error_signature, failed, failure_text, telling_line
from trimtab.trajectory._normalise import bounded, normalise_text, shown_of, text_of
from trimtab.trajectory._profiles import ToolProfile, ToolProfiles

_PARAMS_KEPT = 512
_SAID_KEPT = 200
_NOISY = 1_000


@attrs.define(eq=False)
class CallRecord:
    """One ended tool call as detectors see it. Not to be changed by whoever reads it.

    Attributes:
        tool: its name.
        call: fingerprint of tool and arguments; equal for calls that mean the same.
        exact: fingerprint of the answer as it came.
        failed: whether it failed (see `trimtab.trajectory.failures`).
        signature: what is the same whenever this failure comes back; empty where it did not fail.
        said: what it said: of a failure the telling line, else head and tail; at most 200
            characters, raw, so escape it before quoting.
        size: length of what it said, in characters.
        params_text: the canonical arguments, at most 512 characters, for comparing by likeness.
        outcome, caller, turn: as in the event.
        waits: a declared poll, by the host or by the tool's profile.
        started, ended: monotonic seconds since the run's opening; None where unknown.
        profile: what is known about the tool.
        command: the command line, where the tool is a shell (at most 512 characters).
    """

    tool: str
    call: str
    exact: str
    failed: bool
    signature: str
    said: str
    size: int
    params_text: str
    outcome: Outcome
    caller: CallOrigin
    turn: int | None
    waits: bool
    started: float | None
    ended: float | None
    profile: ToolProfile
    command: str | None
    _answer: str | None = None
    _text: str | None = None

    @property
    def answer(self) -> str:
        """Fingerprint of the normalised answer: equal where nothing new was learnt."""
        if self._answer is None:
            # Most answers are never compared, and normalising is what costs most.
            self._answer = digest(normalise_text(self._text or ""))
            self._text = None
        return self._answer

    def answers_like(self, other: CallRecord) -> bool:
        """Tell whether both answers say the same, by chance differing details aside."""
        return self.exact == other.exact or self.answer == other.answer

    def release(self) -> None:
        """Let go of the answer's text; its fingerprint stays."""
        _ = self.answer

    def state(self) -> dict[str, Any]:
        """Return it JSON-like; the profile is looked up again by name."""
        kept = ("tool", "call", "exact", "failed", "signature", "said", "size", "turn")
        state = {
            name: getattr(self, name)
            for name in (*kept, "params_text", "waits", "started", "ended")
        }
        return {
            **state,
            "command": self.command,
            "outcome": self.outcome.value,
            "caller": self.caller.value,
            "answer": self.answer,
        }


def call_from(state: dict[str, Any] | None, profiles: ToolProfiles) -> CallRecord | None:
    """Return the record whose `state()` this is, None for None."""
    if state is None:
        return None
    return _restored(state, profiles)


def _restored(state: dict[str, Any], profiles: ToolProfiles) -> CallRecord:
    enums = {"outcome": Outcome(state["outcome"]), "caller": CallOrigin(state["caller"])}
    return CallRecord(**{**state, **enums}, profile=profiles.of(state["tool"]))


def fingerprint(params: Any, profile: ToolProfile | None = None) -> str:
    """Return the fingerprint of arguments: equal where they mean the same (DESIGN 4).

    Key order, ``1`` against ``1.0``, null entries, untidy paths and volatile fields make no
    difference; a progress field of `profile` stands for all others.
    """
    return digest(_params_text(params, profile))


def _params_text(params: Any, profile: ToolProfile | None) -> str:
    if profile is None:
        return canonical(params, VOLATILE_PARAMS)
    if profile.progress:
        chosen = only_fields(params, profile.progress)
        params = params if chosen is None else chosen
    volatile = VOLATILE_PARAMS | profile.volatile if profile.volatile else VOLATILE_PARAMS
    text = canonical(params, volatile)
    # Where nothing else is there, the book-keeping is the matter: a tool for thinking.
    return canonical(params) if text == "{}" and params else text


def record_of(event: ToolInvoked, profile: ToolProfile) -> CallRecord:
    """Return what detectors need to know about `event`."""
    params, result = event.params, event.result
    params_text = _params_text(params, profile)
    text = result if type(result) is str else text_of(result)
    if profile.result_noise is not None:
        text = profile.result_noise.sub("", text[:_NOISY]) + text[_NOISY:]
    command = profile.command(params)
    has_failed = failed(event, profile, command)
    said = failure_text(event) if has_failed else shown_of(result, text)
    ended, duration = event.elapsed, event.duration
    return CallRecord(
        event.tool,
        digest(f"{event.tool}\n{params_text}"),
        digest(text),
        has_failed,
        error_signature(said, params) if has_failed else "",
        telling_line(said)[:_SAID_KEPT] if has_failed else bounded(said, _SAID_KEPT // 2),
        len(said),
        params_text[:_PARAMS_KEPT],
        event.outcome,
        event.caller,
        event.turn,
        profile.polls(params) if event.poll is None else event.poll,
        ended if ended is None or duration is None else ended - duration,
        ended,
        profile,
        command if command is None else command[:_PARAMS_KEPT],
        None,
        bounded(text),
    )


@attrs.define(eq=False)
class TurnRecord:
    """One closed turn: the calls of one response, an unordered batch.

    Attributes:
        calls: in the order in which they ended, the first 64; without the harness's own.
        number: how many turns were closed before it.
        asked: the calls that the model asked for.
        key: fingerprint of the set of calls asked for, whatever they answered.
    """

    calls: tuple[CallRecord, ...]
    number: int
    asked: tuple[CallRecord, ...] = attrs.field(init=False)
    key: str = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        calls = self.calls
        if len(calls) == 1 and calls[0].caller is CallOrigin.MODEL:
            self.asked = calls
            self.key = calls[0].call
        else:
            self.asked = tuple([call for call in calls if call.caller is CallOrigin.MODEL])
            self.key = "+".join(sorted({call.call for call in self.asked}))

    def repeats(self, other: TurnRecord) -> bool:
        """Tell whether both turns made the same calls and learnt the same."""
        if self.key != other.key or not self.key:
            return False
        before = {call.call: call for call in other.asked}
        return all(call.answers_like(before[call.call]) for call in self.asked)

    def answers_like(self, other: TurnRecord) -> bool:
        """Tell whether both turns got the same answers of the same tools."""
        if len(self.asked) == 1 and len(other.asked) == 1:
            a, b = self.asked[0], other.asked[0]
            return a.exact == b.exact and a.tool == b.tool
        return {(c.tool, c.exact) for c in self.asked} == {(c.tool, c.exact) for c in other.asked}


def turn_state(turn: TurnRecord) -> dict[str, Any]:
    """Return a turn JSON-like, for a projection's `state()`."""
    return {"number": turn.number, "calls": [call.state() for call in turn.calls]}


def turn_from(state: dict[str, Any], profiles: ToolProfiles) -> TurnRecord:
    """Return the turn whose `turn_state` this is."""
    calls = tuple(_restored(call, profiles) for call in state["calls"])
    return TurnRecord(calls, state["number"])


@attrs.frozen(eq=False)
class TextRecord:
    """What a response said, beside its calls.

    Attributes:
        text, reasoning: as they came; don't keep them.
        has_calls: whether the response also asked for tools.
    """

    text: str
    reasoning: str
    has_calls: bool


@attrs.frozen(eq=False)
class MessageRecord:
    """What the user, or the harness as a `notification`, said; don't keep the text."""

    text: str
    notification: bool
