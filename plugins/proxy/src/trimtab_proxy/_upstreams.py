"""Where requests go on to: fixed when the proxy starts, never chosen by a client."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping
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
    """Return the services by name: as given, else as the environment says, else the usual ones.

    Raises:
        UpstreamInvalid: a name or a URL can't be used.
    """
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
