"""One HTTP request to the resident process, over a bare socket. Imports little: see `client`."""

from __future__ import annotations

import socket

from trimtab_claude_code.service.endpoint import HOST, PROOF, URL_PATH, Endpoint

_MOST_BYTES = 1_000_000


class Stranger(Exception):  # not an error of trimtab: another program answers
    """Whatever listens on the port is not this user's resident process."""


def ask(endpoint: Endpoint, body: bytes, seconds: float, path: str = URL_PATH) -> bytes:
    """Post `body` and return the body of the answer.

    Raises:
        OSError: nobody listens, or no answer came in time.
        Stranger: the answer shows no knowledge of the token.
    """
    head = (
        f"POST {path} HTTP/1.0\r\nHost: {HOST}:{endpoint.port}\r\n"
        f"Authorization: Bearer {endpoint.token}\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    with socket.create_connection((HOST, endpoint.port), timeout=seconds) as connection:
        connection.sendall(head.encode("ascii") + body)
        answer = _all(connection)
    if not answer:
        raise ConnectionResetError("the connection was closed without an answer")
    headers, _, content = answer.partition(b"\r\n\r\n")
    proof = f"\r\n{PROOF}: {endpoint.proof(body)}".encode()
    if proof not in headers:
        remedy = "install the hooks again, for another port"
        raise Stranger(f"port {endpoint.port} is answered by another program; {remedy}")
    return content


def _all(connection: socket.socket) -> bytes:
    answer = bytearray()
    while len(answer) < _MOST_BYTES and (part := connection.recv(65_536)):
        answer += part
    return bytes(answer)
