"""Whether a host does what it declares, on its real runtime, as the model would read it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from inspect import iscoroutinefunction
from typing import Any, ClassVar, TypeVar, get_type_hints

import attrs
import pytest

from trimtab import Deadline, Host, Prompt, Session, Tool, ToolInvoked, ToolResult
from trimtab_testing._host_kit.service import Script, Service, messages_of, texts_in

T = TypeVar("T")


def _as_texts(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(texts)


@attrs.frozen
class Played:
    """How an agent ended.

    Args:
        text: its last text.
        history: all texts that the runtime keeps for the next turn.
        structured: the answer of its structured output, if that was asked for.
    """

    text: str = ""
    history: tuple[str, ...] = attrs.field(default=(), converter=_as_texts)
    structured: int | None = None


@attrs.define(eq=False)
class Task:
    """What the agent shall do.

    Args:
        prompt: the prompt whose providers guide it.
        session: where it is recorded.
        url: the service, without a path: OpenAI's clients want ``/v1`` behind it.
        tools: functions with type hints and a docstring that the agent has as tools.
        user: what the user says, message after message: each is a turn of one conversation.
        mode: ``"plain"``; ``"stream"``: through the streaming entry; ``"structured"``: it ends
            with an object of one field, ``answer: int``; ``"deny"``: the user refuses the call
            of ``look``; ``"interrupt"``: a tool ``ask(path)`` of the host's own stops the agent to
            ask the user, who says ``"yes"`` after `restarted`; ``"around"``: with the runtime's
            own middleware around it, such as retries of ``flaky`` and limits; ``"subagent"``: with
            a subagent ``scout`` that has the same tools; ``"compact"``: with the runtime's own
            shortening of long histories.
        wire: the service's dialect: ``"openai"`` (Chat Completions), ``"responses"``,
            ``"anthropic"`` or ``"gemini"``.
        conversation: the name of the conversation.
        guided: if false, build the agent without trimtab.
        deadline: the time limit, if there is one.
        timeout: seconds that a provider may take.
        max_turns: the limit of turns to give the runtime, if any.
        made: what `once` has returned, by name; shared by the tasks of a scenario.
    """

    prompt: Prompt[Any]
    session: Session
    url: str
    tools: list[Callable[..., Any]]
    user: tuple[str, ...] = ("Please do the task.",)
    mode: str = "plain"
    wire: str = "openai"
    conversation: str = "conversation"
    guided: bool = True
    deadline: Deadline | None = None
    timeout: float | None = 1.0
    max_turns: int | None = None
    made: dict[str, Any] = attrs.field(factory=dict)

    def once(self, make: Callable[[], T], name: str = "agent") -> T:
        """Return what `make` returns; the same object for all conversations of a scenario.

        Args:
            make: builds the agent.
            name: what it builds, if there are several.
        """
        if name not in self.made:
            self.made[name] = make()
        made: T = self.made[name]
        return made

    def as_tools(self) -> list[Tool[Any, Any]]:
        """Return the tools for a host that takes trimtab's own."""
        return [_as_tool(function) for function in self.tools]

    @property
    def options(self) -> dict[str, Any]:
        """What a host's own class takes as ``**options``, see `trimtab.hosting.Drivers`."""
        return {"timeout": self.timeout, "deadline": self.deadline, "strict": True}

    def restarted(self) -> Task:
        """Return the task as another process goes on with it: nothing made, the session restored.

        What the runtime itself stores, such as its checkpoints, is up to the host.
        """
        session = Session.restore(self.session.snapshot())
        self.session.stop_recording()  # an ended process holds no file
        self.session = session
        return attrs.evolve(self, session=session, made={})


def _as_tool(function: Callable[..., Any]) -> Tool[Any, Any]:
    name, described = function.__name__, function.__doc__ or ""
    fields = {k: attrs.field(type=v) for k, v in get_type_hints(function).items() if k != "return"}
    arguments = attrs.make_class(f"Arguments_of_{name}", fields, frozen=True)

    def handle(params: Any, *, context: object) -> Any:  # noqa: ARG001 - as tools are called
        return ToolResult.ok(function(**attrs.asdict(params, recurse=False)))

    async def ahandle(params: Any, *, context: object) -> Any:  # noqa: ARG001
        return ToolResult.ok(await function(**attrs.asdict(params, recurse=False)))

    return Tool(name, described, arguments, ahandle if iscoroutinefunction(function) else handle)


WIRES = {"responses": "OpenAI's Responses", "anthropic": "Anthropic", "gemini": "Gemini"}
CLAIMS: Mapping[str, str] = {
    "gate": "an agent that may not stop is sent back",
    "stream": "the streaming entry",
    "errors": "the outcome of tools that fail",
    "invalid": "unknown tools and arguments that don't fit",
    "parallel": "several calls of one response",
    "cancel": "calls that are cancelled",
    "structured": "structured output",
    "subagent": "subagents with runs of their own",
    "resume": "a conversation of several turns",
    "deny": "calls that the user refuses",
    "refuse": "a refusal is of all calls of a response",
    "interrupt": "tools that stop the agent and go on in another process",
    "shared": "one agent for several conversations",
    "around": "the runtime's own middleware",
    "rich": "results that are more than text",
    "equal": "the same agent can be built without trimtab",
    "compact": "shortened histories",
    "stop": "an agent whose nudges have no effect is ended",
    "limit": "the runtime's limit of turns is told to providers",
    **{wire: f"the dialect of {name}" for wire, name in WIRES.items()},
}
SECONDS = 60.0
"""A scenario takes a second or two; a runtime that hangs is told so."""


@attrs.frozen
class Verdict:
    """What a scenario found.

    Args:
        scenario: its name.
        result: ``"ok"``, ``"fails"`` or ``"not claimed"``.
        note: what was expected and what was found, or which claim is missing.
    """

    scenario: str
    result: str
    note: str = ""


def _as_claims(words: Iterable[str]) -> frozenset[str]:
    claims = frozenset(words.split() if isinstance(words, str) else words)
    if unknown := sorted(claims - CLAIMS.keys()):
        raise ValueError(f"claims must be of {', '.join(CLAIMS)}, not {', '.join(unknown)}")
    return claims


@attrs.define(eq=False)
class HostKit:
    """Conformance tests of a host: scripted conversations on its real runtime.

    A service on loopback plays the model, so what is checked is what the model would have read.

    Args:
        name: the host's name.
        host: the host; its deliveries are what is checked.
        play: lets an agent of the runtime do a task, as a user would build it.
        claims: what the host can do, of `claimable`, as words with spaces between them; each
            claim is checked.
        answers_by: the tool by which an agent of the runtime gives its final answer, as its one
            argument ``answer``; empty if it ends with a response without calls.

    Raises:
        ValueError: a claim is unknown.
    """

    name: str
    host: Host
    play: Callable[[Task], Awaitable[Played]]
    claims: frozenset[str] = attrs.field(converter=_as_claims)
    answers_by: str = ""

    @staticmethod
    def claimable() -> Mapping[str, str]:
        """Return all that a host may claim, with what it means."""
        return CLAIMS

    @property
    def scenarios(self) -> tuple[str, ...]:
        """Names of the scenarios that the host's claims allow, for ``parametrize``."""
        return tuple(n for n, one in SCENARIOS.items() if set(one.needs) <= self.claims)

    def check(self, scenario: str) -> None:
        """Play one scenario.

        Args:
            scenario: its name, of `scenarios`.

        Raises:
            AssertionError: the host does not do what it declares.
        """
        found = SCENARIOS[scenario]
        asyncio.run(asyncio.wait_for(found.play(self), SECONDS))

    def verdicts(self, only: Iterable[str] = ()) -> list[Verdict]:
        """Play all scenarios, or some, and return what was found.

        Args:
            only: names of scenarios; all if empty.
        """
        return [self._verdict(name) for name in only or SCENARIOS]

    def claimed(self) -> list[Verdict]:
        """Return the verdicts that the claims lead to, without playing anything."""
        return [
            Verdict(name, "ok" if set(one.needs) <= self.claims else "not claimed")
            for name, one in SCENARIOS.items()
        ]

    def _verdict(self, name: str) -> Verdict:
        missing = set(SCENARIOS[name].needs) - self.claims
        if missing:
            return Verdict(name, "not claimed", ", ".join(sorted(missing)))
        try:
            self.check(name)
        except Exception as error:  # noqa: BLE001 - the runtime may raise anything
            return Verdict(name, "fails", f"{type(error).__name__}: {error}"[:300])
        return Verdict(name, "ok")


def host_table(verdicts: Mapping[str, Iterable[Verdict]]) -> str:
    """Return verdicts as a table in Markdown: a row for each scenario, a column for each host.

    Args:
        verdicts: those of each host, by its name.
    """
    found = {name: {v.scenario: v for v in rows} for name, rows in verdicts.items()}
    signs = {"ok": "yes", "fails": "**no**", "not claimed": "–"}
    lines = [f"| scenario | {' | '.join(found)} |", f"|---|{'---|' * len(found)}"]
    for name, scenario in SCENARIOS.items():
        cells = [signs[rows[name].result] if name in rows else "" for rows in found.values()]
        if any(cells):
            lines.append(f"| {scenario.summary} | {' | '.join(cells)} |")
    notes = [
        f"{host}, {v.scenario}: {v.note}"
        for host, rows in found.items()
        for v in rows.values()
        if v.result == "fails"
    ]
    return "\n".join([*lines, *([""] if notes else []), *notes])


@attrs.frozen
class Scenario:
    """A scripted conversation and what must be found afterwards."""

    summary: str
    needs: tuple[str, ...]
    play: Callable[[HostKit], Awaitable[None]]


SCENARIOS: dict[str, Scenario] = {}
"""By name; the module `scenarios` adds them when the package is imported."""


@attrs.define(eq=False)
class Stage:
    """One agent, its scripted service and what it did."""

    kit: HostKit
    script: Script
    providers: dict[str, Any] = attrs.field(factory=dict)
    task: dict[str, Any] = attrs.field(factory=dict)
    session: Session = attrs.field(factory=Session)
    service: Service = attrs.field(init=False)
    played: Played = attrs.field(factory=Played)

    async def run(self) -> Stage:
        [self.played] = await self.converse({})
        return self

    async def converse(self, *tasks: dict[str, Any]) -> list[Played]:
        """Let the agent do several tasks at the same time."""
        prompt = Prompt("kit", "main", config=None, **self.providers)
        made: dict[str, Any] = {}
        with Service(self.script, self.kit.answers_by) as service:
            self.service = service
            given = {"tools": [look], "made": made, **self.task}
            every = [Task(prompt, self.session, service.url, **given, **one) for one in tasks]
            try:
                return list(await asyncio.gather(*map(self.kit.play, every)))
            finally:
                self.session = every[0].session

    def hits(self, mark: str) -> list[int]:
        return [texts_in(messages_of(body)).count(mark) for body in self.service.requests()]

    def last_text(self, request: int) -> str:
        return texts_in(messages_of(self.service.requests()[request])[-1])

    def outcomes(self) -> list[tuple[str, str]]:
        called = self.session[ToolInvoked].all()
        return [(call.tool.rpartition("__")[2], call.outcome.value) for call in called]


def look(path: str) -> str:
    """Look at a file."""
    return f"contents of {path}"


class HostConformance:
    """The tests of a host: one for each scenario that its claims allow.

    Attributes:
        kit: the host's.
    """

    # Warnings of a runtime's client are no fault of its host.
    pytestmark: ClassVar[list[Any]] = [pytest.mark.filterwarnings("default")]

    kit: ClassVar[HostKit]

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """Make a test of each scenario.

        Args:
            metafunc: the test method that pytest asks about.
        """
        if "scenario" in metafunc.fixturenames:
            metafunc.parametrize("scenario", self.kit.scenarios)

    def test_the_host_holds_to_its_claims(self, scenario: str) -> None:
        """Play a scenario.

        Args:
            scenario: its name.
        """
        self.kit.check(scenario)
