"""The prompts of a configuration, built when an agent first needs them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from trimtab import (
    Configuration,
    ConfigurationError,
    Prompt,
    Resources,
    RootedFilesystem,
    TrimtabError,
)
from trimtab_claude_code.assignment import HOST, Assignment, assignment, build_prompt


class Prompts:
    """The prompts of one configuration, built when first asked for: a `PromptOf`.

    A prompt that can't be built leaves its agents alone; `failures` says why.

    Args:
        configuration: where they are declared.
        folder: the project, whose files completion checkers may look at.
    """

    def __init__(self, configuration: Configuration, folder: Path) -> None:
        self.failures: dict[str, str] = {}
        self._configuration = configuration
        self._resources = Resources.of(RootedFilesystem(folder))
        self._built: dict[str, Prompt[Any] | None] = {}
        self._assigned = self._read()

    def __call__(self, agent_type: str | None) -> Prompt[Any] | None:
        name = self._assigned.of(agent_type)
        return self.named(name) if name else None

    def build_all(self) -> None:
        """Build every prompt that an agent may get, so that `failures` is complete."""
        for name in self._assigned.prompts:
            self.named(name)

    def _read(self) -> Assignment:
        try:
            return assignment(self._configuration)
        except ConfigurationError as error:
            self.failures[HOST] = str(error)
            return Assignment(None, {})

    def named(self, name: str) -> Prompt[Any] | None:
        """Return a prompt by its name; None where it can't be built."""
        if name not in self._built:
            self._built[name] = self._build(name)
        return self._built[name]

    def _build(self, name: str) -> Prompt[Any] | None:
        try:
            prompt = build_prompt(name, self._configuration)
        except TrimtabError as error:
            self.failures[name] = str(error)
            return None
        return prompt.bind(resources=self._resources)
