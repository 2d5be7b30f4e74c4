"""Tests that every mailbox must pass, a chaos run and a bad network: needs pytest."""

from trimtab_worker.testing._chaos import ChaosReport, run_chaos
from trimtab_worker.testing._conformance import MailboxConformance
from trimtab_worker.testing._proxy import Proxy
from trimtab_worker.testing._server_conformance import ServerConformance

__all__ = ["ChaosReport", "MailboxConformance", "Proxy", "ServerConformance", "run_chaos"]
