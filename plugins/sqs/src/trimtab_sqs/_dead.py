"""The queue of dead letters: looked through from end to end, since SQS has no list."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import Any

from trimtab_worker import DeadLetter

BATCH = 10
PEEK = 30
"""Seconds for which dead letters are hidden while they are looked through."""
LONGEST_RETENTION = "1209600"


class DeadQueue:
    """A queue of dead letters, made when it is first needed.

    Args:
        client: of SQS.
        name: of the queue.
    """

    def __init__(self, client: Any, name: str) -> None:
        self.name = name
        self._client = client
        self._url: str | None = None

    def url(self) -> str:
        """Return the URL of the queue; make the queue where it does not exist."""
        if self._url is None:
            try:
                found = self._client.get_queue_url(QueueName=self.name)
            except self._client.exceptions.QueueDoesNotExist:
                retention = {"MessageRetentionPeriod": LONGEST_RETENTION}
                found = self._client.create_queue(QueueName=self.name, Attributes=retention)
            self._url = str(found["QueueUrl"])
        return self._url

    def add(self, body: str, reason: str, deliveries: int) -> None:
        """Store a dead letter."""
        facts = json.dumps({"reason": reason, "deliveries": deliveries})
        self._client.send_message(
            QueueUrl=self.url(),
            MessageBody=body,
            MessageAttributes={"trimtab": {"DataType": "String", "StringValue": facts}},
        )

    def letters(self, limit: int) -> list[DeadLetter]:
        """Return up to `limit` dead letters; they stay where they are."""
        found: list[DeadLetter] = []

        def keep(raw: dict[str, Any]) -> bool:
            found.append(_letter(raw))
            return False

        self._look_through(keep, lambda: len(found) >= limit)
        return found[:limit]

    def remove(self, ids: Iterable[str] | None, act: Callable[[str], object] | None = None) -> int:
        """Delete dead letters (None: all), each after `act` with its body; return how many."""
        wanted = None if ids is None else set(ids)
        removed: set[str] = set()

        def removes(raw: dict[str, Any]) -> bool:
            name = raw["MessageId"]
            if wanted is not None and name not in wanted:
                return False
            if act is not None:
                act(raw["Body"])
            removed.add(name)
            return True

        self._look_through(removes, lambda: wanted is not None and removed >= wanted)
        return len(removed)

    def _look_through(
        self, removes: Callable[[dict[str, Any]], bool], enough: Callable[[], bool]
    ) -> None:
        """Receive every dead letter once; delete those that `removes` names, show the rest."""
        seen: set[str] = set()
        shown: list[str] = []
        try:
            while not enough() and (fresh := self._unseen(seen)):
                for raw in fresh:
                    seen.add(raw["MessageId"])
                    shown.append(raw["ReceiptHandle"])
                    if removes(raw):
                        self._client.delete_message(QueueUrl=self.url(), ReceiptHandle=shown.pop())
        finally:
            for handle in shown:
                self._client.change_message_visibility(
                    QueueUrl=self.url(), ReceiptHandle=handle, VisibilityTimeout=0
                )

    def _unseen(self, seen: set[str]) -> list[dict[str, Any]]:
        batch = self._client.receive_message(
            QueueUrl=self.url(),
            MaxNumberOfMessages=BATCH,
            VisibilityTimeout=PEEK,
            AttributeNames=["SentTimestamp"],
            MessageAttributeNames=["trimtab"],
        )
        return [raw for raw in batch.get("Messages", []) if raw["MessageId"] not in seen]


def _letter(raw: dict[str, Any]) -> DeadLetter:
    attribute = raw.get("MessageAttributes", {}).get("trimtab", {}).get("StringValue", "{}")
    try:
        facts = json.loads(attribute)
    except ValueError:
        facts = {}
    return DeadLetter(
        raw["MessageId"],
        raw["Body"].encode(),
        str(facts.get("reason", "unknown")),
        int(facts.get("deliveries", 0)),
        time_of(raw),
    )


def time_of(raw: dict[str, Any]) -> datetime:
    """Return when a message was sent."""
    return datetime.fromtimestamp(int(raw["Attributes"]["SentTimestamp"]) / 1000, UTC)
