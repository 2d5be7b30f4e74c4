"""Tests that every mailbox must pass, a chaos run and a bad network: needs pytest."""

import pytest

pytest.register_assert_rewrite(f"{__name__}._conformance", f"{__name__}._server_conformance")

from trimtab_worker.testing._chaos import ChaosReport, run_chaos  # noqa: E402
from trimtab_worker.testing._conformance import MailboxConformance  # noqa: E402
from trimtab_worker.testing._proxy import Proxy  # noqa: E402
from trimtab_worker.testing._server_conformance import ServerConformance  # noqa: E402

__all__ = ["ChaosReport", "MailboxConformance", "Proxy", "ServerConformance", "run_chaos"]
