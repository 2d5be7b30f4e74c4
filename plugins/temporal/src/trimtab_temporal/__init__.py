"""Agents as activities of Temporal."""

from trimtab_temporal._activity import agent_activity
from trimtab_temporal._lease import ActivityLease

__all__ = ["ActivityLease", "agent_activity"]
