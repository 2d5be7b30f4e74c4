"""Completion check for LLM agents: no stop while steps of the plan are open."""

from trimtab_plan_based_checker._provider import PlanBasedChecker

__all__ = ["PlanBasedChecker"]
