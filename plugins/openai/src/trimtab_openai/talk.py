"""One conversation of a loop, without any I/O of its own: what both loops have in common."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import attrs

from trimtab import CompletionChecked, PromptEvaluationError, TaskCompletionChecker, Tool
from trimtab_openai.errors import Exhausted, LoopStopped, TurnLimitReached
from trimtab_openai.reply import Json, Reply, field
from trimtab_openai.settings import Settings
from trimtab_openai.steps import Steps
from trimtab_openai.structured import OutputForm

WHOLE = frozenset({None, "completed", "stop"})
"""What a service says of an answer that it did not cut."""


@attrs.frozen
class Ending:
    """How a loop ended.

    Args:
        text: the agent's last words.
        output: the structured output, None where the prompt asks for none.
        messages: the whole conversation, without guidance; go on with it as you like.
        checked: what the completion gate found.
    """

    text: str
    output: Any
    messages: list[Any]
    checked: CompletionChecked | None


class Talk:
    """The messages so far, and the next request.

    Args:
        fields: what every request holds beside messages.
        messages: what the caller begins with; the conversation grows at its end.
        patience: seconds that the client waits for an answer; None is for ever.
    """

    def __init__(
        self,
        steps: Steps,
        settings: Settings,
        *,
        fields: Json,
        messages: list[Any],
        patience: float | None,
        form: OutputForm | None,
        checkers: Iterable[TaskCompletionChecker],
    ) -> None:
        self.steps = steps
        self.messages = messages
        self._settings = settings
        self._fields = fields
        self._patience = patience
        self._form = form
        self._checkers = tuple(checkers)
        self._turns = 0
        _tell(steps, self.messages)

    def next_turn(self) -> None:
        """Count one more request.

        Raises:
            TurnLimitReached: there were `max_turns` already.
            Exhausted: the deadline has passed or the budget is used up.
        """
        why = self.steps.exhausted()
        if why:
            raise Exhausted(f"{why}, after {self._turns} answers of the model", self.messages)
        if self._turns >= self._settings.max_turns:
            raise TurnLimitReached(
                f"the model has answered {self._turns} times without coming to an end; "
                "raise Settings.max_turns if that is right",
                self.messages,
            )
        self._turns += 1

    @property
    def last(self) -> bool:
        """Whether no further request will be made, as far as that can be known now."""
        return self._turns >= self._settings.max_turns or self.steps.exhausted() is not None

    def request(self, messages: Sequence[Any]) -> Json:
        """Return the next request with `messages`."""
        fields = self._settings.wire.request(messages, (), None)
        return {**fields, **self._fields, **self._time_left()}

    def seconds_left(self) -> float | None:
        """Return how long a request may take, None where there is no deadline."""
        deadline = self.steps.run.deadline
        return None if deadline is None else max(deadline.remaining().total_seconds(), 0.001)

    def _time_left(self) -> Json:
        """The client waits no longer than the deadline leaves, each time that it tries."""
        left = self.seconds_left()
        patient = left is not None and (self._patience is None or left < self._patience)
        return {"timeout": left} if patient else {}

    def heard(self, reply: Reply) -> None:
        """Take the model's answer."""
        self.messages += reply.items
        self.steps.heard(reply)

    def answered(self, answers: Iterable[tuple[str, Any]]) -> None:
        """Take the answers to its calls: ids and contents, in the order of the calls."""
        wire = self._settings.wire
        self.messages += [wire.tool_message(id_, content) for id_, content in answers]

    def check_time(self) -> None:
        """Give up a streamed answer that outlasts the deadline.

        Raises:
            TimeoutError: the deadline has passed.
        """
        deadline = self.steps.run.deadline
        if deadline is not None and deadline.expired:
            raise TimeoutError("the answer was not complete")

    def failed(self, error: Exception) -> None:
        """Record that the service failed.

        Raises:
            Exhausted: it failed because the deadline had passed.
        """
        text = f"{type(error).__name__}: {error}"
        self.steps.run.check_completion(api_error=text)
        why = self.steps.exhausted()
        if why:
            raise Exhausted(f"{why}: {text}", self.messages) from error

    def ended(self, reply: Reply) -> Ending | None:
        """Return the end, or None where the agent is sent back.

        Raises:
            LoopStopped: the model refused, or its answer is not of the output's type.
        """
        output = self._output(reply)
        verdict = self.steps.may_stop(
            output=output,
            stop_reason=reply.stop_reason,
            checkers=self._checkers,
            last=self.last,
        )
        if verdict:
            text = reply.text or reply.refusal
            return Ending(text, output, self.messages, verdict.checked)
        self.messages += verdict.messages
        return None

    def _output(self, reply: Reply) -> Any:
        if self._form is None:
            return None
        if reply.refusal:
            raise LoopStopped(f"the model refused: {reply.refusal}", self.messages)
        try:
            return self._form.parse(reply.text)
        except PromptEvaluationError as error:
            why = "" if reply.stop_reason in WHOLE else f" (the service: {reply.stop_reason})"
            raise LoopStopped(f"{error}{why}", self.messages) from error


def request_fields(
    model: str, settings: Settings, tools: Sequence[Tool[Any, Any]], form: OutputForm | None
) -> Json:
    """Return what every request of a loop holds beside its messages, in a fixed order."""
    made = settings.wire.request((), tools, form)
    options = dict(settings.options)
    fields = {"model": model, **options}
    fields.update((name, value) for name, value in made.items() if value)
    if tools and options.get("tools"):
        fields["tools"] = [*made["tools"], *options["tools"]]
    if form is not None and isinstance(options.get("text"), Mapping):
        fields["text"] = {**options["text"], **made["text"]}
    return fields


def seconds(timeout: Any) -> float | None:
    """Return how long a client waits, from a number or an object with one for reading."""
    given = getattr(timeout, "read", timeout)
    return float(given) if isinstance(given, int | float) else None


def _tell(steps: Steps, messages: Sequence[Any]) -> None:
    last = messages[-1] if messages else None
    if isinstance(last, Mapping) and last.get("role") == "user":
        content = last.get("content")
        steps.user_said(content if isinstance(content, str) else _words(content))


def _words(parts: Any) -> str:
    """What a user says in parts; pictures and files are left out."""
    texts = (field(part, "text") for part in parts or ())
    return "\n".join(text for text in texts if isinstance(text, str))
