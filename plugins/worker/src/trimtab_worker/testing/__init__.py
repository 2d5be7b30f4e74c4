"""Tests that every mailbox must pass, and a chaos run: needs pytest."""

from trimtab_worker.testing._chaos import ChaosReport, run_chaos
from trimtab_worker.testing._conformance import MailboxConformance
from trimtab_worker.testing._server_conformance import ServerConformance

__all__ = ["ChaosReport", "MailboxConformance", "ServerConformance", "run_chaos"]
