"""Mailboxes on Amazon SQS."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import parse_qsl, urlsplit

import attrs
import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from trimtab.hosting import names_known
from trimtab_sqs._dead import DeadQueue, time_of
from trimtab_worker import (
    LEASE_CLOCK,
    Capped,
    DeadLetter,
    Delivery,
    Extension,
    Granted,
    Lost,
    Mailbox,
    MailboxError,
    MailboxFacts,
    MailboxStats,
    Unknown,
)

if TYPE_CHECKING:
    from trimtab import Clock

__all__ = ["SqsMailbox"]


LONGEST_LEASE = 43_200.0

GONE = frozenset(
    {
        "AccessDenied",
        "AccessDeniedException",
        "InvalidAddress",
        "InvalidSecurity",
        "MessageNotInflight",
        "NonExistentQueue",
        "QueueDeletedRecently",
        "QueueDoesNotExist",
        "ReceiptHandleIsInvalid",
        "UnsupportedOperation",
    }
)
"""Codes, without their prefix ``AWS.SimpleQueueService.``: a retry can't help."""

TEXTS: Mapping[str, Extension] = {
    "beyond the limit": Capped(LONGEST_LEASE),
    "does not exist or is not available": Lost("the message is gone, or its lease has expired"),
    "receipt handle has expired": Lost("the receipt handle has expired"),
}
"""What ``InvalidParameterValue`` says, in small letters, and what it means."""


@contextmanager
def errors(where: str) -> Iterator[None]:
    """Turn errors of the client into `MailboxError`, with the queue's name."""
    try:
        yield
    except (BotoCoreError, ClientError) as error:
        raise MailboxError(f"SQS queue {where}: {error}") from error


def outcome_of(error: Exception) -> Extension:
    """Return what an error of a call that extends a lease means."""
    if not isinstance(error, ClientError):
        return Unknown(f"{type(error).__name__}: {error}")
    details: Mapping[str, Any] = error.response.get("Error", {})
    return outcome_for(str(details.get("Code", "")), str(details.get("Message", "")))


def outcome_for(code: str, message: str) -> Extension:
    """As `outcome_of`, for the code and the message, as entries of a batch carry them."""
    short = code.rpartition(".")[2]
    lowered = message.lower()
    for text, meaning in TEXTS.items():
        if text in lowered:
            return meaning
    if short in GONE:
        return Lost(f"{short}: {message}" if message else short)
    return Unknown(f"{short or 'error'}: {message}")


Body = TypeVar("Body")

CONNECT, READ = 2.0, 5.0
"""Seconds until a call is given up: a connection, then the answer."""
LONGEST_POLL = 20
LONGEST_DELAY = 900
BATCH = 10
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


@names_known()
class SqsMailbox(Mailbox[Body]):
    """A mailbox on a standard SQS queue.

    SQS itself has no fence: it lets a worker whose lease was lost delete the message under
    another one. So a delivery is over for this mailbox when its lease has ended by the clock of
    this process, which goes on while the machine is suspended: nothing is deleted, returned or
    extended in its name afterwards. No lease passes 12 hours after receipt. Dead letters lie in a
    second queue, made when it is first needed.

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
        batch=BATCH,
        call_timeout=CONNECT + READ,
        max_bytes=1_048_576,
        peeks=False,
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
        name = dead or f"{queue_url.rstrip('/').rpartition('/')[2]}-dead"
        self._dead = DeadQueue(self._client, name)

    @classmethod
    def from_url(cls, url: str, body: Any = None) -> SqsMailbox[Any]:
        """Open ``sqs://QUEUE?region=eu-west-1``.

        Credentials come from the environment, as boto3 finds them.

        Args:
            url: with the parameters ``region``, ``endpoint`` (of another service that speaks SQS)
                and ``dead`` (name of the queue of dead letters).
            body: type of the bodies; None for anything that JSON holds.

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
        with errors(parts.netloc):
            queue_url = client.get_queue_url(QueueName=parts.netloc)["QueueUrl"]
        mailbox = cls(queue_url, body, client=client, dead=dead)
        mailbox._poller = make_client(region, endpoint, long_polls=True)
        return mailbox

    # Messages.

    def put(self, data: bytes, delay: float) -> str:
        if delay > LONGEST_DELAY:
            raise MailboxError(f"SQS delays a message by {LONGEST_DELAY} s at most, not {delay:g}")
        with errors(self.queue_url):
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
        with errors(self.queue_url):
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

    def prolong_many(self, asked: Sequence[tuple[Receipt, float]]) -> Sequence[Extension]:
        """Extend up to ten leases in one call; each has an outcome of its own."""
        entries: list[dict[str, Any]] = [
            {
                "Id": str(at),
                "ReceiptHandle": receipt.handle,
                "VisibilityTimeout": _whole(seconds),
            }
            for at, (receipt, seconds) in enumerate(asked)
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
        with errors(self._dead.name):
            self._dead.add(receipt.body, reason, receipt.deliveries)
        return self.delete(receipt)

    def dead_letters(self, limit: int = 100) -> Sequence[DeadLetter]:
        """Return dead letters, in the order of SQS; they are hidden from others meanwhile."""
        with errors(self._dead.name):
            return self._dead.letters(limit)

    def requeue(self, ids: Iterable[str] | None = None) -> int:
        def send(body: str) -> None:
            self._client.send_message(QueueUrl=self.queue_url, MessageBody=body)

        with errors(self._dead.name):
            return self._dead.remove(ids, send)

    def drop(self, ids: Iterable[str] | None = None) -> int:
        with errors(self._dead.name):
            return self._dead.remove(ids)

    # Counts.

    def stats(self) -> MailboxStats:
        """Count the messages, approximately; those given back with a delay are in flight."""
        with errors(self.queue_url):
            waiting, in_flight, delayed = self._counts(self.queue_url)
            dead = sum(self._counts(self._dead.url()))
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
        connect_timeout=CONNECT,
        read_timeout=LONGEST_POLL + READ if long_polls else READ,
        retries={"total_max_attempts": 1},
    )
    try:
        return boto3.client("sqs", region_name=region, endpoint_url=endpoint, config=config)
    except (BotoCoreError, ValueError) as error:
        raise MailboxError(f"no client for SQS: {error}") from error


def _refused(error: Exception, where: str) -> bool:
    """Return False if the lease is gone.

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
        time_of(raw),
    )
