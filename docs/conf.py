"""How Sphinx builds these pages."""

from __future__ import annotations

import contextlib
import enum
import importlib.metadata
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import attrs
from sphinx.errors import PycodeError
from sphinx.pycode import ModuleAnalyzer

from trimtab.inspection import PluginInfo, discover, load, options_of

OWN = ("trimtab", "trimtab_planning", "trimtab_replay", "trimtab_signals", "trimtab_worker")
LONGEST_DEFAULT = 40
ROOT = Path(__file__).resolve().parents[1]
WITH_OPTIONS = ("guidance", "feedback", "completion", "recorders")

project = "trimtab"
author = "trimtab authors"
copyright = "2026, trimtab authors"
release = importlib.metadata.version("trimtab")

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
]
# A copied example holds what is typed, and neither prompts nor what is printed.
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
viewcode_line_numbers = True
man_pages = [("reference/command-line", "trimtab", "keeps LLM agents on course", "", 1)]
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3
exclude_patterns = ["_build"]
nitpicky = True
nitpick_ignore_regex = [
    (r"py:.*", r"PluginManager.*"),  # in the docstrings of pluggy's markers
    (r"py:class", r".*"),  # annotations name classes of Python, and some that no page describes
]

# Annotations name classes without their module, and two packages have a `Delivery`.
suppress_warnings = ["ref.python"]

# Docstrings put names of any kind in single backticks.
default_role = "code"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
python_maximum_signature_line_length = 88
autodoc_preserve_defaults = True
napoleon_attr_annotations = False
autodoc_member_order = "bysource"
add_module_names = False
python_use_unqualified_type_names = True

html_theme = "furo"
html_title = "trimtab"

DEFAULT = re.compile(r"attr_dict\['(\w+)'\]\.default")


def setup(app: Any) -> None:
    """Let Sphinx show what is published as a reader needs it."""
    app.connect("autodoc-process-docstring", _leave_out_words_of_python)
    app.connect("autodoc-process-signature", _tidy_signature)
    app.connect("autodoc-skip-member", _skip_members_of_python)
    app.connect("source-read", _list_options)
    app.connect("source-read", _show_changes)


def _leave_out_words_of_python(
    _app: Any, what: str, name: str, _object: object, _options: object, lines: list[str]
) -> None:
    """Describe constants and aliases by the text below them, not by that of their type."""
    if what == "data":
        lines[:] = _words_below(name.rpartition(".")[2])
    elif lines and lines[0].startswith("Alias for field number"):
        lines.clear()


def _words_below(name: str) -> list[str]:
    for module in [each for each in sys.modules if each.partition(".")[0] in OWN]:
        with contextlib.suppress(PycodeError):
            found = ModuleAnalyzer.for_module(module).find_attr_docs()
            if ("", name) in found:
                return list(found["", name])
    return []


def _tidy_signature(
    _app: Any, _what: str, _name: str, thing: object, _options: object, text: str, result: str
) -> tuple[str, str]:
    """Show the defaults of attrs fields, as ``...`` where a factory makes them or they are long."""
    has_fields = isinstance(thing, type) and attrs.has(thing)
    defaults = {field.name: field.default for field in attrs.fields(thing)} if has_fields else {}
    text = text and DEFAULT.sub(lambda found: _shown(defaults.get(found[1], ...)), text)
    return (text and text.replace("NOTHING", "..."), result)


def _shown(default: object) -> str:
    if isinstance(default, enum.Enum):
        return f"{type(default).__name__}.{default.name}"
    text = repr(default)
    return text if len(text) <= LONGEST_DEFAULT and not text.startswith("<") else "..."


def _skip_members_of_python(
    _app: Any, _what: str, _name: str, member: object, _skip: bool, _options: object
) -> bool | None:
    """Leave out what a class has from one of Python's own."""
    home = getattr(member, "__objclass__", None)
    return True if getattr(home, "__module__", "") == "builtins" else None


def _list_options(_app: Any, name: str, source: list[str]) -> None:
    """Fill in what the providers of this repository declare as options."""
    if name != "reference/options":
        return
    found = [entry for entry in discover().entries if entry.group in WITH_OPTIONS]
    shipped = [entry for entry in found if entry.distribution.startswith("trimtab-")]
    source[0] += "\n".join(map(_options, shipped))


def _show_changes(_app: Any, name: str, source: list[str]) -> None:
    """Show the changelog, what the next version brings at its head."""
    if name != "changelog":
        return
    towncrier = [sys.executable, "-m", "towncrier", "build", "--draft", "--dir", str(ROOT)]
    command = [*towncrier, "--version", "Unreleased"]
    draft = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    head, _, released = (ROOT / "CHANGELOG.md").read_text().partition("<!-- releases -->\n")
    source[0] = head.replace("](changes/README.md)", "](changelog)") + draft + released


def _options(entry: PluginInfo) -> str:
    lines = [f"\n## {entry.name}\n", f"A {entry.group} plugin of `{entry.distribution}`.\n"]
    for option in options_of(load(entry)):
        default = "" if option.required else f" = {option.default}"
        described = option.description or "(no description)"
        lines.append(f"`` {option.name}: {option.type or 'Any'}{default} ``\n: {described}\n")
    return "\n".join(lines if len(lines) > 2 else [*lines, "It has no options.\n"])
