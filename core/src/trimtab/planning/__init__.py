"""Plans that an agent works through."""

from trimtab.planning.plan import DONE_STATUSES, Plan, PlanStep, is_done

__all__ = ["DONE_STATUSES", "Plan", "PlanStep", "is_done"]
