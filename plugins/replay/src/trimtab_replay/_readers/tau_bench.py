"""tau-bench results: an array of tasks with rewards and chat messages (``traj``).

The agent talks with a simulated user; the environment marks a failed call by ``Error: ``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

from trimtab import Outcome
from trimtab.events import Evidence
from trimtab_replay._assembler import CallResult
from trimtab_replay._readers.chat import Chat, Message
from trimtab_replay._recording import Recording, StopRequest
from trimtab_replay._transcript import Transcript
from trimtab_replay._values import as_dict, as_list, as_text, said


class TauBench:
    """Reads tau-bench results."""

    name: ClassVar[str] = "tau-bench"

    def sniff(self, source: Transcript) -> float:
        """Look for tasks with messages and a reward."""
        return float(any(map(_is_result, [source.sample, *as_list(source.sample)[:3]])))

    def read(self, source: Transcript) -> Iterator[Recording]:
        """Yield one recording a task and trial; its id is ``TASK.TRIAL``."""
        for row in source.documents():
            results = row.value if isinstance(row.value, list) else [row.value]
            for number, result in enumerate(results):
                if _is_result(result):
                    yield self._recording(source, result)
                else:
                    source.skip(f"result {number} has no traj", row.line)

    def _recording(self, source: Transcript, result: dict[str, Any]) -> Recording:
        chat = Chat(source.skip, _answer, stop=StopRequest(awaiting_user=True))
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


def _answer(message: Message) -> CallResult:
    text = said(message.get("content"))
    outcome = Outcome.ERROR if text.startswith("Error:") else Outcome.OK
    return CallResult(result=text, outcome=outcome, evidence=Evidence.DERIVED)
