"""Tests that every mailbox must pass, runs of chaos and of a rolling restart: needs pytest."""

import pytest

pytest.register_assert_rewrite(f"{__name__}._conformance", f"{__name__}._servers")

from trimtab_worker.testing._chaos import ChaosReport, network_faults, run_chaos  # noqa: E402
from trimtab_worker.testing._chaos_agent import Proxy  # noqa: E402
from trimtab_worker.testing._conformance import MailboxConformance  # noqa: E402
from trimtab_worker.testing._servers import (  # noqa: E402
    RolloutReport,
    ServerConformance,
    run_rollout,
)

__all__ = [
    "ChaosReport",
    "MailboxConformance",
    "Proxy",
    "RolloutReport",
    "ServerConformance",
    "network_faults",
    "run_chaos",
    "run_rollout",
]
