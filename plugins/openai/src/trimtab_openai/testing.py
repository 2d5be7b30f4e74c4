"""For tests of a client that `GuidedLoop` drives: lets it play the scenarios of the host kit.

Not part of `trimtab_openai` itself, since only tests need it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs

from trimtab import Host
from trimtab_openai._loop import GuidedLoop
from trimtab_openai._loop_state import LoopResult
from trimtab_openai._model_response import Exhausted
from trimtab_openai._settings import ApiName, Settings
from trimtab_testing import HostKit, Played, Task

__all__ = ["loop_kit", "loop_of"]


@attrs.frozen
class _Final:
    """The structured output."""

    answer: int


def loop_of(task: Task, client: Any, model: str, host: Host, settings: Settings) -> GuidedLoop:
    """Return a loop for a task, as a user would build it.

    Args:
        task: what the agent shall do.
        client: asks the service that the task names.
        model: the model's name there.
        host: as which the run is opened.
        settings: of the loop, beside those that the task gives.
    """
    limit: Any = {} if task.max_turns is None else {"max_turns": task.max_turns}
    run = task.session.open_run(
        task.prompt, host=attrs.evolve(host, **limit), deadline=task.deadline, timeout=task.timeout
    )
    api: ApiName = "responses" if task.wire == "responses" else "chat"
    return GuidedLoop(
        client,
        run,
        model=model,
        tools=task.as_tools(),
        output_type=_Final if task.mode == "structured" else None,
        settings=attrs.evolve(settings, api=api, timeout=task.timeout, **limit),
    )


def loop_kit(
    name: str, host: Host, make_loop: Callable[[Task], GuidedLoop], *, claims: str
) -> HostKit:
    """Return the host kit of a client.

    The loop is trimtab's own, so there is no agent without it to compare with.

    Args:
        name: of the kit, as ``trimtab conformance`` knows it.
        host: as which runs are opened.
        make_loop: returns the loop for a task, see `loop_of`.
        claims: names of scenarios, separated by spaces.
    """

    async def play(task: Task) -> Played:
        loop = make_loop(task)
        result = LoopResult("", None, [{"role": "system", "content": "You are an agent."}], None)
        on_chunk = (lambda _: None) if task.mode == "stream" else None
        with loop.hooks.driver:
            for said in task.user:
                messages = [*result.messages, {"role": "user", "content": said}]
                try:
                    result = await loop.acomplete(messages, on_chunk=on_chunk)
                except Exhausted as ended:
                    return Played(str(ended), map(str, ended.messages))
        final = result.output.answer if isinstance(result.output, _Final) else None
        return Played(result.text, map(str, result.messages), final)

    return HostKit(name, host, play, claims=claims)
