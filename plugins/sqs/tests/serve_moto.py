"""moto's server, whose threads look at a queue one at a time.

moto itself has no lock there: two calls may receive one message, and of two deletions at the same
time one may be undone. SQS rarely does the first, and never the second.
"""

import threading
import time

from moto.server import main
from moto.sqs.models import SQSBackend

LOOK = 0.05
lock = threading.RLock()


def locked(method):
    def call(*args, **kwargs):
        with lock:
            return method(*args, **kwargs)

    return call


def waiting(receive):
    """Wait between looks, and not while looking."""

    def call(self, queue_name, count, wait_seconds_timeout, *rest, **more):
        until = time.monotonic() + (wait_seconds_timeout or 0)
        while True:
            with lock:
                found = receive(self, queue_name, count, 0, *rest, **more)
            if found or time.monotonic() >= until:
                return found
            time.sleep(LOOK)

    return call


for name in ("delete_message", "change_message_visibility", "send_message"):
    setattr(SQSBackend, name, locked(getattr(SQSBackend, name)))
SQSBackend.receive_message = waiting(SQSBackend.receive_message)

if __name__ == "__main__":
    main()
