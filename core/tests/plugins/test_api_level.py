"""Plugins declare the level of the contract that they were written for."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

from trimtab import DecisionPoint, Prompt, Session, TrimtabDeprecationWarning, _plugins, enable
from trimtab.inspection import IncompatibleProvider, discover, refresh

SOURCE = """
from trimtab import ClassificationResult, GuidanceInjection
class Old:
    name = category = "old"
    def classify(self, *, context):
        return ClassificationResult(True, 1.0, "always", "old")
    def provide(self, *, context):
        return GuidanceInjection("old", "Still here.")
"""
ENTRIES = "[trimtab.guidance]\nold = {module}:Old\n[trimtab.api]\n{level} = trimtab\n"


@pytest.fixture
def core(importable: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A core 0.2 of level 3 that works with plugins from level 2."""
    monkeypatch.setattr(_plugins, "LEVEL", 3)
    monkeypatch.setattr(_plugins, "OLDEST", 2)
    monkeypatch.setattr(_plugins, "__version__", "0.2.0")
    importable.add("trimtab", "0.2.0", requires=())
    return importable


def build(site: Any, level: str, module: str) -> Prompt[Any]:
    """Install a plugin of a level, and build a prompt with it."""
    entries = ENTRIES.format(level=level, module=module)
    site.add("acme", entries=entries, requires=("trimtab>=0.1",), **{module: SOURCE})
    refresh()
    return Prompt("a", "b", config=None, guidance_providers=[enable("old")])


@pytest.mark.waits
def test_a_plugin_of_an_earlier_level_works_with_a_note(core: Any, trimtab: Any) -> None:
    with pytest.warns(TrimtabDeprecationWarning, match="written for API level 2; trimtab 0.2.0"):
        prompt = build(core, "level-2", "acme_two")

    assert "Still here." in Session().open_run(prompt).guide(DecisionPoint.PRE_RENDER).text
    done = trimtab("plugins", "doctor")
    assert "note: acme 1.0 was written for API level 2; trimtab 0.2.0 has 3" in done.stdout


def test_a_plugin_of_this_level_works_without_one(core: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        build(core, "level-3", "acme_three")


@pytest.mark.parametrize(
    ("level", "what"),
    [
        ("level-1", "API level 1, and trimtab 0.2.0 works with 2 to 3: .*upgrade acme"),
        ("level-4", "API level 4, and trimtab 0.2.0 has 3: .*upgrade trimtab"),
    ],
)
def test_a_plugin_of_another_level_is_refused(core: Any, level: str, what: str) -> None:
    with pytest.raises(IncompatibleProvider, match=what):
        build(core, level, "acme_other")


@pytest.mark.parametrize("level", ["level-0", "level", "1", "level-99999", "level-x"])
def test_a_level_that_is_none_is_a_problem(site: Any, level: str) -> None:
    site.add("acme", entries=ENTRIES.format(level=level, module="m"))

    found = discover([str(site.path)])

    assert [entry.api_level for entry in found.entries] == [None]
    assert [one.message for one in found.problems] == [
        f"declares an API level that is none: {level!r}"
    ]
