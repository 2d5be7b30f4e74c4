"""``trimtab new``: a complete package for a plugin, to be changed."""

from __future__ import annotations

import argparse
import re
from importlib.resources import files
from pathlib import Path
from string import Template

from trimtab._types.errors import ConfigurationError
from trimtab._types.stdout import say, writing
from trimtab._types.text import sanitize

KINDS = (
    "guidance",
    "feedback",
    "completion",
    "recorder",
    "host",
    "mailbox",
    "reader",
    "command",
)
_GROUPS = {
    "command": "commands",
    "host": "hosts",
    "mailbox": "mailboxes",
    "reader": "transcripts",
    "recorder": "recorders",
}
_TARGETS = {"command": "register", "host": "HOST", "mailbox": "$class.from_url"}
"""What the entry point names, where that is not the class."""
_NAME = re.compile(r"[a-z][a-z0-9]*(?:-[a-z0-9]+)*")
_IN_FILE = """Then name it for a prompt in `trimtab.toml`:

```toml
[prompts."agent/main"]
$group = ["$name"]
```"""
_USES = {
    "command": "Then run `trimtab $name`.",
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


def register(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``trimtab new``."""
    parser.add_argument("kind", choices=KINDS, help="what the plugin is")
    parser.add_argument("name", metavar="NAME", help="its name, such as look-first")
    parser.add_argument(
        "--to", type=Path, metavar="FOLDER", help="a new folder; trimtab-NAME if not given"
    )
    parser.set_defaults(run=run_new)


def run_new(options: argparse.Namespace) -> int:
    """Write the package, and say what to do next."""
    if len(options.name) > 60 or not _NAME.fullmatch(options.name):
        raise ConfigurationError(
            f"{sanitize(options.name, 80)!r} can't be the name of a plugin: use lower-case "
            "letters, digits and single hyphens, beginning with a letter, such as look-first."
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
    say(f"  pip install --editable {folder} pytest")
    say(f"  pytest {folder}")
    return 0


def package_files(kind: str, name: str) -> dict[str, str]:
    """Return the files of a new package by their paths.

    Args:
        kind: one of `KINDS`.
        name: the plugin's name.
    """
    package = f"trimtab_{name.replace('-', '_')}"
    title = "".join(part.title() for part in name.split("-"))
    facts = {
        "kind": kind,
        "name": name,
        "group": _GROUPS.get(kind, kind),
        "distribution": f"trimtab-{name}",
        "package": package,
        "class": title,
    }
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
    folder = files("trimtab._cli") / "templates"
    needs = folder / f"{kind}_needs.txt"
    facts["needs"] = needs.read_text(encoding="utf-8").strip() if needs.is_file() else ""
    made = {
        path: Template((folder / source).read_text(encoding="utf-8")).substitute(facts, use=use)
        for path, source in sources.items()
    }
    return {**made, f"src/{package}/py.typed": "", ".gitignore": "__pycache__/\n.venv/\ndist/\n"}
