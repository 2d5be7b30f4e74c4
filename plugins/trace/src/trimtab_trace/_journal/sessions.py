"""What a journal says: its session, and what was said in it; read on where it grows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import attrs

from trimtab.text import sanitize
from trimtab_trace._codec import BadLine, decode_line
from trimtab_trace._envelope import TraceEvent, zoned_time
from trimtab_trace._journal import journals

DELIVERED = "delivered"
IN_SHADOW = "in shadow"
HELD_BACK = "held back"
FAILED = "failed"
LEFT_OUT = "left out"
_TITLE = 200
_MOST_NUDGES = 5_000
_MOST_NAMED = 5
_TYPE = b'"event_type":"'


@attrs.frozen(kw_only=True)
class Nudge:
    """One decision of a provider.

    Args:
        at: when, aware UTC.
        provider: its name.
        kind: ``"guidance"``, ``"feedback"`` or ``"completion"``; empty where it failed.
        state: ``"delivered"``; ``"in shadow"``: recorded and not delivered; ``"held back"`` by a
            rule; ``"failed"``; ``"left out"``.
        words: what was said, or would have been; empty if they are not known.
        reason: why, or why not.
        point: the decision point of guidance.
        delivery: how guidance was placed.
        level: of guidance, 1 to 3; 0 for others.
        turn: the run's turn, from 0; -1 before the first.
        call: 0-based index of the run's last ended call; -1 before the first.
        run_id: the run.
        agent: the subagent; empty for the main agent.
    """

    at: datetime
    provider: str
    kind: str = ""
    state: str = DELIVERED
    words: str = ""
    reason: str = ""
    point: str = ""
    delivery: str = ""
    level: int = 0
    turn: int = -1
    call: int = -1
    run_id: str = ""
    agent: str = ""

    def as_dict(self) -> dict[str, Any]:
        return {**attrs.asdict(self), "at": self.at.isoformat()}


@attrs.frozen(kw_only=True)
class Call:
    """One ended tool call."""

    at: datetime
    tool: str
    params: Any
    output: Any
    outcome: str
    turn: int
    agent: str = ""


@attrs.define
class ModelUse:
    """What the responses of a session took, as far as the journal tells."""

    responses: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    seconds: float = 0.0

    def add(self, payload: Mapping[str, Any], ended: Any) -> None:
        """Count one response."""
        self.responses += 1
        usage = payload.get("usage")
        if isinstance(usage, Mapping):
            self.input_tokens += max(0, _int(usage.get("input_tokens")))
            self.output_tokens += max(0, _int(usage.get("output_tokens")))
        began, end = zoned_time(payload.get("started")), zoned_time(ended)
        if began and end and end > began:
            self.seconds += (end - began).total_seconds()


@attrs.define
class JournalSession:
    """One journal, read as far as it goes; `read_on` adds what came since.

    Args:
        path: the file.
        keep_calls: whether `calls` are kept, the newest of them up to that number.

    Attributes:
        title: the user's first words.
        model, provider: which answered last, and whose service it is; empty if unknown.
        use: what the responses took.
        started, last: when its first and its last event happened; None before one is read.
        ended_calls: how many there were.
        turns_of: how many turns each run has had, by its id.
        open_runs: ids of runs that have not ended.
        is_full: whether calls are missing at its end.
        offset: how far it was read, in bytes.
    """

    path: Path
    keep_calls: int = 0
    host: str = ""
    project: str = ""
    program: str = ""
    session: str = ""
    title: str = ""
    model: str = ""
    provider: str = ""
    use: ModelUse = attrs.field(factory=ModelUse)
    started: datetime | None = None
    last: datetime | None = None
    ended_calls: int = 0
    turns_of: dict[str, int] = attrs.field(factory=dict)
    is_full: bool = False
    open_runs: set[str] = attrs.field(factory=set)
    nudges: list[Nudge] = attrs.field(factory=list)
    calls: list[Call] = attrs.field(factory=list)
    offset: int = 0

    @property
    def name(self) -> str:
        """The project's folder, or the program."""
        return Path(self.project).name or self.program or self.path.stem

    @property
    def turns(self) -> int:
        return sum(self.turns_of.values())

    def is_running(self, now: datetime, seconds: float = 86_400) -> bool:
        """Whether a run is open, and something happened not long ago."""
        fresh = self.last is not None and (now - self.last).total_seconds() < seconds
        return bool(self.open_runs) and fresh

    def read_on(self) -> list[Nudge]:
        """Read what was appended; return the decisions that came.

        Lines that are damaged, or not whole yet, are left out.
        """
        try:
            with self.path.open("rb") as file:
                file.seek(self.offset)
                added = file.read()
        except OSError:
            return []
        whole = added.rfind(b"\n") + 1
        self.offset += whole
        came: list[Nudge] = []
        for line in added[:whole].splitlines():
            event = self._event(line)
            if event is not None:
                came += self._take(event)
        self.nudges = (self.nudges + came)[-_MOST_NUDGES:]
        return came

    def _event(self, line: bytes) -> TraceEvent | None:
        """Return the event in a line; None if it is damaged or only counts."""
        if not self.keep_calls and self._started(line):
            kind = _type_of(line)
            if kind == b"ToolReturned":
                self.ended_calls += 1
            if kind in _COUNTED:
                return None
        try:
            return decode_line(line)
        except BadLine:
            return None

    def _started(self, line: bytes) -> bool:
        """Whether the session has a title, so that a large event need not be read."""
        return bool(self.title) and len(line) > 400

    def _take(self, event: TraceEvent) -> Iterator[Nudge]:
        self.started = self.started or event.timestamp
        self.last = event.timestamp
        payload = event.payload
        turns = _int(payload.get("turn")) + 1
        self.turns_of[event.run_id] = max(turns, self.turns_of.get(event.run_id, 0))
        match event.event_type:
            case "RunOpened":
                self.open_runs.add(event.run_id)
            case "RunTerminated":
                self.open_runs.discard(event.run_id)
            case "ModelResponded":
                self._take_response(payload, event.timestamp)
            case "ResponseMeasured":
                self._take_response(payload, payload.get("ended"))
            case "ToolReturned":
                self._take_call(event)
            case _:
                self._take_about(event)
                yield from nudges_of(event)

    def _take_about(self, event: TraceEvent) -> None:
        """Learn what the session is about."""
        payload = event.payload
        match event.event_type:
            case "JournalOpened":
                for name in ("host", "project", "program", "session"):
                    setattr(self, name, _text(payload, name))
            case "RunConfigured":
                self.host = self.host or _text(payload.get("host"), "name")
            case "JournalFull":
                self.is_full = True
            case "UserMessage":
                if not self.title and not payload.get("notification"):
                    self.title = str(payload.get("text", ""))[:_TITLE]
            case _:
                pass

    def _take_response(self, payload: Mapping[str, Any], ended: Any) -> None:
        """Count a response of which more is known than its words."""
        if payload.get("usage") is not None or payload.get("started") is not None:
            self.use.add(payload, ended)
        self.model = _text(payload, "model") or self.model
        self.provider = _text(payload, "provider") or self.provider

    def _take_call(self, event: TraceEvent) -> None:
        self.ended_calls += 1
        if not self.keep_calls:
            return
        payload = event.payload
        call = Call(
            at=event.timestamp,
            tool=str(payload.get("tool", "")),
            params=payload.get("input"),
            output=payload.get("output", payload.get("error")),
            outcome=str(payload.get("outcome", "ok")),
            turn=_int(payload.get("turn")),
            agent="" if event.actor == "main" else event.actor,
        )
        self.calls.append(call)
        if len(self.calls) > 2 * self.keep_calls:
            del self.calls[: -self.keep_calls]

    def about(self) -> dict[str, str]:
        """Return what the session is, as JSON shows it."""
        facts = {name: getattr(self, name) for name in ("host", "project", "program", "session")}
        return {**facts, "journal": str(self.path)}

    def as_dict(self, now: datetime) -> dict[str, Any]:
        return {
            **self.about(),
            "title": self.title,
            "model": self.model,
            "provider": self.provider,
            "use": attrs.asdict(self.use),
            "started": self.started.isoformat() if self.started else None,
            "last": self.last.isoformat() if self.last else None,
            "running": self.is_running(now),
            "turns": self.turns,
            "calls": self.ended_calls,
            "nudges": [nudge.as_dict() for nudge in self.nudges],
        }


_COUNTED = frozenset({b"ToolReturned", b"ToolInvoked"})


def _type_of(line: bytes) -> bytes:
    start = line.find(_TYPE, 0, 400) + len(_TYPE)
    return line[start : line.find(b'"', start, start + 80)]


def nudges_of(event: TraceEvent) -> Iterator[Nudge]:
    """Yield what an event of a trace says about a provider, if anything."""
    payload = event.payload
    about: dict[str, Any] = {
        "at": event.timestamp,
        "run_id": event.run_id,
        "agent": "" if event.actor == "main" else event.actor,
        "turn": _int(payload.get("turn")),
        "call": _int(payload.get("call_index")),
        "reason": _text(payload, "reason"),
    }
    match event.event_type:
        case "GuidanceDelivered":
            yield _guidance(payload, about, DELIVERED, payload.get("injection"))
        case "GuidanceSuppressed":
            shadow = about["reason"] == IN_SHADOW
            if about["reason"] != "replayed":
                state = IN_SHADOW if shadow else HELD_BACK
                yield _guidance(payload, about, state, payload.get("counted"))
        case "FeedbackDelivered":
            name, words = _text(payload, "provider_name"), _text(payload, "summary")
            yield Nudge(**{**about, "reason": ""}, provider=name, kind="feedback", words=words)
        case "CompletionChecked":
            if payload.get("status") == "incomplete":
                sources = payload.get("sources") or ()
                names = [_text(one, "name") for one in sources if isinstance(one, Mapping)]
                words = _text(payload, "feedback")
                name = names[-1] if names else "completion"
                yield Nudge(**about, provider=name, kind="completion", words=words)
        case "ProviderFaulted" | "ProviderQuarantined" | "ProviderSkipped":
            failed = event.event_type == "ProviderFaulted"
            why = _text(payload, "error") or about["reason"]
            if event.event_type == "ProviderQuarantined":
                why = f"{payload.get('faults')} failures in a row"
            name = _text(payload.get("source"), "name")
            state = FAILED if failed else LEFT_OUT
            yield Nudge(**{**about, "reason": why}, provider=name, state=state)
        case "GuidanceStopped":
            why = _who_took_long(payload)
            yield Nudge(**{**about, "reason": why}, provider="every provider", state=LEFT_OUT)
        case _:
            pass


def _guidance(
    payload: Mapping[str, Any], about: Mapping[str, Any], state: str, injection: Any
) -> Nudge:
    classified = _text(payload.get("classification"), "reason")
    why = about["reason"] if state == HELD_BACK else classified
    return Nudge(
        **{**about, "reason": why},
        provider=_text(payload, "provider_name"),
        kind="guidance",
        state=state,
        words=_text(injection, "content"),
        point=_text(payload, "decision_point"),
        delivery=_text(payload, "delivery"),
        level=max(0, _int(payload.get("level"))),
    )


def _who_took_long(payload: Mapping[str, Any]) -> str:
    """Return in words how long an agent has waited, and for whom."""
    took = payload.get("providers")
    known = took if isinstance(took, Mapping) else {}
    seconds = {str(name): _float(value) for name, value in known.items()}
    slowest = sorted(seconds.items(), key=lambda item: -item[1])[:_MOST_NAMED]
    who = ", ".join(f"{sanitize(name, 40)} {value:.1f} s" for name, value in slowest)
    waited = f"the agent has waited {_float(payload.get('seconds')):.1f} s"
    return f"{waited}: {who}" if who else waited


def _text(value: Any, name: str) -> str:
    found = value.get(name) if isinstance(value, Mapping) else None
    return found if isinstance(found, str) else ""


def _float(value: Any) -> float:
    return float(value) if isinstance(value, int | float) else 0.0


def _int(value: Any) -> int:
    return value if type(value) is int else -1


def sessions_in(folder: Path, *, newest: int | None = None) -> list[JournalSession]:
    """Return the sessions of a folder of journals, the newest last."""
    found = [JournalSession(path) for path in journals(folder)[:newest]]
    for session in found:
        session.read_on()
    return sorted(found, key=_age)


def _age(session: JournalSession) -> float:
    return session.last.timestamp() if session.last else 0.0


@attrs.define
class Tail:
    """Follows all journals of a folder."""

    folder: Path
    most: int = 50
    keep_calls: int = 0
    sessions: dict[Path, JournalSession] = attrs.field(factory=dict)

    def poll(self) -> list[tuple[JournalSession, list[Nudge]]]:
        """Read on; return the sessions that have something new, with the decisions that came."""
        found = []
        for path in journals(self.folder)[: self.most]:
            session = self.sessions.get(path)
            if session is None:
                session = self.sessions[path] = JournalSession(path, self.keep_calls)
            before = session.offset
            came = session.read_on()
            if session.offset != before:
                found.append((session, came))
        return found

    def ordered(self) -> Iterable[JournalSession]:
        """Return the sessions, the newest first."""
        return sorted(self.sessions.values(), key=_age, reverse=True)
