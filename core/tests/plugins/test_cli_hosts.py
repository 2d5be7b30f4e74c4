"""Verbs about a host: offered by its package as VERB-HOST, asked for as VERB HOST."""

from __future__ import annotations

import argparse

import pytest

from trimtab._cli.parsing import _add_offers
from trimtab.inspection import Registry, discover, refresh

pytestmark = pytest.mark.slow

REGISTER = """
def register(parser):
    parser.add_argument("--times", type=int, default=4)
    parser.set_defaults(run=lambda options: options.times)
"""

STATUS = """
def register(parser):
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--json", action="store_true")
    parser.set_defaults(run=lambda options: print("{name}", options.all, options.json) or {status})
"""


def offer(site, command: str, source: str = REGISTER, *, name: str = "acme") -> None:
    module = f"{name}_{command.replace('-', '_')}"
    entries = f"[trimtab.commands]\n{command} = {module}:register\n"
    site.add(name, entries=entries, **{module: source})


def test_a_verb_finds_the_host_and_its_options(site, trimtab):
    offer(site, "install-acme")

    assert trimtab("install", "acme").returncode == 4
    assert trimtab("install", "acme", "--times", "0").returncode == 0


def test_help_names_verbs_and_hosts_and_imports_none(site, trimtab):
    offer(site, "install-acme", "raise SystemExit(3)")

    assert "install-acme" not in trimtab("--help").stdout
    assert "from acme 1.0" in trimtab("install", "--help").stdout


def test_an_unknown_host_is_refused_with_those_that_there_are(site, trimtab):
    offer(site, "install-acme")

    done = trimtab("install", "amce")

    assert done.returncode == 2
    assert "acme" in done.stderr
    assert "are required: HOST, one of: 'acme'" in trimtab("install").stderr


@pytest.fixture
def status(site, monkeypatch, capsys):
    """Run ``trimtab status`` where only the packages of the site are installed."""

    def run(*words):
        monkeypatch.syspath_prepend(site.path)
        refresh()
        entries = [one for one in discover().entries if one.package.split()[0] in {"acme", "other"}]
        parser = argparse.ArgumentParser()
        _add_offers(
            parser, "status", words, Registry(tuple(entries)), lambda again: run(*again[1:])[0]
        )
        options = parser.parse_args(words)
        return int(options.run(options) or 0), capsys.readouterr().out.splitlines()

    yield run
    monkeypatch.undo()
    refresh()


def test_status_without_a_host_asks_every_host(site, status):
    offer(site, "status-acme", STATUS.format(name="acme", status=0))
    offer(site, "status-other", STATUS.format(name="other", status=1), name="other")

    assert status("acme", "--json") == (0, ["acme False True"])
    assert status()[0] == 1
    assert status("--json", "--all")[0] == 1


def test_status_of_a_package_for_all_hosts_comes_first(site, status):
    offer(site, "status-acme", STATUS.format(name="acme", status=0))
    offer(site, "status", STATUS.format(name="every host", status=0), name="other")

    assert status() == (0, ["every host False False"])
    assert status("acme") == (0, ["acme False False"])


def test_status_says_where_no_package_offers_it(capsys):
    parser = argparse.ArgumentParser()
    _add_offers(parser, "status", [], Registry(), lambda arguments: parser.error("called"))
    options = parser.parse_args([])

    assert options.run(options) == 0
    assert "No installed package" in capsys.readouterr().out


def test_install_needs_a_host(site, trimtab):
    offer(site, "install-acme")

    assert trimtab("install").returncode == 2
