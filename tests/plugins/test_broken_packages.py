"""Broken packages side by side: nothing that does not name them notices, and doctor names each."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ENTRY = "[trimtab.guidance]\n{name} = {module}:Provider\n"
GOOD = """
class Provider:
    name = category = "any"
    def classify(self, *, context): ...
    def provide(self, *, context): ...
"""
MODULES = {
    "raises": ("raise ImportError('no engine')", "ImportError: no engine"),
    "exits": ("raise SystemExit(3)", "SystemExit: 3"),
    "dies": ("import os\nos._exit(9)", "the process ended with status 9"),
    "hangs": (
        "import time\ntime.sleep(300)",
        "hangs while it is loaded: it was not done within 3 seconds",
    ),
    "lacks": ("x = 1", "has no 'Provider'"),
}
"""Broken where they are imported: doctor must be asked by name."""

FOUND_UNASKED = {
    "undecodable": "entry_points.txt can't be read: UnicodeDecodeError",
    "malformed": "not an entry point: 'what is this'",
    "stale": "no METADATA with a name and a version",
    "twice": "version 1.0 is hidden by version 2.0",
    "syntax": "which is damaged: SyntaxError",
    "missing": "which is not installed",
    "future": "asks for 'trimtab>=99'",
}

OTHERS = ("stale", "editable", "syntax", "missing", "future")
"""Broken in ways that leave a name to list."""


def install(site: Path, name: str, *, version: str = "1.0", source: str | None = GOOD, **more):
    """Leave a distribution in a folder as an installer would, or as an accident would."""
    module = f"broken_{name}"
    info = site / more.get("folder", f"{name}-{version}.dist-info")
    info.mkdir(parents=True)
    requires = more.get("requires", "trimtab>=0.1")
    metadata = f"Name: {name}\nVersion: {version}\nRequires-Dist: {requires}\n"
    entries = more.get("entries", ENTRY.format(name=name, module=module).encode())
    (info / more.get("metadata", "METADATA")).write_text(metadata)
    (info / "entry_points.txt").write_bytes(entries)
    if source is not None:
        (site / f"{module}.py").write_text(source)


@pytest.fixture(scope="module")
def broken(environment, tmp_path_factory) -> dict[str, str]:
    """The environment variables that put all of them on the path, before everything else."""
    first, second = tmp_path_factory.mktemp("first"), tmp_path_factory.mktemp("second")
    for name, (source, _) in MODULES.items():
        install(first, name, source=source)
    install(first, "undecodable", entries=b"[trimtab.guidance]\n\xff = m:n\n")
    install(first, "malformed", entries=b"[trimtab.guidance]\nwhat is this\n")
    (first / "stale-0.9.dist-info").mkdir()
    install(second, "stale")
    install(first, "twice", version="2.0")
    install(second, "twice", version="1.0")
    install(first, "editable")
    install(second, "editable", folder="editable.egg-info", metadata="PKG-INFO")
    install(first, "syntax", source="def (")
    install(first, "missing", source=None)
    install(first, "future", requires="trimtab>=99")
    return {"PYTHONPATH": os.pathsep.join(map(str, (first, second)))}


def test_a_listing_works_and_shows_what_can_be_named(environment, broken):
    done = environment.run("-m", "trimtab", "plugins", "list", "--json", environment=broken)

    found = json.loads(done.stdout)
    assert done.returncode == 0
    assert {entry["name"]: entry["version"] for entry in found["entries"]} == {
        **dict.fromkeys([*MODULES, *OTHERS], "1.0"),
        "twice": "2.0",
    }


def test_a_prompt_that_does_not_name_them_works(with_breather, broken):
    done = with_breather.run("program.py", environment=broken)

    assert (done.returncode, done.stderr) == (0, "")
    assert "take stock" in json.loads(done.stdout)["main"][1]


def test_doctor_names_what_shows_without_importing(environment, broken):
    done = environment.run("-m", "trimtab", "plugins", "doctor", environment=broken)

    reported = dict(
        line.split(": ", 1)
        for line in done.stdout.splitlines()
        if not line.startswith((" ", "trimtab-"))  # ours may lack their clients here
    )
    assert done.returncode == 1
    assert set(reported) == set(FOUND_UNASKED)
    assert {name: what for name, what in FOUND_UNASKED.items() if what not in reported[name]} == {}


def test_doctor_names_what_shows_on_import(environment, broken):
    doctor = ("-m", "trimtab", "plugins", "doctor", *MODULES, "--timeout", "3", "--json")
    done = environment.run(*doctor, environment=broken)

    found: dict[str, str] = {}
    for problem in json.loads(done.stdout)["problems"]:
        name = problem["distribution"]
        found[name] = f"{found.get(name, '')}\n{problem['message']}"
    assert done.returncode == 1
    assert {name: what for name, (_, what) in MODULES.items() if what not in found[name]} == {}


def test_a_prompt_that_names_one_says_who_it_was(environment, broken):
    (environment.work / "broken.toml").write_text('[prompts."agent/main"]\nguidance = ["raises"]')

    done = environment.run("program.py", environment={**broken, "TRIMTAB_CONFIG": "broken.toml"})

    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith(
        "trimtab.inspection.ProviderLoadError: Can't load the guidance provider 'raises' of "
        "raises 1.0: importing broken_raises failed with ImportError: no engine."
    )
