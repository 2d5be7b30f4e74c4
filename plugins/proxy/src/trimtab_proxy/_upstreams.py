"""Where requests go on to, and which are refused before anything is read: no client chooses."""

from __future__ import annotations

import hmac
import ipaddress
import re
import secrets
from collections.abc import Mapping, Sequence
from urllib.parse import unquote_to_bytes, urlsplit

import attrs

from trimtab import TrimtabError

DEFAULTS: Mapping[str, str] = {
    "anthropic": "https://api.anthropic.com",
    "openai": "https://api.openai.com/v1",
    "gemini": "https://generativelanguage.googleapis.com",
    "chatgpt": "https://chatgpt.com/backend-api/codex",
}
"""Base URLs by the name under which the proxy serves them."""

VARIABLES: Mapping[str, tuple[str, ...]] = {
    "anthropic": ("ANTHROPIC_BASE_URL",),
    "openai": ("OPENAI_BASE_URL", "OPENAI_API_BASE"),
    "gemini": ("GOOGLE_GEMINI_BASE_URL",),
}
"""Environment variables by which programs are told a base URL."""

_SERVICES = {urlsplit(url).hostname: name for name, url in DEFAULTS.items()}
_NAME = re.compile(r"[a-z][a-z0-9-]{0,31}")
_PLAIN = re.compile(rb"/[\x21-\x5b\x5d-\x7e]*")


class UpstreamInvalid(TrimtabError):
    """A base URL can't be used."""


def _without_slash(url: str) -> str:
    return url.rstrip("/")


@attrs.frozen
class Upstream:
    """A service that requests go on to.

    Args:
        base: its URL, ``https`` unless it is on this machine; no query, no credentials.

    Raises:
        UpstreamInvalid: the URL can't be used.
    """

    base: str = attrs.field(converter=_without_slash)

    def __attrs_post_init__(self) -> None:
        try:
            parts = urlsplit(self.base)
            host, _ = parts.hostname, parts.port
        except ValueError as error:
            raise UpstreamInvalid(f"{self.base!r} is not a URL: {error}") from None
        if parts.scheme not in {"http", "https"} or not host:
            raise UpstreamInvalid(f"{self.base!r} must begin with https:// and name a host")
        if parts.query or parts.fragment or "@" in parts.netloc:
            raise UpstreamInvalid(
                f"the upstream at {host} must have no query, fragment or credentials: the program "
                "brings its own"
            )
        if parts.scheme == "http" and not is_loopback(host):
            raise UpstreamInvalid(
                f"{self.base!r}: keys and prompts would go there unencrypted. Use https://; "
                "http:// is for services on this machine"
            )

    @property
    def path(self) -> bytes:
        """The path of the base URL."""
        return urlsplit(self.base).path.encode()

    @property
    def service(self) -> str:
        """Whose service it is, as it is recorded: its usual name, else its host."""
        host = urlsplit(self.base).hostname or ""
        return _SERVICES.get(host, host)

    def target(self, rest: bytes, query: bytes) -> bytes:
        """Return path and query of a request on the service; `rest` follows the base."""
        return self.path + rest + (b"?" + query if query else b"")


def read_upstreams(given: Mapping[str, str], environment: Mapping[str, str]) -> dict[str, Upstream]:
    """Return the services by name: as given, else as the environment says, else the usual ones."""
    found = dict(DEFAULTS)
    for name, variables in VARIABLES.items():
        found[name] = next((v for key in variables if (v := environment.get(key))), found[name])
    found.update(given)
    for name in found:
        if not _NAME.fullmatch(name):
            raise UpstreamInvalid(f"an upstream can't be called {name!r}: use a-z, 0-9 and -")
    return {name: Upstream(url) for name, url in found.items()}


def is_loopback(host: str) -> bool:
    """Tell whether a host name or address is this machine's own."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def stays_below(path: bytes) -> bool:
    """Tell whether a path stays below the base it is appended to, however it is decoded."""
    if path and not _PLAIN.fullmatch(path):
        return False
    for _ in range(3):
        segments = re.split(rb"[/\\]", path)
        if b"." in segments or b".." in segments or b"" in segments[1:-1]:
            return False
        decoded = unquote_to_bytes(path)
        if decoded == path:
            break
        path = decoded
    return all(0x20 <= byte != 0x7F for byte in path)


MOST_BODY_BYTES = 64 * 1024 * 1024
HOSTS = ("127.0.0.1", "localhost", "[::1]")
RawHeaders = Sequence[tuple[bytes, bytes]]
_ONE_UPSTREAM = ""


@attrs.frozen
class Refusal(Exception):
    """Why a request is refused; nothing of the request is repeated in the reason."""

    status: int
    reason: str


@attrs.frozen
class Route:
    """Where an accepted request goes: a service, and the path below its base."""

    upstream: Upstream
    rest: bytes


def new_token() -> str:
    """Return a secret for the path; a local user who can't read it can't use the proxy."""
    return secrets.token_urlsafe(24)


@attrs.frozen
class Door:
    """Decides who may come in, and where a request goes.

    Args:
        token: the secret first segment of all paths.
        port: on which the proxy listens.
        upstreams: services by the second segment; one under the empty name needs none.
    """

    token: str
    port: int
    upstreams: Mapping[str, Upstream]

    def route(self, path: bytes, headers: RawHeaders) -> Route:
        """Return where a request goes, by its undecoded path without query; else a Refusal."""
        self._check_origin(headers)
        if not path.startswith(b"/"):
            raise Refusal(400, "the request's target must be a path")
        token, slash, rest = path[1:].partition(b"/")
        if not hmac.compare_digest(token, self.token.encode()):
            raise Refusal(403, "the path lacks the secret of this proxy")
        if not stays_below(slash + rest):
            raise Refusal(400, "the path holds characters or segments that are not passed on")
        return self._below(slash + rest)

    def _below(self, path: bytes) -> Route:
        one = self.upstreams.get(_ONE_UPSTREAM)
        if one is not None:
            return Route(one, path)
        name, slash, rest = path[1:].partition(b"/")
        upstream = self.upstreams.get(name.decode("ascii"))
        if upstream is None:
            known = ", ".join(sorted(self.upstreams))
            raise Refusal(404, f"no upstream has that name; there are: {known}")
        return Route(upstream, slash + rest)

    def _check_origin(self, headers: RawHeaders) -> None:
        """Keep web pages out: they could reach the port by a name of their own for this machine."""
        hosts = [value for name, value in headers if name == b"host"]
        allowed = {f"{host}:{self.port}".encode() for host in HOSTS}
        if len(hosts) != 1 or hosts[0].lower() not in allowed:
            raise Refusal(403, "the Host header must name this machine and port")
        if any(name == b"origin" for name, _ in headers):
            raise Refusal(403, "requests of web pages are not accepted")
        # Any other upgrade is an offer, to be ignored: Java's client offers h2c with each request.
        if any(b"websocket" in value.lower() for name, value in headers if name == b"upgrade"):
            raise Refusal(426, "web sockets are not passed on; use plain requests")


def check_size(headers: RawHeaders) -> None:
    """Refuse a body that is said to be too large."""
    value = next((value for name, value in headers if name == b"content-length"), b"0")
    if not value.isdigit() or len(value) > 18:
        raise Refusal(400, "the Content-Length is not a number")
    if int(value) > MOST_BODY_BYTES:
        raise too_large()


def too_large() -> Refusal:
    """Return the refusal of a body beyond the limit."""
    return Refusal(413, f"the body is larger than {MOST_BODY_BYTES} bytes")
