"""The manifest for Kubernetes in the how-to guide, held to the command that it starts."""

import argparse
import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "kubernetes.md"


@pytest.fixture
def pod():
    yaml = pytest.importorskip("yaml")
    text = re.search(r":caption: worker.yaml\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)[1]
    return yaml.safe_load(text)["spec"]["template"]["spec"]


def test_the_worker_of_the_manifest_starts_and_ends_before_it_is_killed(pod):
    from trimtab_worker._worker_command import register

    parser = argparse.ArgumentParser()
    register(parser)
    (worker,) = pod["containers"]
    options = parser.parse_args([*worker["command"][2:], *worker["args"]])

    assert worker["command"][:2] == ["trimtab", "worker"]
    assert options.drain < pod["terminationGracePeriodSeconds"]
    assert options.health == ("0.0.0.0", worker["ports"][0]["containerPort"])
    assert worker["livenessProbe"]["httpGet"]["path"] == "/live"
    assert worker["readinessProbe"]["httpGet"]["path"] == "/ready"
