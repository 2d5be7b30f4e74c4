"""The table ``[hosts.claude-code]``: prompts, the timeout of sessions, and their journals."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import attrs

from trimtab import ConfigurationError, Prompt
from trimtab.inspection import did_you_mean, quoted_list
from trimtab_trace import JournalSettings, Redaction, read_redact

if TYPE_CHECKING:
    from trimtab import Configuration

HOST = "claude-code"
_KEYS = ("prompt", "agents", "timeout", "journal", "redact", "notify")
_LARGEST = 1_000_000


@attrs.frozen(kw_only=True)
class HostConfig:
    """The table, read and checked.

    Args:
        default: the prompt of the main agent and of all agents that `agents` does not name;
            None leaves them alone.
        agents: prompts by agent type; None leaves that type alone.
        timeout: seconds that a session's process may take, None for no limit.
        journal: how sessions are kept.
        redact: names and beginnings of further secrets.
        notify: whether the user is shown what is said.
    """

    default: str | None = None
    agents: Mapping[str, str | None] = attrs.field(factory=dict)
    timeout: float | None = None
    journal: JournalSettings = attrs.field(factory=JournalSettings)
    redact: tuple[str, ...] = ()
    notify: bool = False

    def prompt_of(self, agent_type: str | None) -> str | None:
        """Return the prompt's name for an agent type, None for the main agent."""
        if agent_type is None:
            return self.default
        return self.agents.get(agent_type, self.default)

    @property
    def prompts(self) -> tuple[str, ...]:
        """All prompts that are named, each once."""
        named = (self.default, *self.agents.values())
        return tuple(dict.fromkeys(name for name in named if name))

    @property
    def redaction(self) -> Redaction:
        """What takes secrets out of texts."""
        return Redaction(self.redact)


def read_host_config(configuration: Configuration) -> HostConfig:
    """Read the table; a configuration without it assigns no prompt.

    Raises:
        ConfigurationError: a key or value is wrong, or names a prompt that has no table.
    """
    return _Reader(configuration).read()


@attrs.frozen
class _Reader:
    configuration: Configuration

    def read(self) -> HostConfig:
        self._check_spelling()
        table = self.configuration.hosts.get(HOST, {})
        self._check_keys(table)
        return HostConfig(
            default=self._prompt(table.get("prompt", False), "prompt"),
            agents=self._agents(table.get("agents", {})),
            timeout=self._seconds(table.get("timeout")),
            journal=self._journal(table.get("journal", {})),
            redact=self._redact(table.get("redact", [])),
            notify=self._yes_or_no(table.get("notify", False), "notify"),
        )

    def _check_spelling(self) -> None:
        for name in self.configuration.hosts:
            if name != HOST and name.lower().replace("_", "-") == HOST:
                what = f"[hosts.{name}] is not read; the table is called [hosts.{HOST}]."
                raise ConfigurationError(f"{self.configuration.path}: {what}")

    def _check_keys(self, table: Iterable[str]) -> None:
        for key in table:
            if key not in _KEYS:
                raise self._wrong(f"unknown key {key!r}.{did_you_mean(key, _KEYS)}")

    def _agents(self, agents: Any) -> dict[str, str | None]:
        if not isinstance(agents, Mapping):
            raise self._wrong("agents must be a table of agent types and prompts.")
        return {kind: self._prompt(value, f"agents.{kind}") for kind, value in agents.items()}

    def _prompt(self, value: Any, key: str) -> str | None:
        if value is False:
            return None
        if not isinstance(value, str):
            raise self._wrong(f"{key} must be a prompt's name, or false.")
        if value not in self.configuration.prompts:
            raise self._wrong(
                f'{key} names {value!r}, but there is no table [prompts."{value}"]. '
                f"Prompts in the file: {quoted_list(self.configuration.prompts)}."
            )
        return value

    def _seconds(self, value: Any) -> float | None:
        if value is None:
            return None
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if not number or not 0 < value <= _LARGEST:
            raise self._wrong(f"timeout must be a number above 0, and {_LARGEST:,} at most.")
        return float(value)

    def _yes_or_no(self, value: Any, key: str) -> bool:
        if not isinstance(value, bool):
            raise self._wrong(f"{key} must be true or false.")
        return value

    def _journal(self, value: Any) -> JournalSettings:
        try:
            return JournalSettings.read(value)
        except ValueError as error:
            raise self._wrong(str(error)) from error

    def _redact(self, value: Any) -> tuple[str, ...]:
        try:
            return read_redact(value)
        except ValueError as error:
            raise self._wrong(str(error)) from error

    def _wrong(self, what: str) -> ConfigurationError:
        return ConfigurationError(f"{self.configuration.path}, [hosts.{HOST}]: {what}")


def build_prompt(
    name: str,
    configuration: Configuration | None,
    environment: Mapping[str, str] | None = None,
) -> Prompt[Any]:
    """Return a prompt without sections: the agent's instructions are the program's own.

    Args:
        name: of the prompt.
        configuration: where its providers are declared; None for a prompt without providers.
        environment: variables by name; `os.environ` if None.

    Raises:
        TrimtabError: a provider can't be used.
    """
    namespace, _, key = name.partition("/")
    return Prompt(
        namespace or HOST, key or name, name=name, config=configuration, environment=environment
    )
