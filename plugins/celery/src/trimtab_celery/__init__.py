"""Agents as tasks of Celery."""

from trimtab_celery._task import AgentFailed, agent_task

__all__ = ["AgentFailed", "agent_task"]
