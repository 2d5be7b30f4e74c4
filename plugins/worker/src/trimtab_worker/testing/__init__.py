"""Tests that every mailbox must pass, and a chaos run: needs pytest."""

from trimtab_worker.testing._chaos import ChaosReport, run_chaos
from trimtab_worker.testing._conformance import MailboxConformance

__all__ = ["ChaosReport", "MailboxConformance", "run_chaos"]
