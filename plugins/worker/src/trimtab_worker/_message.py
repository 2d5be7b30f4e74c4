"""The body of a message as bytes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import islice
from typing import Any, TypeVar

import attrs

from trimtab.events import record_converter, structure_problems
from trimtab_worker._records import (
    MailboxError,
    UndecodableMessage,
)

Body = TypeVar("Body")


VERSION = 1
LONGEST_ADDRESS = 2_000


@attrs.frozen
class Envelope:
    """What the bytes of a message hold.

    Args:
        body: an instance of one of the codec's types, or a plain JSON value.
        reply_to: the address for an answer, where the sender wants one.
    """

    body: Any
    reply_to: str | None = None


class Codec:
    """Turns bodies into bytes and back.

    A type may declare `message_version: ClassVar[int]`, 1 unless declared, and a class method
    `upgrade_message(body, version)` that turns a body of an older version into today's.

    Args:
        types: attrs classes that bodies may be of; none: bodies are plain JSON values.

    Raises:
        MailboxError: two types have one name.
    """

    def __init__(self, *types: type[Any]) -> None:
        self._types = {kind.__name__: kind for kind in types}
        if len(self._types) < len(types):
            raise MailboxError("two message types of a mailbox have the same class name")
        self._converter = message_converter()

    def encode(self, body: object, *, reply_to: str | None = None) -> bytes:
        """Return the bytes of a message.

        Args:
            body: what it says.
            reply_to: address for the answer; None for no answer.

        Raises:
            MailboxError: `body` is of another type, or JSON can't express it.
        """
        kind = type(body)
        envelope: dict[str, Any] = {"v": VERSION}
        if self._types.get(kind.__name__) is kind:
            envelope |= {"type": kind.__name__, "version": _version(kind)}
        elif self._types and attrs.has(kind):
            raise MailboxError(f"this mailbox holds {self._named()}, not {kind.__name__}")
        try:
            envelope["body"] = self._converter.unstructure(body)
            if reply_to is not None:
                envelope["reply_to"] = reply_to
            return json.dumps(envelope, allow_nan=False, separators=(",", ":")).encode()
        except (TypeError, ValueError, RecursionError) as error:
            raise MailboxError(f"{kind.__name__} can't be sent as JSON: {error}") from error

    def decode(self, data: bytes) -> Envelope:
        """Return what a message holds.

        Args:
            data: its bytes.

        Raises:
            UndecodableMessage: the bytes are damaged, of an unknown type or version, or don't fit.
        """
        try:
            envelope = json.loads(data.decode())
        except (ValueError, RecursionError) as error:
            raise UndecodableMessage(f"not JSON: {error}") from error
        if not isinstance(envelope, dict) or "body" not in envelope:
            raise UndecodableMessage('not an envelope: {"v": 1, "body": …} is expected')
        if envelope.get("v") != VERSION:
            raise UndecodableMessage(f"envelope version {envelope.get('v')!r}, expected {VERSION}")
        return Envelope(self._body(envelope), _address(envelope.get("reply_to")))

    def _body(self, envelope: Mapping[str, Any]) -> Any:
        if not self._types:
            return envelope["body"]
        kind = self._kind(envelope.get("type"))
        body = _upgraded(kind, envelope["body"], envelope.get("version", 1))
        try:
            return self._converter.structure(body, kind)
        except Exception as error:
            problems = "; ".join(islice(structure_problems(error), 3))
            raise UndecodableMessage(f"not a {kind.__name__}: {problems}") from error

    def _kind(self, name: Any) -> type[Any]:
        if name is None and len(self._types) == 1:
            return next(iter(self._types.values()))
        if not isinstance(name, str) or name not in self._types:
            raise UndecodableMessage(f"type {name!r:.100}, expected {self._named()}")
        return self._types[name]

    def _named(self) -> str:
        return " or ".join(sorted(self._types))


def message_converter() -> Any:
    """Return the converter of messages: plain JSON, and no field that a type does not have."""
    return record_converter(marks=False, strict=True)


def _version(kind: type[Any]) -> int:
    return int(getattr(kind, "message_version", 1))


def _upgraded(kind: type[Any], body: Any, version: Any) -> Any:
    today = _version(kind)
    if version == today:
        return body
    upgrade = getattr(kind, "upgrade_message", None)
    if type(version) is not int or version > today or upgrade is None:
        raise UndecodableMessage(f"version {version!r:.20} of {kind.__name__}, expected {today}")
    try:
        return upgrade(body, version)
    except Exception as error:
        raise UndecodableMessage(
            f"version {version} of {kind.__name__} can't be upgraded: {error}"
        ) from error


def _address(value: Any) -> str | None:
    if value is None:
        return None
    if not isinstance(value, str) or len(value) > LONGEST_ADDRESS:
        raise UndecodableMessage(f"reply_to must be a text of at most {LONGEST_ADDRESS} characters")
    return value
