"""Which requests are refused before anything is read: pure policy."""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Mapping, Sequence

import attrs

from trimtab_proxy._upstreams import Upstream, stays_below

MOST_BODY_BYTES = 64 * 1024 * 1024
HOSTS = ("127.0.0.1", "localhost", "[::1]")
RawHeaders = Sequence[tuple[bytes, bytes]]
_ONE_UPSTREAM = ""


@attrs.frozen
class Refusal(Exception):
    """Why a request is refused.

    Args:
        status: of the answer.
        reason: for the program and its user; nothing of the request is repeated in it.
    """

    status: int
    reason: str


@attrs.frozen
class Route:
    """Where an accepted request goes.

    Args:
        upstream: the service.
        rest: the path below the service's base.
    """

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
        """Return where a request goes.

        Args:
            path: as it came, undecoded, without its query.
            headers: names in lower case.

        Raises:
            Refusal: it is not accepted.
        """
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


def declared_size(headers: RawHeaders) -> int:
    """Return the size that a body is said to have, 0 where nothing is said.

    Raises:
        Refusal: it is too large, or no number.
    """
    for name, value in headers:
        if name == b"content-length":
            if not value.isdigit() or len(value) > 18:
                raise Refusal(400, "the Content-Length is not a number")
            if int(value) > MOST_BODY_BYTES:
                raise too_large()
            return int(value)
    return 0


def too_large() -> Refusal:
    """Return the refusal of a body beyond the limit."""
    return Refusal(413, f"the body is larger than {MOST_BODY_BYTES} bytes")
