"""Verbs about a host: offered by its package as VERB-HOST, asked for as VERB HOST."""

from __future__ import annotations

import argparse

import pytest

from trimtab._cli.parsing import _add_offers
from trimtab.inspection import Registry

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


def test_status_without_a_host_asks_every_host(site, trimtab):
    offer(site, "status-acme", STATUS.format(name="acme", status=0))
    offer(site, "status-other", STATUS.format(name="other", status=1), name="other")

    done, all_as_json = trimtab("status"), trimtab("status", "--json", "--all")

    assert done.returncode == 1
    assert {"acme False False", "other False False"} <= set(done.stdout.splitlines())
    assert {"acme True True", "other True True"} <= set(all_as_json.stdout.splitlines())
    assert trimtab("status", "acme", "--json").stdout == "acme False True\n"


def test_status_says_where_no_package_offers_it(capsys):
    parser = argparse.ArgumentParser()
    _add_offers(parser, "status", [], Registry(), lambda arguments: parser.error("called"))
    options = parser.parse_args([])

    assert options.run(options) == 0
    assert "No installed package" in capsys.readouterr().out


def test_install_needs_a_host(site, trimtab):
    offer(site, "install-acme")

    assert trimtab("install").returncode == 2
