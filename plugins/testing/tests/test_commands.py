"""The commands say which kits and providers there are where a name is wrong."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

import pytest

from trimtab import ConfigurationError, Host
from trimtab.inspection import refresh
from trimtab_testing import HostKit, _commands, _pytest_plugin


def parsed(*arguments: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    _commands.register_conformance(parser)
    return parser.parse_args(arguments)


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """Let the kit of a host be installed whose runtime is missing, and a damaged package."""
    packages = {
        "acme": f"[{_commands.KITS}]\nacme = no_such_runtime:KIT\nempty = argparse:KIT\n".encode(),
        "stranger": b"[console_scripts]\n\xff = no entry point\n",
    }
    for name, entries in packages.items():
        folder = tmp_path / f"{name}-1.0.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        (folder / "entry_points.txt").write_bytes(entries)
    monkeypatch.syspath_prepend(tmp_path)
    refresh()
    yield
    monkeypatch.undo()
    refresh()


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize(
    ("host", "said"),
    [
        ("acne", "Did you mean 'acme'.* Installed: .*'acme'"),
        ("acme", "can't be played: No module named 'no_such_runtime'"),
        ("empty", "can't be played: module 'argparse' has no attribute 'KIT'"),
    ],
)
def test_a_host_without_a_kit_is_refused_with_a_reason(host: str, said: str) -> None:
    options = parsed(host)
    with pytest.raises(ConfigurationError, match=said):
        options.run(options)


def test_a_scenario_that_is_none_is_refused_with_those_that_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kit = HostKit("acme", Host("acme"), None, "")  # type: ignore[arg-type]  # never played
    monkeypatch.setattr(_commands, "_kit", lambda host: kit)
    first, *_ = (verdict.scenario for verdict in kit.claimed())
    options = parsed("acme", first[:-1])

    with pytest.raises(
        ConfigurationError, match=f"Did you mean '{first}'.* Scenarios: .*'{first}'"
    ):
        options.run(options)


def test_scenarios_are_not_said_to_be_needed(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parsed()

    assert capsys.readouterr().err.endswith("are required: HOST\n")


def test_a_provider_that_nothing_offers_is_refused() -> None:
    with pytest.raises(pytest.UsageError, match=r"'no-such' is installed\..*Installed: "):
        _pytest_plugin._add_tests("no-such")
