"""What two distributions say of one host's tools is the same."""

from __future__ import annotations

import pytest


def test_replay_reads_claude_code_s_tools_as_its_host_does():
    host = pytest.importorskip("trimtab_claude_code.hooks")
    replay = pytest.importorskip("trimtab_replay.profiles")

    assert replay.PROFILES["claude-code"] == host.CLAUDE_CODE.tool_profiles
