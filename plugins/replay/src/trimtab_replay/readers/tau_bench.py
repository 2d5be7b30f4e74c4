"""tau-bench results: an array of tasks with rewards and chat messages (``traj``).

The agent talks with a simulated user; the environment marks a failed call by ``Error: ``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

from trimtab import Evidence, Outcome
from trimtab_replay.assembler import Answer
from trimtab_replay.chat import Chat, Message
from trimtab_replay.recording import Recording, Stop
from trimtab_replay.source import Source
from trimtab_replay.values import as_dict, as_list, as_text, said


class TauBench:
    """Reads tau-bench results."""

    name: ClassVar[str] = "tau-bench"

    def sniff(self, source: Source) -> float:
        """Look for tasks with messages and a reward."""
        return float(any(map(_is_result, [source.sample, *as_list(source.sample)[:3]])))

    def read(self, source: Source) -> Iterator[Recording]:
        """Yield one recording a task and trial; its id is ``TASK.TRIAL``."""
        for row in source.documents():
            results = row.value if isinstance(row.value, list) else [row.value]
            for number, result in enumerate(results):
                if _is_result(result):
                    yield self._recording(source, result)
                else:
                    source.skip(f"result {number} has no traj", row.line)

    def _recording(self, source: Source, result: dict[str, Any]) -> Recording:
        chat = Chat(source.skip, _answer, stop=Stop(awaiting_user=True))
        return Recording(
            id=f"{as_text(result.get('task_id'))}.{as_text(result.get('trial', 0))}",
            path=source.path,
            reader=self.name,
            entries=chat.entries(result["traj"]),
            profile="tau-bench",
            parallel_calls=False,
            meta={"reward": result.get("reward")},
        )


def _is_result(value: Any) -> bool:
    result = as_dict(value)
    return "task_id" in result and isinstance(result.get("traj"), list)


def _answer(message: Message) -> Answer:
    text = said(message.get("content"))
    outcome = Outcome.ERROR if text.startswith("Error:") else Outcome.OK
    return Answer(result=text, outcome=outcome, evidence=Evidence.DERIVED)
