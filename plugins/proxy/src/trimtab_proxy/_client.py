"""The HTTP client that sends requests on."""

from __future__ import annotations

from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import httpx

_LOOPBACK = ("all://127.0.0.1", "all://localhost", "all://[::1]")


def upstream_client(connect_seconds: float) -> httpx.AsyncClient:
    """Return a client that adds nothing, follows nothing and keeps nothing.

    A proxy of the network, as the environment names it, is used but for this machine.

    Args:
        connect_seconds: for a connection; for the answer there is no limit but the program's own.
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
