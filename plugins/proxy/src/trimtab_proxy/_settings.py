"""What the proxy is told: how it listens, where requests go, who speaks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import attrs

from trimtab import (
    SYSTEM_CLOCK,
    Configuration,
    ConfigurationError,
    Delivery,
    Prompt,
    ProviderError,
    Resources,
    RootedFilesystem,
    find_configuration,
    load_configuration,
)
from trimtab.hosting import read_seconds
from trimtab_proxy._guide import PROVIDER_SECONDS, Guide
from trimtab_proxy._identity import UNKNOWN, delivery
from trimtab_trace import (
    HostTable,
    JournalOpened,
    JournalSettings,
    SessionJournal,
    new_stem,
    read_redact,
)


class UnsupportedPoint(ProviderError):
    """A provider speaks only where the proxy can't place text."""


def check_prompt(prompt: Prompt[Any], *, gate: bool) -> tuple[str, ...]:
    """Return a sentence for each kind of provider that is not asked.

    Raises:
        UnsupportedPoint: a guidance provider would never be heard.
    """
    for entry, points in prompt.table.guiding:
        ways = {delivery(gate=gate)[point] for point in points}
        if not ways - {Delivery.NONE, *(() if entry.config.refuse else (Delivery.REFUSAL,))}:
            listed = ", ".join(point.name for point in points)
            fix = "name other decision_points" if gate else "set gate = true, or name others"
            raise UnsupportedPoint(
                f"prompt {prompt.name!r}: {entry.source.full_name!r} speaks only at {listed}, "
                f"where the proxy can't place text: {fix}"
            )
    if prompt.table.checks and not gate:
        return (f"prompt {prompt.name!r}: completion checkers are asked only with gate = true",)
    return ()


HOST = "proxy"
_KEYS = ("gate", "journal", "notify", "prompt", "redact", "subagents", "timeout")


@attrs.frozen(kw_only=True)
class Settings:
    """The table, read and checked.

    Args:
        prompt: name of the prompt that guides main agents; None leaves them alone.
        subagents: the same for subagents.
        gate: whether completion checkers and refusals may change streamed answers.
        timeout: seconds that each provider may take at one decision.
        redact: names and beginnings of further secrets.
    """

    prompt: str | None = None
    subagents: str | None = None
    gate: bool = False
    timeout: float = PROVIDER_SECONDS
    journal: JournalSettings = attrs.field(factory=JournalSettings)
    redact: tuple[str, ...] = ()
    notify: bool = False


def read_settings(configuration: Configuration) -> Settings:
    """Read the table; nobody is guided if there is none.

    Raises:
        ConfigurationError: the table is wrong; the message says all that is.
    """
    table = HostTable(configuration, HOST, _KEYS)
    prompt = table.prompt("prompt", table.values.get("prompt", False))
    settings = Settings(
        prompt=prompt,
        subagents=table.prompt("subagents", table.values.get("subagents", prompt or False)),
        gate=table.flag("gate"),
        timeout=table.read("timeout", partial(read_seconds, name="timeout"), PROVIDER_SECONDS),
        journal=table.read("journal", JournalSettings.read, JournalSettings()),
        redact=table.read("redact", read_redact, ()),
        notify=table.flag("notify"),
    )
    table.check()
    return settings


def build_prompt(
    name: str | None, configuration: Configuration, folder: Path
) -> Prompt[Any] | None:
    """Return the prompt of a name, without sections: the words of the agent are its program's."""
    if name is None:
        return None
    namespace, _, key = name.partition("/")
    prompt: Prompt[Any] = Prompt(namespace, key or name, name=name, config=configuration)
    return prompt.bind(resources=Resources.of(RootedFilesystem(folder)))


def read_guide(
    config: Path | None = None,
    *,
    guidance: Sequence[str] = (),
    program: str = "",
    journal: bool = True,
) -> Guide:
    """Return a guide as the configuration sets it up.

    Args:
        config: configuration file; the one that is found from this folder upwards where None.
        guidance: names of guidance providers; with them, prompts of a configuration do not count.
        program: name of the program that is run, for its journal; empty if it is not known.
        journal: whether conversations may be recorded.

    Raises:
        ConfigurationError: nothing would ever be said, or something in the file is wrong.
        TrimtabError: a provider can't be used.
    """
    path = config or find_configuration()
    configuration = load_configuration(path) if path else Configuration()
    settings = read_settings(configuration)
    if guidance:
        providers = tuple(guidance)
        main: Prompt[Any] | None = Prompt(HOST, "main", guidance_providers=providers, config=None)
        subagents = main
    else:
        main, subagents = _prompts(settings, configuration)
    if main is None and subagents is None:
        raise ConfigurationError(_nobody_speaks(configuration))
    recorder = _recorder(settings, program) if journal and settings.journal.enabled else None
    guide = Guide(main, subagents, gate=settings.gate, timeout=settings.timeout, recorder=recorder)
    guide.notify = settings.notify
    prompts = [main] if main is subagents else [main, subagents]
    guide.notes = tuple(
        note for prompt in prompts if prompt for note in check_prompt(prompt, gate=settings.gate)
    )
    return guide


def _recorder(settings: Settings, program: str) -> Callable[[str, str], SessionJournal]:
    project = str(Path.cwd())

    def recorder(known: str, session: str) -> SessionJournal:
        return SessionJournal(
            new_stem(HOST, SYSTEM_CLOCK.now()),
            JournalOpened(
                host=HOST,
                project=project,
                program=program if known == UNKNOWN.name else known,
                session=session,
            ),
            settings=settings.journal,
            redact=settings.redact,
        )

    return recorder


def _prompts(
    settings: Settings, configuration: Configuration
) -> tuple[Prompt[Any] | None, Prompt[Any] | None]:
    """Return the prompts of main agents and of subagents."""
    folder = Path.cwd()
    main = build_prompt(settings.prompt, configuration, folder)
    if settings.subagents == settings.prompt:
        return main, main
    return main, build_prompt(settings.subagents, configuration, folder)


def _nobody_speaks(configuration: Configuration) -> str:
    where = configuration.path or "a trimtab.toml in this folder or above"
    return (
        f"no prompt is named for the proxy, so nothing would ever be said. In {where}, write\n"
        '  [hosts.proxy]\n  prompt = "agent/main"\n  [prompts."agent/main"]\n'
        '  guidance = ["doom-loop"]\n'
        "or try it without a file: trimtab proxy --guidance doom-loop -- PROGRAM"
    )
