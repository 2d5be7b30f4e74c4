"""From a request to the words that go into it: identity, runs and providers, without any I/O.

Everything here may take the time that providers take: call it off the event loop.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from weakref import WeakValueDictionary

import attrs

from trimtab import SYSTEM_CLOCK, Clock, Host, Prompt, Run, Session
from trimtab_proxy._follower import Follower, RequestInfo
from trimtab_proxy._gate import Verdict
from trimtab_proxy._identity import (
    Headers,
    History,
    Link,
    Name,
    Relation,
    chain,
    descriptions,
    history,
    host_for,
    link as link_of,
    name_of,
    program_of,
)
from trimtab_proxy._items import Answer, Item, Kind, Wire, string
from trimtab_proxy._threads import (
    AGE_SECONDS,
    MOST_BRANCHES,
    MOST_THREADS,
    Found,
    Talk,
    Thread,
    Threads,
)

PROVIDER_SECONDS = 1.0
_KEPT_RESULTS = 8  # a request brings its history with it, so little is kept here
_LONGEST_MODEL = 200
_NATURAL_ENDS = frozenset({"end_turn", "stop", "stop_sequence"})
MOST_SAID = 20
"""Texts that are kept for the user to read; the journal has them all."""

_SIDE_WORDS = (
    "[SUGGESTION MODE",
    "CRITICAL: Respond with TEXT ONLY",
    "Your task is to create a detailed summary of the conversation",
)


_BRANCHES = frozenset({Relation.FORK, Relation.REWIND})
_EXTENDS = frozenset({Relation.NEXT, Relation.RETRY})


@attrs.frozen(eq=False)
class Decision:
    """What becomes of one request.

    Args:
        words: what is put in; empty for nothing.
        number: of the request within the conversation.
        asked: what the user says at its end.
        chained: stands for all that it holds.
    """

    relation: Relation
    words: str = ""
    thread: Thread | None = None
    number: int = 0
    asked: tuple[str, ...] = ()
    chained: int = 0
    info: RequestInfo = attrs.field(factory=RequestInfo)


@attrs.frozen
class Spoken:
    """What was said once.

    Args:
        number: counts what was said, from 1.
        at: the time, of this machine's zone, ``HH:MM:SS``.
    """

    number: int
    at: str
    provider: str
    words: str


@attrs.define
class Counts:
    """What happened, for a line at the end."""

    requests: int = 0
    guided: int = 0
    runs: int = 0
    relations: Counter[Relation] = attrs.field(factory=Counter)
    spoken: Counter[str] = attrs.field(factory=Counter)
    said: tuple[Spoken, ...] = ()
    failures: Counter[str] = attrs.field(factory=Counter)

    def add(self, other: Counts) -> None:
        """Count what happened elsewhere too."""
        self.requests += other.requests
        self.guided += other.guided
        self.runs += other.runs
        self.relations.update(other.relations)
        self.spoken.update(other.spoken)
        self.said = (*self.said, *other.said)[-MOST_SAID:]
        self.failures.update(other.failures)


class Guide:
    """Follows all conversations that pass, and says what to put into their requests.

    Args:
        prompt: guides main agents; None leaves them alone.
        subagents: guides subagents; None leaves them alone.
        gate: whether completion checkers and refusals may change streamed answers.
        timeout: seconds that each provider may take at one decision.
        clock: tells time and ages.
        most: conversations that are kept; the one unused for longest goes first.
        age_seconds: for how long one is kept without a request.
        recorder: makes a recorder of a conversation, by the names of its program and of its
            session (empty if it has none); None where nothing is recorded.

    Attributes:
        notes: what its user should know about its prompts.
        notify: whether the user is told at once what is said.
    """

    def __init__(
        self,
        prompt: Prompt[Any] | None,
        subagents: Prompt[Any] | None = None,
        *,
        gate: bool = False,
        timeout: float = PROVIDER_SECONDS,
        clock: Clock = SYSTEM_CLOCK,
        most: int = MOST_THREADS,
        age_seconds: float = AGE_SECONDS,
        recorder: Callable[[str, str], Any] | None = None,
    ) -> None:
        self.counts = Counts()
        self.notes: tuple[str, ...] = ()
        self.notify = False
        self.threads = Threads(clock, most=most, age_seconds=age_seconds)
        self.gate = gate
        self._prompt = prompt
        self._subagents = subagents
        self._timeout = timeout
        self._clock = clock
        self._recorder = recorder
        self._talks: WeakValueDictionary[str, Talk] = WeakValueDictionary()

    def request(
        self,
        wire: Wire,
        headers: Headers,
        body: Mapping[str, Any],
        items: Sequence[Item],
        provider: str = "",
    ) -> Decision:
        """Return what becomes of a request.

        Args:
            wire: the API that it is made for.
            headers: names in lower case.
            body: the decoded body; its messages may be left out.
            items: what its messages hold.
            provider: whose service it goes on to; empty if unknown.
        """
        model = string(body.get("model"))[:_LONGEST_MODEL]
        info = RequestInfo(model, provider, self._clock.now())
        decision = attrs.evolve(self._decide(wire, headers, body, history(items)), info=info)
        self.counts.requests += 1
        self.counts.relations[decision.relation] += 1
        return decision

    def answered(self, decision: Decision, answer: Answer) -> None:
        """Take the model's answer to a request.

        Args:
            decision: about the request.
            answer: what the model said and asked for.
        """
        thread = decision.thread
        if thread is None:
            return
        with thread.lock:
            if thread.closed or thread.number != decision.number:
                return
            thread.follower.heard(answer, decision.asked, decision.info)
        with self.threads.lock:
            self.threads.answered(thread, decision.chained, answer)

    def judge(self, decision: Decision, answer: Answer) -> Verdict:
        """Return what becomes of an answer, where the proxy decides about answers.

        Args:
            decision: about the request.
            answer: complete.
        """
        thread = decision.thread
        if thread is None:
            return Verdict()
        with thread.lock:
            if thread.closed or thread.number != decision.number:
                return Verdict()
            thread.follower.commit(answer, decision.asked, decision.info)
            verdict = Verdict()
            if answer.calls:
                verdict = Verdict(refusal=thread.follower.refuse(answer))
            elif answer.stop_reason in _NATURAL_ENDS:
                verdict = Verdict(feedback=thread.follower.may_stop(answer))
        with self.threads.lock:
            self.threads.answered(thread, decision.chained, answer)
        return verdict

    def close(self, reason: str = "the proxy ends") -> None:
        """End all runs."""
        for thread in self.threads:
            self._end(thread, reason)

    def _decide(
        self, wire: Wire, headers: Headers, body: Mapping[str, Any], now: History
    ) -> Decision:
        if any(body.get(key) for key in wire.stored_keys):
            return Decision(Relation.STORED)
        if _is_side(wire, body, now):
            return Decision(Relation.SIDE)
        name = name_of(headers, body)
        of_subagent = bool(name and name.agent) or bool(headers.get("x-openai-subagent"))
        prompt = self._subagents if of_subagent else self._prompt
        if prompt is None:
            return Decision(Relation.SIDE)
        tools = wire.tools(body)
        program = program_of(headers)
        with self.threads.lock:
            found = self.threads.find(now, name, hash(tools))
            if found.relation is Relation.REWIND and now.told <= found.link.shared:
                return Decision(Relation.REWIND)  # until the model has answered it, a mere question
            thread = self._thread_for(
                found,
                name,
                prompt,
                lambda: host_for(program, tools, gate=self.gate, described=descriptions(body)),
                lane=hash(tools),
                program=program.name,
            )
            self.threads.use(thread)
            told = thread.told
        decision = self._follow(wire, found, thread, now, told)
        with self.threads.lock:
            if not thread.closed:
                self.threads.settled(thread, now)
        self._tidy()
        return decision

    def _thread_for(
        self,
        found: Found,
        name: Name | None,
        prompt: Prompt[Any],
        host: Callable[[], Host],
        *,
        lane: int,
        program: str,
    ) -> Thread:
        """Return the conversation that goes on, or a new one that begins with what is shared."""
        known = found.thread
        goes_on = {Relation.NEXT, Relation.RETRY, Relation.COMPACTED, Relation.TRIMMED}
        if known is not None and found.relation in goes_on:
            return known
        if known is not None and found.relation is Relation.REWIND and known.name == name and name:
            self._end(known, "the user went back")
        talk = self._talk(found, name, program)
        open_run = self._opening(talk, name, prompt, host())
        told: list[str] = []
        branches = known is not None and found.relation in _BRANCHES and known.talk is talk
        if known is not None and branches and known.follower.has_run:
            told = known.told[: found.link.shared]
            open_run = self._branching(talk, name, known, len(told))
        follower = Follower(open_run, self._timeout, self._clock, self._spoke)
        thread = Thread(follower, talk, name, lane, told)
        self.threads.add(thread)
        return thread

    def _spoke(self, provider: str, words: str) -> None:
        """Count what is said, and keep it for the user."""
        counts, at = self.counts, f"{self._clock.now().astimezone():%H:%M:%S}"
        counts.spoken[provider] += 1
        spoken = Spoken(sum(counts.spoken.values()), at, provider, words)
        counts.said = (*counts.said, spoken)[-MOST_SAID:]

    def _talk(self, found: Found, name: Name | None, program: str) -> Talk:
        """Return the session that a new conversation is kept in; a branch shares its parent's.

        After many branches one gets a session of its own, which is told its whole history: what a
        session holds never becomes less.
        """
        named = self._talks.get(name.session) if name else None
        talk = found.thread.talk if found.thread and found.relation in _BRANCHES else named
        if talk is None or talk.branches >= MOST_BRANCHES:
            recorders: tuple[Any, ...] = ()
            if self._recorder is not None:
                recorders = (self._recorder(program, name.session if name else ""),)
            talk = Talk(Session(clock=self._clock, keep=_KEPT_RESULTS), recorders)
        elif found.relation in _BRANCHES:
            talk.branches += 1
        if name and (named is None or named.branches >= MOST_BRANCHES):
            self._talks[name.session] = talk
        return talk

    def _opening(
        self, talk: Talk, name: Name | None, prompt: Prompt[Any], host: Host
    ) -> Callable[[], Run]:
        def open_run() -> Run:
            names = self._names_of_run(talk, name, prompt)
            return talk.session.open_run(prompt, host=host, timeout=self._timeout, **names)

        return open_run

    def _names_of_run(self, talk: Talk, name: Name | None, prompt: Prompt[Any]) -> dict[str, Any]:
        """Count one more run, and return how it is named and recorded."""
        self.counts.runs += 1
        return {
            "run_id": talk.run_id(prompt.name, name) if name else None,
            "agent_id": name.agent if name else None,
            "recorders": talk.recorders,
        }

    def _branching(
        self, talk: Talk, name: Name | None, parent: Thread, shared: int
    ) -> Callable[[], Run]:
        """Return what opens a run that knows what its parent did and heard up to the branch."""
        run = parent.follower.run
        later = sum(key[0] in "rR" for key in parent.told[shared:])
        calls = max(0, run.state.calls - later)

        def fork_run() -> Run:
            names = self._names_of_run(talk, name, run.prompt)
            with parent.lock:
                return talk.session.fork_run(run, calls=calls, **names)

        return fork_run

    def _follow(
        self, wire: Wire, found: Found, thread: Thread, now: History, told: list[str]
    ) -> Decision:
        """Tell the run what is new; `told` is what its conversation knew when it was found."""
        with thread.lock:
            link = found.link if found.thread is thread else Link(found.relation, len(told), 0)
            if thread.told is not told:  # another request of the conversation came in between
                again = link_of(now, thread.told)
                if again is None or again.relation not in _EXTENDS:
                    return Decision(found.relation)
                link = again
            thread.number += 1
            thread.seen = list(now.keys)
            same = link.relation is Relation.RETRY and now.ends_with_result
            words = thread.words if same else ""
            if now.told > link.known and not thread.closed:
                words = self._tell(wire, link, thread, now)
            # Not the items themselves: a thousand decisions wait for their answers.
            asked = tuple(item.raw for item in now.items[now.told :])
            unnamed = thread.name is None  # a named one is not looked for by its words
            chained = chain(now.keys)[-1] if unnamed and now.keys else 0
            return Decision(link.relation, words, thread, thread.number, asked, chained)

    def _tell(self, wire: Wire, link: Link, thread: Thread, now: History) -> str:
        if link.relation in {Relation.COMPACTED, Relation.TRIMMED}:
            summary = link.relation is Relation.COMPACTED and link.known == 0
            thread.follower.compacted(summary_follows=summary)
        settled, live = now.items[: now.told], now.ends_with_result
        words = thread.follower.tell(wire, settled, link.known, live=live)
        thread.told, thread.words = list(now.keys[: now.told]), words
        return words

    def _tidy(self) -> None:
        with self.threads.lock:
            due = self.threads.overdue()
        for thread in due:
            self._end(thread, "nothing was heard for long")

    def _end(self, thread: Thread, reason: str) -> None:
        with self.threads.lock:
            self.threads.drop(thread)
        with thread.lock:
            thread.follower.close(reason)


def _is_side(wire: Wire, body: Mapping[str, Any], now: History) -> bool:
    """Tell whether a request asks something besides the conversation: a title, a summary."""
    if now.ends_with_result:
        return False
    if wire.is_side(body) or not _offers_tools(wire, body):
        return True
    last = now.items[-1] if now.items and now.items[-1].kind is Kind.USER else None
    return last is not None and string(last.raw).lstrip().startswith(_SIDE_WORDS)


def _offers_tools(wire: Wire, body: Mapping[str, Any]) -> bool:
    """Tell whether the model may call tools; newer versions of Codex list them as a message."""
    return bool(wire.tools(body)) or body.get("tool_choice") not in (None, "none")
