"""The mailbox on moto's server; error texts through botocore's stubber."""

import sys

import attrs
import pytest
from botocore.exceptions import ConnectTimeoutError, ReadTimeoutError
from botocore.stub import Stubber

from trimtab import Heartbeat
from trimtab_sqs import SqsMailbox, make_client, outcome_of
from trimtab_worker import (
    CalibrationError,
    Capped,
    Granted,
    LeaseExtender,
    LeaseExtenderConfig,
    Lost,
    MailboxError,
    MainLoopConfig,
    Unknown,
    calibrate,
    open_mailbox,
)
from trimtab_worker.testing import MailboxConformance, network_faults, run_chaos

pytestmark = pytest.mark.slow

QUEUE = "https://sqs.us-east-1.amazonaws.com/123456789012/agents"


class TestSqs(MailboxConformance):
    """What every mailbox must do, as far as moto's server knows SQS."""

    second = 1.0


@pytest.fixture
def mailbox(url):
    with open_mailbox(url) as mailbox:
        yield mailbox


@pytest.fixture
def stubbed(server):
    client = make_client("us-east-1")
    with Stubber(client) as stubber:
        yield SqsMailbox(QUEUE, client=client), stubber


def message_of(mailbox, stubber, count=1):
    raw = [
        {
            "MessageId": f"m{n}",
            "ReceiptHandle": f"h{n}",
            "Body": '{"v": 1, "body": 1}',
            "Attributes": {"ApproximateReceiveCount": "1", "SentTimestamp": "1700000000000"},
        }
        for n in range(count)
    ]
    stubber.add_response("receive_message", {"Messages": raw})
    return mailbox.receive(count)


# C9, C10: every modelled error once, with the texts that SQS sends.
ERRORS = [
    ("ReceiptHandleIsInvalid", "The input receipt handle is invalid.", Lost),
    ("AWS.SimpleQueueService.MessageNotInflight", "", Lost),
    ("MessageNotInflight", "The specified message isn't in flight.", Lost),
    ("AWS.SimpleQueueService.NonExistentQueue", "The specified queue does not exist.", Lost),
    ("QueueDoesNotExist", "The specified queue doesn't exist.", Lost),
    ("AccessDenied", "Access to the resource is denied.", Lost),
    ("InvalidAddress", "The specified ID is invalid.", Lost),
    ("InvalidSecurity", "The request was not made over HTTPS.", Lost),
    ("AWS.SimpleQueueService.UnsupportedOperation", "", Lost),
    (
        "InvalidParameterValue",
        "Reason: Message does not exist or is not available for visibility timeout change.",
        Lost,
    ),
    (
        "InvalidParameterValue",
        "Value abc for parameter ReceiptHandle is invalid. Reason: The receipt handle has expired.",
        Lost,
    ),
    (
        "InvalidParameterValue",
        "Reason: Total VisibilityTimeout for the message is beyond the limit [43200 seconds].",
        Capped,
    ),
    ("RequestThrottled", "Rate exceeded", Unknown),
    ("ThrottlingException", "Rate exceeded", Unknown),
    ("ServiceUnavailable", "", Unknown),
    ("InternalError", "", Unknown),
    ("InvalidParameterValue", "something new", Unknown),
    ("SomethingThatIsNotKnownYet", "", Unknown),
]


@pytest.mark.parametrize(("code", "text", "meaning"), ERRORS)
def test_c9_c10_each_error_of_an_extension_has_its_meaning(stubbed, code, text, meaning):
    mailbox, stubber = stubbed
    (message,) = message_of(mailbox, stubber)
    stubber.add_client_error("change_message_visibility", code, text, http_status_code=400)

    assert isinstance(message.extend(60), meaning)


@pytest.mark.parametrize(
    "error",
    [
        ReadTimeoutError(endpoint_url=QUEUE),
        ConnectTimeoutError(endpoint_url=QUEUE),
        RuntimeError("odd"),
    ],
)
def test_c10_a_timeout_teaches_nothing(error):
    assert isinstance(outcome_of(error), Unknown)


def test_d6_each_entry_of_a_batch_has_its_outcome(stubbed):
    mailbox, stubber = stubbed
    messages = message_of(mailbox, stubber, 10)
    failed = [
        {"Id": "3", "SenderFault": True, "Code": "ReceiptHandleIsInvalid", "Message": "no"},
        {"Id": "7", "SenderFault": False, "Code": "InternalError", "Message": "again"},
    ]
    good = [{"Id": str(n)} for n in range(10) if n not in (3, 7)]
    stubber.add_response("change_message_visibility_batch", {"Successful": good, "Failed": failed})
    kinds = [type(one) for one in mailbox.extend_many([(one, 60.0) for one in messages])]

    assert kinds == [Granted] * 3 + [Lost] + [Granted] * 3 + [Unknown] + [Granted] * 2


def test_d6_a_batch_that_fails_whole_is_an_outcome_for_each(stubbed):
    mailbox, stubber = stubbed
    messages = message_of(mailbox, stubber, 3)
    stubber.add_client_error("change_message_visibility_batch", "RequestThrottled", "slow down")
    outcomes = mailbox.extend_many([(one, 60.0) for one in messages])

    assert [type(one) for one in outcomes] == [Unknown] * 3


def test_more_than_ten_leases_take_several_calls(mailbox):
    for number in range(12):
        mailbox.send(number)
    messages = []
    while len(messages) < 12:
        messages += mailbox.receive(10, wait=5)

    assert [type(one) for one in mailbox.extend_many([(one, 60.0) for one in messages])] == [
        Granted
    ] * 12


@pytest.mark.parametrize("call", ["ack", "nack"])
def test_an_acknowledgement_for_a_lost_lease_is_refused_and_others_raise(stubbed, call):
    mailbox, stubber = stubbed
    operation = {"ack": "delete_message", "nack": "change_message_visibility"}[call]
    (message,) = message_of(mailbox, stubber)
    stubber.add_client_error(operation, "ReceiptHandleIsInvalid", "no")
    stubber.add_client_error(operation, "ServiceUnavailable", "later")

    assert not getattr(message, call)()
    with pytest.raises(MailboxError, match="ServiceUnavailable"):
        getattr(message, call)()


def test_b1_past_12_hours_is_an_error_of_the_engine(mailbox):
    """Not a clamp: a lease of 12 hours can't be extended to 12 hours from now."""
    mailbox.send("x")
    (message,) = mailbox.receive(visibility=10)

    assert mailbox.facts.max_total == 43_200
    assert isinstance(message.extend(43_200), Capped | Granted)
    assert isinstance(message.extend(99_999), Capped | Granted)


def test_b_work_longer_than_12_hours_is_refused():
    config = MainLoopConfig(longest_silence=60, max_processing_time=50_000)
    with pytest.raises(CalibrationError, match="no lease lasts longer than 43200 s"):
        calibrate(config, SqsMailbox.facts)


def test_seconds_are_rounded_up_to_whole_ones(stubbed):
    mailbox, stubber = stubbed
    (message,) = message_of(mailbox, stubber)
    expected = {"QueueUrl": QUEUE, "ReceiptHandle": "h0", "VisibilityTimeout": 61}
    stubber.add_response("change_message_visibility", {}, expected)

    assert message.extend(60.2) == Granted(61)


def test_a_keeper_extends_a_real_lease(mailbox):
    import time

    mailbox.send("x")
    (message,) = mailbox.receive(visibility=3)
    config = LeaseExtenderConfig(interval=0.5, extension=3, margin=0.2)
    heartbeat = Heartbeat()
    with LeaseExtender(config).attach(message, heartbeat) as lease:
        for _ in range(50):
            heartbeat.beat()
            time.sleep(0.1)
        assert not lease.lost
        assert list(mailbox.receive()) == []
    assert lease.extensions > 2


@pytest.mark.parametrize(
    "url",
    ["sqs://", "sqs://a/b", "sqs://queue?typo=1", "sqs:queue"],
)
def test_a_url_that_names_no_queue_is_refused(url):
    with pytest.raises(MailboxError, match="names no queue"):
        SqsMailbox.from_url(url)


def test_a_queue_that_does_not_exist_is_named(server):
    with pytest.raises(MailboxError, match=r"SQS queue nothing.*NonExistentQueue"):
        open_mailbox(f"sqs://nothing?region=us-east-1&endpoint={server.endpoint}")


def test_a_delay_that_sqs_does_not_know_is_refused(mailbox):
    with pytest.raises(MailboxError, match="900 s at most"):
        mailbox.send("x", delay=901)


def test_dead_letters_stay_readable_after_they_were_looked_at(mailbox):
    for number in range(15):
        mailbox.send(number)
    while messages := mailbox.receive(10):
        for message in messages:
            mailbox.bury(message, "no")

    assert len(mailbox.dead_letters()) == 15
    assert len(mailbox.dead_letters()) == 15
    assert attrs.asdict(mailbox.stats())["dead"] == 15


@pytest.mark.timeout(1800)
def test_chaos_of_workers_and_network(url, server, capsys):
    """moto keeps queues in memory: it can't be restarted."""
    faults = network_faults(server.proxy, 8.0)
    report = run_chaos(
        url,
        direct=url.replace(str(server.proxy.port), str(server.port)),
        faults=faults,
        backlog=300,  # moto looks at all that wait
    )
    with capsys.disabled():
        sys.stdout.write(f"\nsqs: {report}\n")

    assert report.broken == {}
    assert report.redelivered > 0
    assert set(report.faults) == {"kill", "stop", "end", "orphan", *faults}
