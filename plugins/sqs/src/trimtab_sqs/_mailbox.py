"""The mailbox: an SQS queue, and a second one for its dead letters."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import parse_qsl, urlsplit

import attrs
import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from trimtab_sqs._errors import LONGEST_LEASE, outcome_for, outcome_of
from trimtab_worker import (
    LEASE_CLOCK,
    BaseMailbox,
    DeadLetter,
    Delivery,
    Extension,
    Granted,
    Lost,
    MailboxError,
    MailboxFacts,
    MailboxStats,
)

if TYPE_CHECKING:
    from trimtab import Clock

Body = TypeVar("Body")

TIMEOUT = 5.0
LONGEST_POLL = 20
LONGEST_DELAY = 900
BATCH = 10
PEEK = 30
"""Seconds for which dead letters are hidden while they are looked through."""
COUNTS = (
    "ApproximateNumberOfMessages",
    "ApproximateNumberOfMessagesNotVisible",
    "ApproximateNumberOfMessagesDelayed",
)


@attrs.frozen
class Receipt:
    """A delivery: the handle of this receipt, and what its dead letter needs."""

    handle: str
    body: str = attrs.field(repr=False)
    deliveries: int


class SqsMailbox(BaseMailbox[Body]):
    """A mailbox on a standard SQS queue.

    SQS has no fence: a worker whose lease was lost can still acknowledge the message, and its
    extension may be accepted; a keeper judges by its own clock. No lease passes 12 hours after
    receipt. Dead letters lie in a second queue, made when it is first needed.

    Args:
        queue_url: of the queue.
        body: attrs class that bodies are of, or several; None: plain JSON values.
        client: a boto3 client of SQS; made from the environment where None. Its read timeout must
            exceed 20 seconds for long polls.
        dead: name of the queue of dead letters; that of the queue with ``-dead`` where None.
        clock: where waiting is measured.
    """

    facts = MailboxFacts(
        engine="SQS",
        fenced=False,
        reports_loss=False,
        max_total=LONGEST_LEASE,
        max_grant=LONGEST_LEASE,
        whole_seconds=True,
        batch=BATCH,
        call_timeout=TIMEOUT,
        max_bytes=262_144,
    )

    def __init__(
        self,
        queue_url: str,
        body: type[Body] | Sequence[type[Any]] | None = None,
        *,
        client: Any = None,
        dead: str | None = None,
        clock: Clock = LEASE_CLOCK,
    ) -> None:
        super().__init__(body, clock=clock)
        self.queue_url = queue_url
        self._client = client or make_client()
        self._poller = self._client if client else make_client(long_polls=True)
        self._dead = dead or f"{queue_url.rstrip('/').rpartition('/')[2]}-dead"
        self._dead_url: str | None = None

    @classmethod
    def from_url(cls, url: str, body: Any = None) -> SqsMailbox[Any]:
        """Open ``sqs://QUEUE?region=eu-west-1``.

        Parameters: ``region``, ``endpoint`` (of another service that speaks SQS), ``dead`` (name
        of the queue of dead letters). Credentials come from the environment, as boto3 finds them.

        Raises:
            MailboxError: the queue does not exist, or AWS can't be reached.
        """
        parts = urlsplit(url)
        options = dict(parse_qsl(parts.query))
        region, endpoint = options.pop("region", None), options.pop("endpoint", None)
        dead = options.pop("dead", None)
        if options or not parts.netloc or parts.path.strip("/"):
            raise MailboxError(
                f"{url!r} names no queue: write sqs://QUEUE?region=REGION; other parameters are "
                "endpoint and dead"
            )
        client = make_client(region, endpoint)
        with _errors(parts.netloc):
            queue_url = client.get_queue_url(QueueName=parts.netloc)["QueueUrl"]
        mailbox = cls(queue_url, body, client=client, dead=dead)
        mailbox._poller = make_client(region, endpoint, long_polls=True)
        return mailbox

    # Messages.

    def put(self, data: bytes, delay: float) -> str:
        if delay > LONGEST_DELAY:
            raise MailboxError(f"SQS delays a message by {LONGEST_DELAY} s at most, not {delay:g}")
        with _errors(self.queue_url):
            sent = self._client.send_message(
                QueueUrl=self.queue_url, MessageBody=data.decode(), DelaySeconds=math.ceil(delay)
            )
        return str(sent["MessageId"])

    def take(self, count: int, visibility: float) -> Sequence[Delivery]:
        return self._receive(count, visibility, 0)

    def poll(self, count: int, visibility: float, wait: float) -> tuple[float, Sequence[Delivery]]:
        """Wait in SQS: a long poll of at most 20 seconds, and a quarter of the lease."""
        until = self.clock.monotonic() + wait
        while (left := until - self.clock.monotonic()) >= 1:
            asked = self.clock.monotonic()
            longest = max(1, min(LONGEST_POLL, int(left), int(visibility / 4)))
            found = self._receive(count, visibility, longest)
            if found:
                return asked, found
        return super().poll(count, visibility, max(0.0, left))

    def _receive(self, count: int, visibility: float, wait: int) -> Sequence[Delivery]:
        with _errors(self.queue_url):
            answer = self._poller.receive_message(
                QueueUrl=self.queue_url,
                MaxNumberOfMessages=max(1, min(BATCH, count)),
                VisibilityTimeout=_whole(visibility),
                WaitTimeSeconds=wait,
                AttributeNames=["ApproximateReceiveCount", "SentTimestamp"],
            )
        return [_delivery(one) for one in answer.get("Messages", [])]

    def delete(self, receipt: Receipt) -> bool:
        try:
            self._client.delete_message(QueueUrl=self.queue_url, ReceiptHandle=receipt.handle)
        except (BotoCoreError, ClientError) as error:
            return _refused(error, self.queue_url)
        return True

    def release(self, receipt: Receipt, delay: float) -> bool:
        try:
            self._change(receipt, min(LONGEST_LEASE, math.ceil(delay)))
        except (BotoCoreError, ClientError) as error:
            return _refused(error, self.queue_url)
        return True

    def prolong(self, receipt: Receipt, seconds: float) -> Extension:
        whole = _whole(seconds)
        try:
            self._change(receipt, whole)
        except (BotoCoreError, ClientError) as error:
            return outcome_of(error)
        return Granted(whole)

    def _change(self, receipt: Receipt, seconds: float) -> None:
        self._client.change_message_visibility(
            QueueUrl=self.queue_url, ReceiptHandle=receipt.handle, VisibilityTimeout=int(seconds)
        )

    def extend_many(self, asked: Sequence[tuple[Any, float]]) -> Sequence[Extension]:
        """Extend up to ten leases in one call; each has an outcome of its own."""
        entries = [
            {
                "Id": str(at),
                "ReceiptHandle": message.receipt.handle,
                "VisibilityTimeout": _whole(seconds),
            }
            for at, (message, seconds) in enumerate(asked)
        ]
        outcomes: dict[str, Extension] = {}
        for start in range(0, len(entries), BATCH):
            outcomes |= self._extended(entries[start : start + BATCH])
        return [outcomes[entry["Id"]] for entry in entries]

    def _extended(self, entries: Sequence[dict[str, Any]]) -> dict[str, Extension]:
        try:
            answer = self._client.change_message_visibility_batch(
                QueueUrl=self.queue_url, Entries=entries
            )
        except (BotoCoreError, ClientError) as error:
            return dict.fromkeys((entry["Id"] for entry in entries), outcome_of(error))
        outcomes: dict[str, Extension] = {
            entry["Id"]: Granted(entry["VisibilityTimeout"]) for entry in entries
        }
        for failed in answer.get("Failed", []):
            outcomes[failed["Id"]] = outcome_for(failed.get("Code", ""), failed.get("Message", ""))
        return outcomes

    # Dead letters.

    def discard(self, receipt: Receipt, reason: str) -> bool:
        facts = json.dumps({"reason": reason, "deliveries": receipt.deliveries})
        with _errors(self._dead):
            self._client.send_message(
                QueueUrl=self._dead_queue(),
                MessageBody=receipt.body,
                MessageAttributes={"trimtab": {"DataType": "String", "StringValue": facts}},
            )
        return self.delete(receipt)

    def _dead_queue(self) -> str:
        if self._dead_url is None:
            try:
                found = self._client.get_queue_url(QueueName=self._dead)
            except self._client.exceptions.QueueDoesNotExist:
                retention = {"MessageRetentionPeriod": "1209600"}
                found = self._client.create_queue(QueueName=self._dead, Attributes=retention)
            self._dead_url = str(found["QueueUrl"])
        return self._dead_url

    def dead_letters(self, limit: int = 100) -> Sequence[DeadLetter]:
        """Return dead letters, in the order of SQS; they are hidden from others meanwhile."""
        found: list[DeadLetter] = []

        def keep(raw: dict[str, Any]) -> bool:
            found.append(_letter(raw))
            return False

        self._look_through(keep, lambda: len(found) >= limit)
        return found[:limit]

    def requeue(self, ids: Iterable[str] | None = None) -> int:
        def send(raw: dict[str, Any]) -> bool:
            self._client.send_message(QueueUrl=self.queue_url, MessageBody=raw["Body"])
            return True

        return self._remove(ids, send)

    def drop(self, ids: Iterable[str] | None = None) -> int:
        return self._remove(ids, lambda _: True)

    def _remove(self, ids: Iterable[str] | None, act: Callable[[dict[str, Any]], bool]) -> int:
        wanted = None if ids is None else set(ids)
        removed: set[str] = set()

        def removes(raw: dict[str, Any]) -> bool:
            name = raw["MessageId"]
            if wanted is not None and name not in wanted:
                return False
            removed.add(name)
            return act(raw)

        self._look_through(removes, lambda: wanted is not None and removed >= wanted)
        return len(removed)

    def _look_through(
        self, act: Callable[[dict[str, Any]], bool], enough: Callable[[], bool]
    ) -> None:
        """Receive every dead letter once; delete those for which `act` is true, show the rest."""
        with _errors(self._dead):
            queue, seen = self._dead_queue(), set()
            shown: list[str] = []
            while not enough():
                batch = self._client.receive_message(
                    QueueUrl=queue,
                    MaxNumberOfMessages=BATCH,
                    VisibilityTimeout=PEEK,
                    AttributeNames=["SentTimestamp"],
                    MessageAttributeNames=["trimtab"],
                ).get("Messages", [])
                fresh = [raw for raw in batch if raw["MessageId"] not in seen]
                if not fresh:
                    break
                for raw in fresh:
                    seen.add(raw["MessageId"])
                    if act(raw):
                        self._client.delete_message(
                            QueueUrl=queue, ReceiptHandle=raw["ReceiptHandle"]
                        )
                    else:
                        shown.append(raw["ReceiptHandle"])
            for handle in shown:
                self._client.change_message_visibility(
                    QueueUrl=queue, ReceiptHandle=handle, VisibilityTimeout=0
                )

    # Counts.

    def stats(self) -> MailboxStats:
        """Count the messages, approximately; those given back with a delay are in flight."""
        with _errors(self.queue_url):
            waiting, in_flight, delayed = self._counts(self.queue_url)
            dead = sum(self._counts(self._dead_queue()))
        return MailboxStats(waiting=waiting, in_flight=in_flight, delayed=delayed, dead=dead)

    def _counts(self, queue: str) -> tuple[int, int, int]:
        answer = self._client.get_queue_attributes(QueueUrl=queue, AttributeNames=list(COUNTS))
        waiting, in_flight, delayed = (int(answer["Attributes"][name]) for name in COUNTS)
        return waiting, in_flight, delayed

    def close(self) -> None:
        self._client.close()
        self._poller.close()


def make_client(
    region: str | None = None, endpoint: str | None = None, *, long_polls: bool = False
) -> Any:
    """Return a client whose calls end in time: retries are the keeper's and the loop's matter."""
    config = Config(
        connect_timeout=TIMEOUT,
        read_timeout=LONGEST_POLL + TIMEOUT if long_polls else TIMEOUT,
        retries={"total_max_attempts": 1},
    )
    try:
        return boto3.client("sqs", region_name=region, endpoint_url=endpoint, config=config)
    except (BotoCoreError, ValueError) as error:
        raise MailboxError(f"no client for SQS: {error}") from error


@contextmanager
def _errors(where: str) -> Iterator[None]:
    try:
        yield
    except (BotoCoreError, ClientError) as error:
        raise MailboxError(f"SQS queue {where}: {error}") from error


def _refused(error: Exception, where: str) -> bool:
    """Return False where the lease is gone.

    Raises:
        MailboxError: for any other error.
    """
    if isinstance(outcome_of(error), Lost):
        return False
    raise MailboxError(f"SQS queue {where}: {error}") from error


def _whole(seconds: float) -> int:
    return int(min(LONGEST_LEASE, max(1, math.ceil(seconds))))


def _delivery(raw: dict[str, Any]) -> Delivery:
    deliveries = int(raw["Attributes"]["ApproximateReceiveCount"])
    return Delivery(
        raw["MessageId"],
        Receipt(raw["ReceiptHandle"], raw["Body"], deliveries),
        raw["Body"].encode(),
        deliveries,
        _time(raw),
    )


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
        _time(raw),
    )


def _time(raw: dict[str, Any]) -> datetime:
    return datetime.fromtimestamp(int(raw["Attributes"]["SentTimestamp"]) / 1000, UTC)
