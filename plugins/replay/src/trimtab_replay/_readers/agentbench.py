"""AgentBench: ``runs.jsonl``, a sample a line, whose agent writes its actions as text."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

from trimtab.events import Evidence
from trimtab_replay._assembler import Assembler, CallResult
from trimtab_replay._readers.chat import requested
from trimtab_replay._readers.messages import MessageReader
from trimtab_replay._readers.text_calls import action_call
from trimtab_replay._recording import Item, RunEnd
from trimtab_replay._values import as_dict, as_list, as_text, named, said

_AGENT = {"agent", "assistant"}
_ROLES = {"user", "system", "tool", *_AGENT}
_ENDS = ("finish", "answer", "submit", "commit")


class AgentBench(MessageReader):
    """Reads runs of AgentBench."""

    name: ClassVar[str] = "agentbench"
    certainty: ClassVar[float] = 1.0
    parallel_calls: ClassVar[bool | None] = False

    def is_own(self, message: dict[str, Any]) -> bool:
        """Look for samples with a history in their output."""
        return isinstance(as_dict(message.get("output")).get("history"), list)

    def is_message(self, value: Any) -> bool:
        """Whether it has a role and text."""
        message = as_dict(value)
        return named(message.get("role")) in _ROLES and "content" in message

    def messages(self, document: Any) -> list[Any]:
        """Return the history of one sample."""
        if isinstance(document, list):
            return document
        return as_list(as_dict(as_dict(document).get("output")).get("history"))

    def _sniffed(self, document: Any) -> list[Any]:
        return document[:20] if isinstance(document, list) else [document]

    def end(self, document: Any) -> Iterable[Item]:
        """The output says how the run ended."""
        status = as_text(as_dict(as_dict(document).get("output")).get("status"))
        return (RunEnd(reason=status),) if status else ()

    def feed(self, assembler: Assembler, message: dict[str, Any]) -> bool:
        """Give one message of a history to `assembler`; an action is answered by the next."""
        role, text = named(message.get("role")), said(message.get("content"))
        if role in _AGENT:
            assembler.respond(text=text)
            asked = list(requested(message))
            action = None if asked else action_call(text)
            for call in asked:
                assembler.call(*call)
            if action is not None and not action[0].lower().startswith(_ENDS):
                assembler.call(*action)
        elif role in {"user", "tool"}:
            waiting = assembler.oldest()
            if waiting:
                result = CallResult(result=text, evidence=Evidence.UNKNOWN)
                assembler.answer(waiting, result)
            else:
                assembler.user(text)
        return role in _ROLES
