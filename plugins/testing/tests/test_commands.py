"""The commands say which kits and providers there are where a name is wrong."""

from __future__ import annotations

import argparse
from importlib.metadata import EntryPoint

import pytest

from trimtab import ConfigurationError
from trimtab_testing import _commands, _pytest_plugin


def parsed(*arguments: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    _commands.register_conformance(parser)
    return parser.parse_args(arguments)


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the kit of one host be installed whose runtime is missing."""
    kits = [EntryPoint("acme", "no_such_runtime:KIT", _commands.KITS)]
    monkeypatch.setattr(_commands, "entry_points", lambda group: kits)


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize(
    ("host", "said"),
    [
        ("acne", "Did you mean 'acme'.* Installed: 'acme'"),
        ("acme", "can't be played: No module named 'no_such_runtime'"),
    ],
)
def test_a_host_without_a_kit_is_refused_with_a_reason(host: str, said: str) -> None:
    options = parsed(host)
    with pytest.raises(ConfigurationError, match=said):
        options.run(options)


def test_a_provider_that_nothing_offers_is_refused() -> None:
    with pytest.raises(pytest.UsageError, match=r"'no-such' is installed\..*Installed: "):
        _pytest_plugin._add_tests("no-such")
