"""Playing a made-up run through the engine, and listening to what is said."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Literal, Self

from trimtab import (
    Budget,
    Deadline,
    DecisionPoint,
    Feedback,
    GuidanceDelivered,
    Host,
    ManualClock,
    Outcome,
    Prompt,
    PromptTemplate,
    Resources,
    Run,
    Session,
    ToolCall,
    ToolProfile,
)
from trimtab.events import CAUSE, CallOrigin, CompletionChecked, ProviderFaulted, ProviderKind
from trimtab.hosting import LOCAL_HOST
from trimtab.text import as_text
from trimtab.trajectory import Trajectory
from trimtab_testing._runs import Call, Compaction, Item, Message, Text, Wait

_NO_RESOURCES = Resources()
PROVIDER_LISTS = ("guidance_providers", "feedback_providers", "completion_checkers", "recorders")
"""What prompts call their lists of providers, in the order of the kinds."""


class ProviderFailed(AssertionError):
    """A provider failed while a `Player` played; the cause is the provider's own error."""

    __module__ = "trimtab_testing"


class Player:
    """One run of one agent, on a clock that moves only with its calls.

    Guidance is asked for where a host would: before the next request (PRE_TOOL_SELECTION) after
    every turn, before the end (PRE_RESPONSE) after a response of text. Feedback is asked for
    after every call.

    Args:
        prompt: the prompt; built from the other arguments if None. No configuration file is read.
        guidance, feedback, completion, recorders: providers of that prompt; a class or another
            function is called without arguments when the run is opened, so that `restart` gets
            new ones.
        profiles: how the tools of the run behave.
        host: the runtime.
        deadline: the run's time limit in seconds, on the player's clock.
        budget: the run's limits in tokens, cost and active time.
        resources: what providers and checkers find in `context.resources`, such as files.
        points: further decision points to ask at: PRE_TOOL_EXECUTION, POST_TOOL_RESULT.
        faults: what to do when a provider raises, is overdue or returns what its hook does not
            take: "raise" `ProviderFailed` at the end of the item, or "record" it, as a run does.

    Raises:
        ProviderFailed: a provider failed when the run was opened.
        ValueError: `faults` is neither "raise" nor "record".

    Attributes:
        clock, session, run: the objects that the player drives.
        spoke: numbers of the items, from 0, after which guidance was delivered. An item is in it
            once, however many texts it brought: to know which text came when, see `said`.
    """

    def __init__(
        self,
        prompt: Prompt[Any] | None = None,
        *,
        guidance: Iterable[Any] = (),
        feedback: Iterable[Any] = (),
        completion: Iterable[Any] = (),
        recorders: Iterable[Any] = (),
        profiles: Iterable[ToolProfile] = (),
        host: Host = LOCAL_HOST,
        deadline: float | None = None,
        budget: Budget | None = None,
        resources: Resources = _NO_RESOURCES,
        points: Iterable[DecisionPoint | str] = (),
        faults: Literal["raise", "record"] = "raise",
    ) -> None:
        if faults not in ("raise", "record"):
            raise ValueError(f"faults must be 'raise' or 'record', not {faults!r}")
        self.clock = ManualClock()
        self.session = Session(clock=self.clock)
        self.spoke: list[int] = []
        self._said: list[int] = []
        self._faults: list[tuple[ProviderFaulted, BaseException | None]] = []
        self._raised = 0 if faults == "raise" else None
        self._items = 0
        self._prompt = prompt
        given = (guidance, feedback, completion, recorders)
        self._providers = dict(zip(PROVIDER_LISTS, map(_several, given), strict=True))
        self._profiles = tuple(profiles)
        self._resources = resources
        self._points = frozenset(DecisionPoint(point) for point in points)
        self._opening: dict[str, Any] = {"host": host, "budget": budget}
        if deadline is not None:
            self._opening["deadline"] = Deadline(deadline, self.clock)
        self.run: Run = self._open()

    def _open(self, run_id: str | None = None) -> Run:
        prompt = self._made() if self._prompt is None else self._prompt
        self.session.observe(ProviderFaulted, self._faulted)
        run = self.session.open_run(prompt, run_id=run_id, **self._opening)
        self._raise_new("when the run was opened")
        return run

    def _faulted(self, event: ProviderFaulted) -> None:
        self._faults.append((event, CAUSE.get()))

    def _raise_new(self, when: str) -> None:
        """Raise the first failure that was not raised before, if failures are raised."""
        if self._raised is None or self._raised == len(self._faults):
            return
        event, error = self._faults[self._raised]
        self._raised = len(self._faults)
        source = event.source
        raise ProviderFailed(
            f"the {_WORDS[source.kind]} {source.name!r} failed {when}, in {event.hook}: "
            f'{event.error}; to test what a run does then, pass faults="record" to the player'
        ) from error

    def _made(self) -> Prompt[Any]:
        made: dict[str, Any] = {
            kind: [_new(item) for item in items] for kind, items in self._providers.items()
        }
        template: PromptTemplate[Any] = PromptTemplate(
            "tests", "player", tool_profiles=self._profiles, **made
        )
        return Prompt(template, config=None).bind(resources=self._resources)

    def play(self, items: Iterable[Item]) -> Self:
        """Let the items happen, one after the other.

        Raises:
            ProviderFailed: a provider failed, unless failures are recorded.
            TypeError: there is something else among the items, or one stands alone.
        """
        if not isinstance(items, Iterable):
            raise TypeError(f"play takes a list of items: write [{type(items).__name__}(…)]")
        for item in items:
            before = len(self.session[GuidanceDelivered])
            self._take(item)
            texts = len(self.session[GuidanceDelivered]) - before
            if texts > 0:
                self.spoke.append(self._items)
            self._said += [self._items] * texts
            self._items += 1
            self._raise_new(f"after item {self._items - 1}")
        return self

    def restart(self) -> None:
        """Save the session as a snapshot, and go on with what is restored from it."""
        text, run_id = self.session.snapshot(), self.run.run_id
        self.session = Session.restore(text, clock=self.clock)
        self.run = self._open(run_id)

    def may_stop(self, **stop: Any) -> CompletionChecked:
        """Ask the completion checkers.

        Args:
            stop: the arguments of `Run.check_completion`.

        Raises:
            ProviderFailed: a checker failed, unless failures are recorded.
        """
        checked = self.run.check_completion(**stop)
        self._raise_new("when the agent asked to stop")
        return checked

    @property
    def first(self) -> int | None:
        """Number of the item after which guidance was first delivered; None if never."""
        return self.spoke[0] if self.spoke else None

    @property
    def delivered(self) -> tuple[GuidanceDelivered, ...]:
        """All guidance, in order."""
        return tuple(self.session[GuidanceDelivered].all())

    @property
    def texts(self) -> tuple[str, ...]:
        """What guidance said, in order."""
        return tuple(event.injection.content for event in self.delivered)

    @property
    def said(self) -> tuple[tuple[int, str], ...]:
        """What guidance said, in order, each text after the number of the item it followed."""
        return tuple(zip(self._said, self.texts, strict=True))

    @property
    def feedback(self) -> tuple[Feedback, ...]:
        """All feedback, in order."""
        return tuple(self.session[Feedback].all())

    @property
    def added(self) -> tuple[object, ...]:
        """The records of the session whose classes are not of trimtab itself, kind by kind."""
        kinds = [kind for kind in self.session.kinds if not kind.__module__.startswith("trimtab.")]
        return tuple(record for kind in kinds for record in self.session[kind].all())

    @property
    def faults(self) -> tuple[ProviderFaulted, ...]:
        """All failures of providers, in order."""
        return tuple(event for event, _ in self._faults)

    @property
    def causes(self) -> tuple[BaseException | None, ...]:
        """For each of `faults` what was raised, with its traceback; None if nothing was."""
        return tuple(error for _, error in self._faults)

    @property
    def trajectory(self) -> Trajectory:
        """The calls of the run, as projections follow them."""
        return self.run.trajectory

    def _take(self, item: Item) -> None:
        match item:
            case Wait():
                self.clock.advance(item.seconds)
            case Compaction():
                self.run.compacted(item.summary)
            case Message():
                self.run.user_message(item.text, notification=item.notification)
            case Text():
                self.run.model_responded(text=item.text, reasoning=item.reasoning)
                self.run.guide(DecisionPoint.PRE_RESPONSE)
            case Call():
                self._batch([item])
            case [*calls] if all(isinstance(call, Call) for call in calls):
                self._batch(calls)
            case _:
                known = "a Call, a list of them, a Text, a Message, a Compaction or a Wait"
                raise TypeError(f"an item of a run is {known}, not {item!r:.60}")

    def _batch(self, calls: Sequence[Call]) -> None:
        names = [f"{self._items}-{index}" for index in range(len(calls))]
        asked = [
            ToolCall(call.tool, call.params, name)
            for call, name in zip(calls, names, strict=True)
            if call.caller is CallOrigin.MODEL
        ]
        if asked:
            self.run.model_responded(tool_calls=asked)
            self._ask(DecisionPoint.PRE_TOOL_EXECUTION, asked)
        named = list(zip(calls, names, strict=True))
        for call, name in named:
            if call.seconds is not None:
                self.run.tool_started(call.tool, call.params, name, caller=call.caller)
        began = self.clock.seconds
        for call, name in sorted(named, key=lambda each: each[0].seconds or 0.0):
            self._end(call, name, began)
        self.run.guide(DecisionPoint.PRE_TOOL_SELECTION)

    def _end(self, call: Call, name: str, began: float) -> None:
        if call.at is not None:
            self.clock.advance(call.at - self.clock.seconds)
        elif call.seconds is not None:
            self.clock.advance(max(0.0, began + call.seconds - self.clock.seconds))
        failed = call.error is None and call.outcome is not Outcome.OK
        self.run.tool_finished(
            name,
            call.result,
            outcome=call.outcome,
            error=as_text(call.result) if failed else call.error,
            duration=call.seconds,
            poll=call.poll,
            tool=call.tool,
            params=call.params,
            caller=call.caller,
        )
        self._ask(DecisionPoint.POST_TOOL_RESULT)
        self.run.feedback()

    def _ask(self, point: DecisionPoint, pending: Sequence[ToolCall] = ()) -> None:
        if point in self._points:
            self.run.guide(point, pending=pending)


_WORDS = {
    ProviderKind.GUIDANCE: "guidance provider",
    ProviderKind.FEEDBACK: "feedback provider",
    ProviderKind.COMPLETION: "completion checker",
    ProviderKind.RECORDER: "recorder",
}


def _several(given: Any) -> tuple[Any, ...]:
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise TypeError(f"providers are given as a list: write [{as_text(given)}]")
    return tuple(given)


def _new(item: Any) -> Any:
    """Return a provider; an instance has methods of its own, a factory only makes one."""
    methods = ("classify", "provide", "check")
    made = isinstance(item, type) or (
        callable(item) and not any(hasattr(item, name) for name in methods)
    )
    return item() if made else item
