"""``trimtab new`` and ``trimtab conformance``: what authors of plugins run."""

from __future__ import annotations

import argparse
import json
import re
from importlib.resources import files
from pathlib import Path
from pkgutil import resolve_name
from string import Template
from typing import TYPE_CHECKING

import attrs

from trimtab import ConfigurationError
from trimtab.inspection import (
    RESERVED_COMMANDS,
    did_you_mean,
    entry_points_of,
    installed_version,
    others_to_stderr,
    quoted_list,
    say,
    writing,
)
from trimtab.text import sanitize

if TYPE_CHECKING:
    from trimtab_testing import HostKit

KINDS = ("guidance", "feedback", "completion", "recorder", "host", "mailbox", "reader", "command")
_GROUPS = {
    "command": "commands",
    "host": "hosts",
    "mailbox": "mailboxes",
    "reader": "transcripts",
    "recorder": "recorders",
}
_TARGETS = {"command": "register", "host": "HOST", "mailbox": "$class.from_url"}
"""What the entry point names, where that is not the class."""
_ABOUT_HOST = re.compile(r"(install|uninstall|status|doctor)-(.+)")
"""Commands that are called with the host as a word of its own."""
_CLASS_AND_WORDS = r"(^class {}\b.*?:\n    \"\"\".*?\"\"\"\n)"
_NAME = re.compile(r"[a-z][a-z0-9]*(?:-[a-z0-9]+)*")
_IN_FILE = """Then name it for a prompt in `trimtab.toml`:

```toml
[prompts."agent/main"]
$group = ["$name"]
```"""
_USES = {
    "command": "Then run `trimtab $words`.",
    "host": "Then give an agent of the runtime `$class(prompt)`.",
    "mailbox": "Then run `trimtab worker MODULE:FACTORY --mailbox $name:QUEUE`.",
    "reader": "Then run `trimtab replay FILE`, which reads files of this format.",
}

_DOES = {
    "command": "TODO: what the command is for.",
    "host": "TODO: of which runtime it guides agents, and how.",
    "mailbox": "TODO: on which engine it keeps messages.",
    "reader": "TODO: which program writes the files that it reads.",
    "recorder": "TODO: what it records, and where.",
}


def register_new(parser: argparse.ArgumentParser) -> None:
    """Write a complete package for a plugin of your own."""
    parser.add_argument("kind", choices=KINDS, help="what the plugin is")
    parser.add_argument("name", metavar="NAME", help="its name, such as look-first")
    parser.add_argument(
        "--to", type=Path, metavar="FOLDER", help="a new folder; trimtab-NAME if not given"
    )
    parser.set_defaults(run=_run_new)


def _run_new(options: argparse.Namespace) -> int:
    if len(options.name) > 60 or not _NAME.fullmatch(options.name):
        raise ConfigurationError(
            f"{sanitize(options.name, 80)!r} can't be the name of a plugin: use lower-case "
            "letters, digits and single hyphens, beginning with a letter, such as look-first."
        )
    if options.kind == "command" and options.name in RESERVED_COMMANDS:
        raise ConfigurationError(
            f"A command {options.name!r} could never run: `trimtab {options.name}` is trimtab's "
            "own. Choose another name."
        )
    taken = installed_version(f"trimtab-{options.name}")
    if taken is not None:
        raise ConfigurationError(
            f"trimtab-{options.name} {taken} is installed, and a new package of that name would "
            "replace it: choose another name, or uninstall it first."
        )
    folder = options.to or Path(f"trimtab-{options.name}")
    if folder.exists():
        raise ConfigurationError(f"{folder} exists: name another folder with --to.")
    written = package_files(options.kind, options.name)
    for name, text in written.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with writing(path) as file:
            file.write(text)
    say(f"{folder} has a {options.kind} plugin {options.name!r}, with tests.")
    say()
    say("Next, in an environment of its own:")
    say(f"  pip install --editable {folder} trimtab-testing")
    say(f"  pytest {folder}")
    return 0


def package_files(kind: str, name: str) -> dict[str, str]:
    package = f"trimtab_{name.replace('-', '_')}"
    title = "".join(part.title() for part in name.split("-"))
    facts = {
        "kind": kind,
        "name": name,
        "group": _GROUPS.get(kind, kind),
        "distribution": f"trimtab-{name}",
        "package": package,
        "class": title,
        "words": _ABOUT_HOST.sub(r"\1 \2", name) if kind == "command" else name,
    }
    facts["arguments"] = ", ".join(f'"{word}"' for word in facts["words"].split())
    facts["target"] = Template(_TARGETS.get(kind, "$class")).substitute(facts)
    facts["does"] = _DOES.get(kind, "TODO: when it speaks, and what it says.")
    use = Template(_USES.get(kind, _IN_FILE)).substitute(facts)
    sources = {
        ".github/workflows/test.yml": "workflow.yml.txt",
        "README.md": "README.md.txt",
        "pyproject.toml": "pyproject.toml.txt",
        f"src/{package}/__init__.py": f"{kind}.py.txt",
        f"tests/test_{package.removeprefix('trimtab_')}.py": f"{kind}_test.py.txt",
    }
    folder = files("trimtab_testing") / "_templates"
    needs = folder / f"{kind}_needs.txt"
    facts["needs"] = needs.read_text(encoding="utf-8").strip() if needs.is_file() else ""
    made = {
        path: Template((folder / source).read_text(encoding="utf-8")).substitute(facts, use=use)
        for path, source in sources.items()
    }
    if title.startswith("Test"):
        code = f"src/{package}/__init__.py"
        made[code] = _without_tests(made[code], title)
    return {**made, f"src/{package}/py.typed": "", ".gitignore": "__pycache__/\n.venv/\ndist/\n"}


def _without_tests(code: str, title: str) -> str:
    """Keep pytest from taking a class for one of tests by its name, wherever it is imported."""
    said = r"\1\n    __test__ = False  # its name begins as those of test classes do\n"
    return re.sub(_CLASS_AND_WORDS.format(title), said, code, flags=re.DOTALL | re.MULTILINE)


KITS = "trimtab_testing.kits"
"""The group of entry points that name a package's `HostKit`."""


def register_conformance(parser: argparse.ArgumentParser) -> None:
    """Play the conformance kit of a host with the versions that are installed."""
    parser.add_argument("host", metavar="HOST", help="its name, such as langchain")
    parser.add_argument(
        "scenarios", nargs="*", default=[], metavar="SCENARIO", help="play these alone"
    )
    parser.add_argument("--json", action="store_true", help="write JSON")
    parser.set_defaults(run=_run_conformance)


def _run_conformance(options: argparse.Namespace) -> int:
    """Play the scenarios; 1 if the host does not do what it claims."""
    from trimtab_testing import host_table  # not for `trimtab new`

    with others_to_stderr():
        kit = _kit(options.host)
        known = [verdict.scenario for verdict in kit.claimed()]
        for name in options.scenarios:
            if name not in known:
                raise ConfigurationError(
                    f"There is no scenario {sanitize(name, 80)!r}.{did_you_mean(name, known)} "
                    f"Scenarios: {quoted_list(known)}."
                )
        verdicts = kit.verdicts(options.scenarios)
    if options.json:
        say(json.dumps([attrs.asdict(verdict) for verdict in verdicts], indent=1))
    else:
        say(host_table({options.host: verdicts}))
    return int(any(verdict.result == "fails" for verdict in verdicts))


def _kit(host: str) -> HostKit:
    known = entry_points_of(KITS)
    if host not in known:
        raise ConfigurationError(
            f"No installed package has a kit of the host {sanitize(host, 80)!r}."
            f"{did_you_mean(host, known)} Installed: {quoted_list(sorted(known))}."
        )
    try:
        kit: HostKit = resolve_name(known[host])
    except (ImportError, AttributeError, ValueError) as error:
        raise ConfigurationError(f"The kit of {host!r} can't be played: {error}") from error
    return kit
