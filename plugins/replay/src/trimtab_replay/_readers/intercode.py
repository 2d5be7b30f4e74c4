"""InterCode results: tasks with actions and observations, one command a turn."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest
from typing import Any, ClassVar

from trimtab import Outcome
from trimtab.events import Evidence
from trimtab_replay._assembler import Assembler, CallResult
from trimtab_replay._recording import RecordedItem, Recording
from trimtab_replay._transcript import Transcript
from trimtab_replay._values import as_dict, as_list, as_text, named


class InterCode:
    """Reads InterCode results."""

    name: ClassVar[str] = "intercode"

    def sniff(self, source: Transcript) -> float:
        """Look for episodes with a turn history."""
        return float(any(map(_is_episode, list(as_dict(source.sample).values())[:3])))

    def read(self, source: Transcript) -> Iterator[Recording]:
        """Yield one recording a task; its id is the task's key."""
        for row in source.documents_with("tasks", lambda value: isinstance(value, dict)):
            for key, episode in row.value.items():
                if _is_episode(episode):
                    yield self._recording(source, key, episode)
                else:
                    source.skip(f"task {key[:80]!r} has no turn_history", row.line)

    def _recording(self, source: Transcript, key: str, episode: dict[str, Any]) -> Recording:
        return Recording(
            id=key,
            path=source.path,
            reader=self.name,
            entries=_entries(episode),
            profile="intercode",
            parallel_calls=False,
            meta={"max_reward": as_dict(episode.get("summary")).get("max_reward")},
        )


def _is_episode(value: Any) -> bool:
    return isinstance(as_dict(as_dict(value).get("turn_history")).get("actions"), list)


def _entries(episode: dict[str, Any]) -> Iterator[RecordedItem]:
    assembler, turns = Assembler(), episode["turn_history"]
    tool = named(episode.get("environment")).removeprefix("ic_") or "execute"
    assembler.user(as_text(episode.get("query")))
    observations, valid = as_list(turns.get("observations")), as_list(turns.get("valid_action"))
    answers = zip_longest(turns["actions"], observations, valid)
    for action, observation, is_valid in list(answers)[: len(turns["actions"])]:
        assembler.respond()
        call_id = assembler.call(tool, {"command": as_text(action)})
        assembler.answer(call_id, _answer(observation, is_valid))
        yield from assembler.take()
    yield from assembler.finish()


def _answer(observation: Any, is_valid: Any) -> CallResult:
    return CallResult(
        result=observation,
        outcome=Outcome.ERROR if is_valid is False else Outcome.OK,
        evidence=Evidence.FLAG if isinstance(is_valid, bool) else Evidence.UNKNOWN,
    )
