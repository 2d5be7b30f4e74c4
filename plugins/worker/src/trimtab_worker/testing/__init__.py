"""Tests that every mailbox must pass, runs of chaos and of a rolling restart: needs pytest."""

import pytest

pytest.register_assert_rewrite(f"{__name__}._conformance", f"{__name__}._server_conformance")

from trimtab_worker.testing._chaos import ChaosReport, network_faults, run_chaos  # noqa: E402
from trimtab_worker.testing._conformance import MailboxConformance  # noqa: E402
from trimtab_worker.testing._proxy import Proxy  # noqa: E402
from trimtab_worker.testing._rollout import RolloutReport, run_rollout  # noqa: E402
from trimtab_worker.testing._server_conformance import ServerConformance  # noqa: E402

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
