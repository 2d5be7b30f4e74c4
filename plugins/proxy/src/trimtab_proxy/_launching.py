"""Starting a program behind the proxy, and running it until it ends."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePath
from threading import Timer
from types import FrameType
from typing import Any
from urllib.parse import urlsplit

import attrs

from trimtab import TrimtabError
from trimtab_proxy._frames import interrupts, interrupts_told
from trimtab_proxy._upstreams import DEFAULTS, VARIABLES

_PROXY_VARIABLES = (
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "http_proxy",
    "https_proxy",
    "all_proxy",
)
_NO_PROXY = ("NO_PROXY", "no_proxy")
_TOLD = {name: upstream for upstream, names in VARIABLES.items() for name in names}
_HERE = "127.0.0.1,localhost"
_TOOL_SEARCH = "ENABLE_TOOL_SEARCH"
_COPILOT_URL = "COPILOT_PROVIDER_BASE_URL"
_COPILOT_TYPE = "COPILOT_PROVIDER_TYPE"
_CLAUDE_CLOUDS = ("CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX")
_PI_URL = "TRIMTAB_PROXY_URL"
_PI_COMMANDS = frozenset({"config", "install", "list", "remove", "uninstall", "update"})
_OPENCODE = "OPENCODE_CONFIG_CONTENT"


_FROM_A_FILE: Mapping[str, tuple[str, str]] = {
    "cline": (
        ".cline/data/settings/providers.json",
        "start the proxy with --serve, --port and --token, and run cline auth -b URL once",
    ),
    "cn": (
        ".continue/config.yaml",
        "write apiBase: ${{ secrets.OPENAI_BASE_URL }} there (ANTHROPIC_BASE_URL: /v1/ behind)",
    ),
}
"""Programs that read no variable: their file below the user's home, and what to do."""


class LaunchFailed(TrimtabError):
    """The program can't be started."""


@attrs.frozen
class Launch:
    """A program to be started: the command, and all its variables."""

    command: tuple[str, ...]
    environment: Mapping[str, str]


def launch(
    command: Sequence[str],
    environment: Mapping[str, str],
    base_url: str,
    further: Mapping[str, str] | None = None,
) -> Launch:
    """Return how to start a program so that its requests come to the proxy.

    Args:
        environment: the user's; its base URLs are where requests go on to.
        further: variables of the program by name, and below which upstream each points, e.g.
            ``"openai"`` or ``"anthropic/v1"``.
    """
    start = Launch(tuple(command), {**environment, **_not_through_proxies(environment)})
    prepare = _PREPARE.get(PurePath(command[0]).stem.lower())
    start = prepare(start, base_url) if prepare else start
    told = {name: f"{base_url}/{where}" for name, where in {**_TOLD, **(further or {})}.items()}
    return attrs.evolve(start, environment={**start.environment, **told})


def upstream_variables(program: str, environment: Mapping[str, str]) -> Mapping[str, str]:
    """Return variables whose base URLs, the program's own first, are where requests go on to."""
    url = environment.get(_COPILOT_URL)
    if program.lower() != "copilot" or not url:
        return environment
    is_anthropic = environment.get(_COPILOT_TYPE) == "anthropic"
    return {**environment, "ANTHROPIC_BASE_URL" if is_anthropic else "OPENAI_BASE_URL": url}


def cautions(program: str, environment: Mapping[str, str], folder: Path) -> list[str]:
    """Return why requests of a program may go around the proxy, as far as its settings tell."""
    own = _FROM_A_FILE.get(program.lower())
    if own is not None and not _names_the_proxy(_home(environment) / own[0]):
        return [f"{program} takes its address from ~/{own[0]} alone: {own[1]}"]
    if program.lower() == "copilot" and not environment.get(_COPILOT_URL):
        return [f"copilot asks GitHub's own models, around the proxy, unless {_COPILOT_URL} is set"]
    if program.lower() != "claude":
        return []
    found = [
        f"{name} is set: claude sends signed requests around the proxy"
        for name in _CLAUDE_CLOUDS
        if environment.get(name, "0") not in {"", "0", "false"}
    ]
    home = Path(environment.get("CLAUDE_CONFIG_DIR") or _home(environment) / ".claude")
    project = folder / ".claude"
    for file in (
        home / "settings.json",
        project / "settings.json",
        project / "settings.local.json",
    ):
        variables = _variables_in(file)
        found += [
            f"{file} sets {name}, so requests of claude go around the proxy: take it out, and run "
            f"{name}=… trimtab proxy -- claude"
            for name in ("ANTHROPIC_BASE_URL", *_CLAUDE_CLOUDS)
            if variables.get(name)
        ]
    return found


def _home(environment: Mapping[str, str]) -> Path:
    return Path(environment.get("HOME") or Path.home())


def _names_the_proxy(file: Path) -> bool:
    """Tell whether a program's file takes the address from a variable, or names this machine."""
    try:
        text = file.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    return any(words in text for words in ("_BASE_URL", "http://127.0.0.1:", "http://localhost:"))


def _variables_in(settings: Path) -> Mapping[str, Any]:
    try:
        found = json.loads(settings.read_bytes()).get("env")
    except (OSError, ValueError, AttributeError):
        return {}
    return found if isinstance(found, dict) else {}


def _not_through_proxies(environment: Mapping[str, str]) -> dict[str, str]:
    """Keep a proxy of the network from being asked for this machine."""
    if not any(environment.get(name) for name in _PROXY_VARIABLES):
        return {}
    return {name: ",".join(filter(None, (environment.get(name), _HERE))) for name in _NO_PROXY}


def _claude(start: Launch, _: str) -> Launch:
    """Claude Code sends all tools of MCP in each request to a host that is not Anthropic's.

    It can't know that the proxy passes what its search for tools needs, so it is told. What the
    user says stays, and a gateway of the user's may not pass it.
    """
    gateway = urlsplit(start.environment.get("ANTHROPIC_BASE_URL") or DEFAULTS["anthropic"])
    if gateway.hostname != urlsplit(DEFAULTS["anthropic"]).hostname:
        return start
    return attrs.evolve(start, environment={_TOOL_SEARCH: "true", **start.environment})


def _copilot(start: Launch, base_url: str) -> Launch:
    """Copilot CLI has variables of its own for a provider of the user's."""
    if not start.environment.get(_COPILOT_URL):
        return start
    is_anthropic = start.environment.get(_COPILOT_TYPE) == "anthropic"
    url = f"{base_url}/{'anthropic' if is_anthropic else 'openai'}"
    return attrs.evolve(start, environment={**start.environment, _COPILOT_URL: url})


def _codex(start: Launch, base_url: str) -> Launch:
    """Codex takes no variable: a provider of its own is defined by flags."""
    has_key = bool(start.environment.get("OPENAI_API_KEY"))
    settings = {
        "name": "OpenAI through trimtab",
        "base_url": f"{base_url}/{'openai' if has_key else 'chatgpt'}",
        "wire_api": "responses",
        **({"env_key": "OPENAI_API_KEY"} if has_key else {"requires_openai_auth": True}),
    }
    flags = ["-c", 'model_provider="trimtab"']
    for key, value in settings.items():
        flags += ["-c", f"model_providers.trimtab.{key}={json.dumps(value)}"]
    return attrs.evolve(start, command=(start.command[0], *flags, *start.command[1:]))


def _opencode(start: Launch, base_url: str) -> Launch:
    """Opencode reads settings from a variable; what the user has there is kept."""
    given = start.environment.get(_OPENCODE) or "{}"
    try:
        settings: Any = json.loads(given)
        providers = settings.setdefault("provider", {})
        for name, url in (
            ("anthropic", f"{base_url}/anthropic/v1"),
            ("openai", f"{base_url}/openai"),
            ("google", f"{base_url}/gemini/v1beta"),
        ):
            options = providers.setdefault(name, {}).setdefault("options", {})
            options["baseURL"] = url
    except (ValueError, AttributeError, TypeError) as error:
        raise LaunchFailed(
            f"{_OPENCODE} is not a JSON object that can be extended: {error}"
        ) from None
    return attrs.evolve(start, environment={**start.environment, _OPENCODE: json.dumps(settings)})


def _pi(start: Launch, base_url: str) -> Launch:
    """Pi takes no variable: an extension of ours, for this start alone, moves its providers."""
    arguments = start.command[1:]
    if arguments and arguments[0] in _PI_COMMANDS:
        return start
    command = (start.command[0], "-e", str(Path(__file__).with_name("_pi.js")), *arguments)
    return Launch(command, {**start.environment, _PI_URL: base_url})


_PREPARE: Mapping[str, Callable[[Launch, str], Launch]] = {
    "claude": _claude,
    "codex": _codex,
    "copilot": _copilot,
    "opencode": _opencode,
    "pi": _pi,
}


_MOMENT = 0.5
"""Seconds in which a program that was interrupted with this process ends; a second interrupt
means another thing to many programs."""

_PASSED_ON = ("SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2", "SIGQUIT")


def run(start: Launch) -> int:
    """Start a program with this process's terminal; return its exit status as shells have it.

    The terminal sends an interrupt to the program itself, so it is only ignored here; what is sent
    to this process alone is passed on. An interrupt that comes from elsewhere may have reached the
    program too: it is passed on to one that still runs a moment later.
    """
    children: list[subprocess.Popen[bytes]] = []

    def send_interrupt() -> None:
        for child in children:
            _send(child, signal.SIGINT)

    def interrupt() -> None:
        later = Timer(_MOMENT, send_interrupt)
        later.daemon = True
        later.start()

    with interrupts_told(of_other=interrupt):
        child = _started(start)
        children.append(child)
        with _passed_on(child):
            status = _wait(child)
    return status if status >= 0 else 128 - status


def _started(start: Launch) -> subprocess.Popen[bytes]:
    try:
        with interrupts(kept_out=False):
            return subprocess.Popen(start.command, env=dict(start.environment))
    except OSError as error:
        why = f"{start.command[0]!r} can't be started: {error.strerror or error}"
        raise LaunchFailed(why) from None


def _wait(child: subprocess.Popen[bytes]) -> int:
    """Wait for the end; where the program stops itself, stop too, and go on together."""
    if not hasattr(os, "WUNTRACED"):
        return child.wait()
    while True:
        try:
            _, status = os.waitpid(child.pid, os.WUNTRACED)
        except ChildProcessError:
            return child.wait()
        if os.WIFSTOPPED(status):
            os.kill(os.getpid(), signal.SIGSTOP)
            os.kill(child.pid, signal.SIGCONT)
            continue
        child.returncode = os.waitstatus_to_exitcode(status)
        return child.returncode


def _send(child: subprocess.Popen[bytes], number: int) -> None:
    if child.returncode is None:
        os.kill(child.pid, number)


@contextmanager
def _passed_on(child: subprocess.Popen[bytes]) -> Iterator[None]:
    def pass_on(number: int, _: FrameType | None) -> None:
        _send(child, number)

    known = [getattr(signal, name) for name in _PASSED_ON if hasattr(signal, name)]
    before = {number: signal.signal(number, pass_on) for number in known}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
