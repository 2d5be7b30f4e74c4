"""Which prompt guides which agent: the table ``[hosts.claude-code]`` of the configuration."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from trimtab import ConfigurationError, Prompt
from trimtab.inspection import did_you_mean, quoted_list

if TYPE_CHECKING:
    from trimtab import Configuration
    from trimtab.inspection import PromptTable

HOST = "claude-code"
_KEYS = ("prompt", "agents")


class Assignment(NamedTuple):
    """Who is guided by what.

    Args:
        default: the prompt of the main agent and of all agents that `agents` does not name;
            None leaves them alone.
        agents: prompts by agent type; None leaves that type alone.
    """

    default: str | None
    agents: Mapping[str, str | None]

    def of(self, agent_type: str | None) -> str | None:
        """Return the prompt's name for an agent type, None for the main agent."""
        if agent_type is None:
            return self.default
        return self.agents.get(agent_type, self.default)

    @property
    def prompts(self) -> tuple[str, ...]:
        """All prompts that are named, each once."""
        named = (self.default, *self.agents.values())
        return tuple(dict.fromkeys(name for name in named if name))


def assignment(configuration: Configuration) -> Assignment:
    """Read the table; nobody is guided where there is none.

    Raises:
        ConfigurationError: a key or value is wrong, or names a prompt that has no table.
    """
    table = configuration.hosts.get(HOST, {})
    for key in table:
        if key not in _KEYS:
            raise _wrong(configuration, f"unknown key {key!r}.{did_you_mean(key, _KEYS)}")
    agents = table.get("agents", {})
    if not isinstance(agents, Mapping):
        raise _wrong(configuration, "agents must be a table of agent types and prompts.")
    default = _prompt(table.get("prompt", False), "prompt", configuration)
    named = {
        kind: _prompt(value, f"agents.{kind}", configuration) for kind, value in agents.items()
    }
    return Assignment(default, named)


def _prompt(value: Any, key: str, configuration: Configuration) -> str | None:
    if value is False:
        return None
    if not isinstance(value, str):
        raise _wrong(configuration, f"{key} must be a prompt's name, or false.")
    if value not in configuration.prompts:
        raise _wrong(
            configuration,
            f'{key} names {value!r}, and there is no table [prompts."{value}"]. '
            f"Prompts there: {quoted_list(configuration.prompts)}.",
        )
    return value


def _wrong(configuration: Configuration, what: str) -> ConfigurationError:
    return ConfigurationError(f"{configuration.path}, [hosts.{HOST}]: {what}")


def build_prompt(
    name: str, configuration: Configuration | None = None, table: PromptTable | None = None
) -> Prompt[Any]:
    """Return a prompt without sections: the words of the agent are the program's own.

    Args:
        name: of the prompt.
        configuration: where its providers are declared.
        table: its providers, where they are resolved.

    Raises:
        TrimtabError: a provider can't be used.
    """
    namespace, _, key = name.partition("/")
    return Prompt(namespace or HOST, key or name, name=name, config=configuration, table=table)
