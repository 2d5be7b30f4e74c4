"""Agents as activities of Temporal."""

from trimtab_temporal._activity import ActivityLease, agent_activity

__all__ = ["ActivityLease", "agent_activity"]
