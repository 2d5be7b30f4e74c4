"""Who sends a request: the program, its host, and which conversation it goes on with.

A request carries its whole history. Its keys are compared with those that its conversation had at
the last request; ids of calls tell most, words the rest.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from http.cookiejar import CookieJar, DefaultCookiePolicy
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import attrs

from trimtab import DecisionPoint, Delivery, Host, ToolProfile
from trimtab_proxy._items import Item, Json, Kind, objects, string
from trimtab_signals.agents import PROFILES

if TYPE_CHECKING:
    import httpx

Headers = Mapping[str, str]
_LONGEST = 200


@attrs.frozen
class Name:
    """The session and the subagent that a program names; None for the main agent."""

    session: str
    agent: str | None = None


@attrs.frozen
class Program:
    """A program that is known by its user agent.

    Args:
        marks: how its user agent begins, in lower case; one of them.
        profile: under which `trimtab_signals.agents` describes its tools.
        parallel_calls: whether one answer may hold several calls; None if unknown.
        own_profiles: take precedence over those of `profile`.
    """

    name: str
    marks: tuple[str, ...]
    profile: str | None = None
    parallel_calls: bool | None = None
    own_profiles: tuple[ToolProfile, ...] = ()

    @property
    def tool_profiles(self) -> tuple[ToolProfile, ...]:
        """What is known about its tools."""
        known = PROFILES.get(self.profile, ()) if self.profile else ()
        return (*self.own_profiles, *known)


_SHELL = ToolProfile(
    names="run_shell_command",
    command_params="command",
    ignored_params=("description",),
    result_noise=r"(?m)^(?:Process Group PGID|Background PIDs): .*$",
)
UNKNOWN = Program("unknown", ())
PROGRAMS = (
    Program("claude-code", ("claude-cli/", "claude-code/"), "claude-code", True),
    Program("codex", ("codex",), "codex", True),
    Program("qwen-code", ("qwencode",), "gemini-cli", True, (_SHELL,)),
    Program("opencode", ("opencode/",), "opencode", True),
    Program("gemini-cli", ("geminicli",), "gemini-cli", True, (_SHELL,)),
)
_SESSIONS = (
    "x-trimtab-session",
    "x-claude-code-session-id",
    "x-session-id",
    "x-opencode-session",
    "session-id",
    "session_id",
)
_AGENTS = ("x-trimtab-agent", "x-claude-code-agent-id")
_THREADS = ("thread-id", "thread_id")


def program_of(headers: Headers) -> Program:
    """Return the program that sent a request with these headers, names in lower case."""
    agent = headers.get("user-agent", "").lower()
    return next((known for known in PROGRAMS if agent.startswith(known.marks)), UNKNOWN)


def name_of(headers: Headers, body: Mapping[str, Any]) -> Name | None:
    """Return how the program names the agent that asks; None if it does not."""
    session = _first(headers, _SESSIONS) or _from_metadata(body)
    thread = _first(headers, _THREADS)
    if session is None and thread is None:
        return None
    agent = _first(headers, _AGENTS)
    if agent is None and thread is not None and session is not None and thread != session:
        agent = thread
    return Name(session or thread or "", agent)


def _first(headers: Headers, names: tuple[str, ...]) -> str | None:
    found = next((headers[name] for name in names if headers.get(name)), None)
    return found[:_LONGEST] if found else None


def _from_metadata(body: Mapping[str, Any]) -> str | None:
    """Return the session that Claude Code names in the body, as its older versions do."""
    metadata = body.get("metadata")
    user = metadata.get("user_id") if isinstance(metadata, Mapping) else None
    if not isinstance(user, str) or len(user) > 2_000:
        return None
    if user.startswith("{"):
        try:
            session = json.loads(user).get("session_id")
        except (ValueError, AttributeError):
            return None
        return session[:_LONGEST] if isinstance(session, str) and session else None
    _, found, session = user.rpartition("_session_")
    return session[:_LONGEST] if found and session else None


_LOOPBACK = ("all://127.0.0.1", "all://localhost", "all://[::1]")


def upstream_client(connect_seconds: float) -> httpx.AsyncClient:
    """Return a client that adds nothing, follows nothing and keeps nothing.

    A proxy of the network, as the environment names it, is used but for this machine.
    """
    import httpx

    context = httpx.create_ssl_context()  # loading certificates takes time: once is enough
    return httpx.AsyncClient(
        verify=context,
        timeout=httpx.Timeout(None, connect=connect_seconds),
        limits=httpx.Limits(max_connections=None, max_keepalive_connections=32),
        follow_redirects=False,
        cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
        mounts=dict.fromkeys(_LOOPBACK, httpx.AsyncHTTPTransport(verify=context)),
    )


PROXY = Host(
    name="proxy",
    delivery={
        DecisionPoint.PRE_RENDER: Delivery.NONE,
        DecisionPoint.PRE_TOOL_SELECTION: Delivery.EPHEMERAL,
        DecisionPoint.PRE_TOOL_EXECUTION: Delivery.NONE,
        DecisionPoint.POST_TOOL_RESULT: Delivery.EPHEMERAL,
        DecisionPoint.PRE_RESPONSE: Delivery.NONE,
    },
)
"""The proxy, described: words stand in one request and in no later one."""


_GATED = {**PROXY.delivery, DecisionPoint.PRE_TOOL_EXECUTION: Delivery.REFUSAL}


def delivery(*, gate: bool) -> Mapping[DecisionPoint, Delivery]:
    """Return how text is placed, point by point, with or without the gate."""
    return _GATED if gate else PROXY.delivery


def descriptions(body: Json) -> Mapping[str, str]:
    """Return what the tools of a request say of themselves, in any of the formats."""
    found = {}
    for tool in objects(body.get("tools")):
        inner = [tool, tool.get("function"), tool.get("custom")]
        for declared in objects([*inner, *objects(tool.get("functionDeclarations"))]):
            name, text = string(declared.get("name")), string(declared.get("description"))
            if name and text:
                found[name] = text
    return found


def host_for(
    program: Program,
    tools: Iterable[str],
    *,
    gate: bool = False,
    described: Mapping[str, str] | None = None,
) -> Host:
    """Return the proxy as the host of an agent with these tools."""
    names = frozenset(tool for tool in tools if tool)
    return attrs.evolve(
        PROXY,
        delivery=delivery(gate=gate),
        tools=names or None,
        parallel_calls=program.parallel_calls,
        tool_profiles=program.tool_profiles,
        tool_descriptions=described or {},
    )


class Relation(StrEnum):
    """How a request stands to what is known of its conversation."""

    NEW = "new"
    NEXT = "next"
    RETRY = "retry"
    FORK = "fork"
    REWIND = "rewind"
    COMPACTED = "compacted"
    TRIMMED = "trimmed"
    SIDE = "side"
    STORED = "stored"


@attrs.frozen
class Link:
    """How the items of a request stand to those told before.

    Args:
        known: how many items at the beginning of the request need not be told any more.
        shared: how many at the beginning are the same.
    """

    relation: Relation
    known: int
    shared: int


@attrs.frozen
class History:
    """The items of a request that count for its identity.

    Args:
        told: how many are settled: all but the words of the user at the end, which a program may
            take back, as it does after a question of its own about the conversation.
    """

    items: Sequence[Item]
    keys: Sequence[str]
    told: int

    @property
    def ends_with_result(self) -> bool:
        """Whether the last item is a tool's answer."""
        return bool(self.items) and self.items[-1].kind is Kind.RESULT

    @property
    def has_answers(self) -> bool:
        """Whether the model has spoken in it."""
        return any(item.kind in _BY_MODEL for item in self.items[: self.told])


_BY_MODEL = frozenset({Kind.TEXT, Kind.CALL})


def history(items: Sequence[Item]) -> History:
    """Return the history that `items` make."""
    told = len(items)
    while told and items[told - 1].kind is Kind.USER:
        told -= 1
    return History(items, [item.key for item in items], told)


def shared_prefix(first: Sequence[str], second: Sequence[str]) -> int:
    """Return how many keys are the same at the beginning of both."""
    most = min(len(first), len(second))
    if first[:most] == second[:most]:
        return most
    low, high = 0, most
    while high - low > 1:
        middle = (low + high) // 2
        if first[low:middle] == second[low:middle]:
            low = middle
        else:
            high = middle
    return low


def link(now: History, told: Sequence[str]) -> Link | None:
    """Return how a request stands to the settled items of a conversation; None if to nothing."""
    shared = shared_prefix(now.keys, told)
    if shared == len(told):
        return Link(Relation.RETRY if now.told == shared else Relation.NEXT, shared, shared)
    kept = _kept(now, told, shared)
    if kept:
        opens_new = now.items[shared].kind is Kind.USER and now.keys[shared] not in set(told)
        return Link(Relation.COMPACTED if opens_new else Relation.TRIMMED, kept, shared)
    if shared == 0:
        return None
    return Link(Relation.REWIND, shared, shared)


def _kept(now: History, told: Sequence[str], shared: int) -> int:
    """Return where the known part ends in a request from whose middle something was left out."""
    later = {key for key in told[shared:] if key[0] in "cr"}
    for index in range(now.told - 1, shared - 1, -1):
        if now.keys[index] in later:
            return index + 1
    return 0


def only_repeats_the_user(now: History, told: Sequence[str]) -> bool:
    """Tell whether nothing but words of the user is left: some programs compact that way."""
    return not now.has_answers and any(key[0] in "cCt" for key in told)


def chain(keys: Sequence[str], last: int = 0) -> list[int]:
    """Return for each key a hash of all keys up to it, and of those that `last` stands for."""
    return list(accumulate(keys, lambda before, key: hash((before, key)), initial=last))[1:]
