"""Where the resident process listens, and the secret of its user. Imports little: see `client`."""

from __future__ import annotations

import json
import os
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

HOST = "127.0.0.1"
URL_PATH = "/trimtab/hook"
STATUS_PATH = "/trimtab/status"
STOP_PATH = "/trimtab/stop"
FILE = "service.json"
_PORTS = range(20_000, 32_768)
PROOF = "Trimtab-Proof"
"""Header of every answer: shows that the answering process knows the token."""


class Endpoint(NamedTuple):
    """A port on 127.0.0.1, and the token that a hook must show."""

    port: int
    token: str

    @property
    def url(self) -> str:
        return f"http://{HOST}:{self.port}{URL_PATH}"

    def proof(self, body: bytes) -> str:
        """Return what only a holder of the token can say about a request's body."""
        return blake2b(body, key=self.token.encode()[:64], digest_size=16).hexdigest()


def read_endpoint(file: Path) -> Endpoint:
    """Read an endpoint.

    Raises:
        OSError: there is no such file, or it can't be read.
        ValueError: it is damaged.
    """
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
        return Endpoint(int(found["port"]), str(found["token"]))
    except (KeyError, TypeError) as error:
        raise ValueError(f"{file} is damaged; delete it and install the hooks again") from error


def make_endpoint(folder: Path) -> Endpoint:
    """Return the user's endpoint: the one in `folder`, else a new one on a free port.

    Raises:
        OSError: it can't be written.
    """
    import secrets

    file = folder / FILE
    try:
        return read_endpoint(file)
    except (OSError, ValueError):
        made = Endpoint(_free_port(), secrets.token_urlsafe(32))
    fresh = file.with_suffix(".new")
    with open(fresh, "w", encoding="utf-8", opener=_private) as writing:
        writing.write(json.dumps(made._asdict()))
    fresh.replace(file)
    return made


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _free_port() -> int:
    """Choose a port that is free, if possible below those that systems give to any connection."""
    import secrets
    import socket

    for port in (*(secrets.choice(_PORTS) for _ in range(20)), 0):
        with socket.socket() as probe:
            try:
                probe.bind((HOST, port))
            except OSError:
                continue
            return int(probe.getsockname()[1])
    raise OSError("no port is free on 127.0.0.1")
