"""The table ``[hosts.claude-code]``, what Claude Code can do, prompts of a configuration.

Measured with Claude Code 2.1.332: text that a hook returns stays in the conversation; a call can
only be spoken to before it runs by refusing it; nothing tells which response will be the last. A
hook's ``"continue": false`` ends the turn, or the subagent alone.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs

from trimtab import (
    Configuration,
    DecisionPoint,
    Delivery,
    Host,
    Prompt,
    ProviderError,
    Resources,
    RootedFilesystem,
    TrimtabError,
)
from trimtab_signals import agents
from trimtab_trace import HostTable, JournalSettings, Redaction, read_redact

if TYPE_CHECKING:
    from trimtab import GuidanceProviderConfig

MAX_BYTES = 16_000_000
"""How long an event may be; a longer one is left out."""


def payload_of(body: bytes) -> Mapping[str, Any]:
    """Read an event; a ValueError says why one was left out."""
    if len(body) > MAX_BYTES:
        raise ValueError(f"an event of more than {MAX_BYTES} bytes was left out")
    payload = json.loads(body)
    if not isinstance(payload, dict):
        raise ValueError("an event that is not a JSON object was left out")
    return payload


CLAUDE_CODE = Host(
    name="claude-code",
    delivery={
        DecisionPoint.PRE_RENDER: Delivery.PERSISTED,
        DecisionPoint.PRE_TOOL_SELECTION: Delivery.PERSISTED,
        DecisionPoint.PRE_TOOL_EXECUTION: Delivery.REFUSAL,
        DecisionPoint.POST_TOOL_RESULT: Delivery.PERSISTED,
        DecisionPoint.PRE_RESPONSE: Delivery.NONE,
    },
    parallel_calls=True,
    tool_profiles=agents.CLAUDE_CODE,
    stops=True,
)
"""Claude Code, described."""


class UnsupportedPoint(ProviderError):
    """A provider speaks only where the host can't place text."""


def check_prompt(prompt: Prompt[Any], host: Host = CLAUDE_CODE) -> tuple[str, ...]:
    """Return a warning for each provider that the host silences at some of its points.

    A provider that names no points of its own is asked at all five and depends on none.

    Args:
        prompt: the prompt.
        host: where it runs.

    Raises:
        UnsupportedPoint: a provider would never be heard.
    """
    warnings = []
    for entry, points in prompt.table.guiding:
        heard = [point for point in points if _heard(host, point, entry.config)]
        silent = [point for point in points if point not in heard and not _covered(point, heard)]
        if not silent or len(points) == len(DecisionPoint):
            continue
        listed = ", ".join(point.name for point in silent)
        text = f"{entry.source.full_name!r} is not heard at {listed} on {host.name}"
        if not heard:
            raise UnsupportedPoint(f"{text}, and speaks nowhere else: {_remedy(silent)}")
        warnings.append(f"{text}: {_remedy(silent)}")
    return tuple(warnings)


def silent_without_deadline(prompt: Prompt[Any]) -> tuple[str, ...]:
    """Return a warning for each provider that speaks of the deadline only, which is not set."""
    return tuple(
        f"{entry.source.full_name!r} never speaks, since sessions have no deadline: "
        "set timeout = SECONDS in [hosts.claude-code]"
        for entry in prompt.table.feedback
        if entry.limits_only
    )


def _heard(host: Host, point: DecisionPoint, config: GuidanceProviderConfig) -> bool:
    delivery = host.delivers(point)
    return delivery is not Delivery.NONE and (delivery is not Delivery.REFUSAL or config.refuse)


def _covered(point: DecisionPoint, heard: list[DecisionPoint]) -> bool:
    """Whether nothing is lost: any response may be the last, and each has a PRE_TOOL_SELECTION."""
    return point is DecisionPoint.PRE_RESPONSE and DecisionPoint.PRE_TOOL_SELECTION in heard


def _remedy(silent: list[DecisionPoint]) -> str:
    if DecisionPoint.PRE_TOOL_EXECUTION in silent:
        return "set refuse=True if it may refuse calls, or name other decision_points"
    return "name other decision_points"


HOST = "claude-code"
_KEYS = ("prompt", "agents", "timeout", "journal", "redact", "notify")


@attrs.frozen(kw_only=True)
class HostConfig:
    """The table, read and checked.

    Args:
        default: the prompt of the main agent and of all agents that `agents` does not name;
            None leaves them alone.
        agents: prompts by agent type; None leaves that type alone.
        timeout: seconds that a session's process may take, None for no limit.
        redact: names and beginnings of further secrets.
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
    """Read the table; a configuration without it assigns no prompt."""
    table = HostTable(configuration, HOST, _KEYS)
    agents: Mapping[str, Any] = table.read("agents", _agents, {})
    read = HostConfig(
        default=table.prompt("prompt", table.values.get("prompt", False)),
        agents={kind: table.prompt(f"agents.{kind}", value) for kind, value in agents.items()},
        timeout=table.number("timeout"),
        journal=table.read("journal", JournalSettings.read, JournalSettings()),
        redact=table.read("redact", read_redact, ()),
        notify=table.flag("notify"),
    )
    table.check()
    return read


def _agents(value: Any) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise ValueError("agents must be a table of agent types and prompts")
    return value


def build_prompt(
    name: str, configuration: Configuration | None, environment: Mapping[str, str] | None = None
) -> Prompt[Any]:
    """Return a prompt without sections: the agent's instructions are the program's own."""
    namespace, _, key = name.partition("/")
    return Prompt(
        namespace or HOST, key or name, name=name, config=configuration, environment=environment
    )


class Prompts:
    """The prompts of one configuration, built when first asked for: a `PromptOf`.

    A prompt that can't be built leaves its agents alone; `failures` says why.
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
        """Return for each prompt what of it has no effect in a session with this timeout."""
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
