"""The prompts of a configuration, built when an agent first needs them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from trimtab import Configuration, Prompt, Resources, RootedFilesystem, TrimtabError
from trimtab_claude_code._host_config import (
    HostConfig,
    build_prompt,
    check_prompt,
    silent_without_deadline,
)


class Prompts:
    """The prompts of one configuration, built when first asked for: a `PromptOf`.

    A prompt that can't be built leaves its agents alone; `failures` says why.

    Args:
        configuration: where they are declared.
        host: which agent gets which.
        folder: the project, whose files completion checkers may look at.
        environment: the session's variables by name; `os.environ` if None.
    """

    def __init__(
        self,
        configuration: Configuration,
        host: HostConfig,
        folder: Path,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.failures: dict[str, str] = {}
        self._configuration = configuration
        self._host = host
        self._environment = environment
        self._resources = Resources.of(RootedFilesystem(folder))
        self._built: dict[str, Prompt[Any] | None] = {}

    def __call__(self, agent_type: str | None) -> Prompt[Any] | None:
        name = self._host.prompt_of(agent_type)
        return self.named(name) if name else None

    def build_all(self) -> None:
        """Build every prompt that an agent may get, so that `failures` is complete."""
        for name in self._host.prompts:
            self.named(name)

    def named(self, name: str) -> Prompt[Any] | None:
        """Return a prompt by its name; None if it can't be built."""
        if name not in self._built:
            self._built[name] = self._build(name)
        return self._built[name]

    def warnings(self, timeout: float | None) -> dict[str, str]:
        """Return for each prompt what of it has no effect here.

        Args:
            timeout: of the session, in seconds.
        """
        found = {}
        for name, prompt in self._built.items():
            if prompt is not None:
                try:
                    texts = check_prompt(prompt)
                except TrimtabError as error:
                    texts = (str(error),)
                if timeout is None:
                    texts += silent_without_deadline(prompt)
                if texts:
                    found[f"part of {name}"] = "; ".join(texts)
        return found

    def _build(self, name: str) -> Prompt[Any] | None:
        try:
            prompt = build_prompt(name, self._configuration, self._environment)
        except TrimtabError as error:
            self.failures[name] = str(error)
            return None
        return prompt.bind(resources=self._resources)
