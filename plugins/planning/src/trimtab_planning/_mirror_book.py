"""Plans of the host's own tools, kept in the same record as all others."""

from __future__ import annotations

from collections.abc import Iterable

import attrs

from trimtab import Plan, PlanStep
from trimtab_planning._book import PlanBook
from trimtab_planning._events import PlanChange, PlanUpdated
from trimtab_planning._plans import same_work, with_ids


@attrs.frozen
class MirrorBook(PlanBook):
    """A `PlanBook` that follows the list which the agent keeps with a tool of its host."""

    def mirror(self, steps: Iterable[PlanStep], *, origin: str) -> Plan | None:
        """Take over the plan that the agent keeps with a tool of its host.

        Steps of the same ids and titles only make progress; others make a new version. A plan
        that was made otherwise is left alone while it is active.

        Args:
            steps: the whole list as it is now; empty gives up what is left of it.
            origin: the name of the tool.

        Returns:
            the plan after the change; None if there is none.

        Raises:
            ValueError: the steps are no plan.
        """
        with self._locked():
            steps, old = with_ids(steps), self.active
            if old is not None and not self.mirrors:
                return old
            if old is None:
                known = self.current
                if not steps or (known is not None and known.steps == steps):
                    return known
                return self._ended_with_its_steps(self.author(steps, origin=origin), origin)
            if not steps:
                return self.abandon("the list was cleared", origin=origin)
            return self._ended_with_its_steps(self._followed(old, steps, origin), origin)

    def _followed(self, old: Plan, steps: tuple[PlanStep, ...], origin: str) -> Plan:
        made = attrs.evolve(old, steps=steps)
        if made == old:
            return old
        if not same_work(old, made):
            return self._update(PlanChange.REVISED, made, old, reason="", origin=origin)
        changed = next(new for new, known in zip(steps, old.steps, strict=True) if new != known)
        return self._keep(
            PlanUpdated,
            made,
            change=PlanChange.STEP,
            previous=old.version,
            step_id=changed.step_id,
            origin=origin,
        )
