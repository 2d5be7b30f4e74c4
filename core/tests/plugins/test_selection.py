"""From names to entries: nearest names, clashes, allow-lists, versions, require-lists."""

from __future__ import annotations

import re

import pytest

from trimtab._plugins.resolution import check_allowed, check_compatible, check_required, mismatch
from trimtab.inspection import (
    AmbiguousProvider,
    IncompatibleProvider,
    ProviderNotAllowed,
    UnknownProvider,
    discover,
    installed_version,
    pip_install,
    refresh,
    select,
)


def entries(group: str, *names: str) -> str:
    lines = "".join(f"{name} = mod:Thing\n" for name in names)
    return f"[trimtab.{group}]\n{lines}"


@pytest.mark.parametrize("wanted", ["loop", "Loop", "acme-x:loop", "Acme.X:LOOP", "acme_x: loop"])
def test_a_name_or_long_form_is_found(site, wanted):
    site.add("acme-x", entries=entries("guidance", "loop"))

    assert select("guidance", wanted, site.registry()).full_name == "acme-x:loop"


def test_an_unknown_name_gets_the_nearest_and_what_is_installed(site):
    site.add("acme", entries=entries("guidance", "doom-loop", "signal"))

    with pytest.raises(UnknownProvider) as caught:
        select("guidance", "dom-loop", site.registry())

    assert str(caught.value) == (
        "No guidance provider 'dom-loop' is installed. Did you mean 'doom-loop'? "
        "Installed: 'doom-loop', 'signal'."
    )


@pytest.mark.parametrize("name", ["doom-loop", "doom-lopp", "acme-tools:clock"])
def test_no_command_installs_what_may_be_a_misspelt_name(site, name):
    with pytest.raises(UnknownProvider) as caught:
        select("guidance", name, site.registry())

    assert str(caught.value) == (
        f"No guidance provider {name!r} is installed. Installed: none. "
        "Install the package that offers it, or correct the name."
    )


def test_a_name_of_another_kind_is_told(site):
    site.add("acme", entries=entries("feedback", "clock"))

    with pytest.raises(UnknownProvider, match=r"is installed\. It is a feedback provider\."):
        select("guidance", "clock", site.registry())


def test_damaged_packages_are_mentioned_where_a_name_is_missing(site):
    site.add("broken", entries="[trimtab.guidance]\nloop = ?\n")

    with pytest.raises(UnknownProvider, match="damaged: `trimtab plugins doctor` names them"):
        select("guidance", "loop", site.registry())


@pytest.mark.parametrize("wanted", ["", "x; rm -rf /", "a:b:c", "\x1b[31m", "x" * 500])
def test_a_hostile_name_is_quoted_and_bounded_and_never_in_the_pip_line(site, wanted):
    with pytest.raises(UnknownProvider) as caught:
        select("guidance", wanted, site.registry())

    assert "pip install" not in str(caught.value)
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize("order", [("a-dist", "b-dist"), ("b-dist", "a-dist")])
def test_a_bare_clash_names_both_whatever_the_order(site, order):
    for name in order:
        site.add(name, entries=entries("guidance", "loop"))

    with pytest.raises(AmbiguousProvider) as caught:
        select("guidance", "loop", site.registry())

    assert str(caught.value) == (
        "Several distributions offer a guidance provider 'loop': "
        "write one of 'a-dist:loop', 'b-dist:loop'."
    )
    assert select("guidance", "b-dist:loop", site.registry()).distribution == "b-dist"


@pytest.mark.parametrize(
    ("allow", "allowed"),
    [
        (None, True),
        ((), False),
        (("acme-*",), True),
        (("ACME_tools",), True),
        (("acme",), False),
        (("other", "*-tools"), True),
    ],
)
def test_the_allow_list_goes_by_distribution(site, allow, allowed):
    site.add("acme-tools", entries=entries("guidance", "loop"))
    (entry,) = site.registry().entries

    if allowed:
        assert check_allowed(entry, allow) is None
    else:
        with pytest.raises(ProviderNotAllowed, match="does not name 'acme-tools'"):
            check_allowed(entry, allow)


@pytest.mark.parametrize(
    ("requires", "what"),
    [
        ("trimtab>=99", "acme 1.0 asks for 'trimtab>=99', and trimtab"),
        ("trimtab<0.0.1", "acme 1.0 asks for 'trimtab<0.0.1', and trimtab"),
        ("trimtab>>1", "acme 1.0 declares 'trimtab>>1', which is not a requirement"),
    ],
)
def test_a_package_for_another_version_of_trimtab_is_refused(site, requires, what):
    site.add("acme", entries=entries("guidance", "loop"), requires=("attrs", requires))
    (entry,) = site.registry().entries

    with pytest.raises(
        IncompatibleProvider, match=re.escape(pip_install("acme", "trimtab", how="upgrade"))
    ) as caught:
        check_compatible(entry)
    assert what in str(caught.value)


@pytest.mark.parametrize(
    "requires", [(), ("attrs",), ("trimtab",), ("trimtab>=0.0.1",), ("trimtab>99; extra == 'x'",)]
)
def test_a_package_that_fits_or_declares_nothing_is_not_refused(site, requires):
    site.add("acme", entries=entries("guidance", "loop"), requires=requires)
    (entry,) = site.registry().entries

    assert mismatch(entry) is None


def test_the_version_that_counts_is_of_the_installed_trimtab(site):
    version = installed_version("trimtab")
    site.add("acme", entries=entries("guidance", "loop"), requires=(f"trimtab=={version}",))

    assert mismatch(site.registry().entries[0]) is None


def test_the_require_list(importable):
    importable.add("acme-loop", "1.2")
    refresh()

    assert check_required(("acme-loop", "Acme.Loop>=1.0,<2")) is None
    with pytest.raises(ProviderNotAllowed, match=r"version 1\.2 is installed: .*acme-loop>=2'?"):
        check_required(("acme-loop>=2",))
    with pytest.raises(ProviderNotAllowed, match=r"it is not installed: .*acme-nothing"):
        check_required(("acme-nothing",))


def test_every_installed_name_can_be_typed(site):
    site.add("a-dist", entries=entries("guidance", "loop", "x") + entries("feedback", "loop"))
    site.add("b-dist", entries=entries("guidance", "loop"))
    registry = site.registry()

    for entry in registry.entries:
        assert select(entry.group, entry.full_name, registry) == entry
    assert discover() is not registry
