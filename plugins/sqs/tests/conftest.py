"""moto's server on a loopback port, behind a proxy."""

import contextlib
import os
import socket
import subprocess
import sys
import time
import uuid
from pathlib import Path

import pytest


def free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


class Server:
    def __init__(self):
        self.port = free_port()
        script = str(Path(__file__).with_name("serve_moto.py"))
        command = [sys.executable, "-W", "ignore", script, "-H", "127.0.0.1"]
        self.process = subprocess.Popen(
            [*command, "-p", str(self.port)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self.proxy = None

    def wait(self):
        from trimtab_worker.testing import Proxy

        until = time.monotonic() + 60
        while time.monotonic() < until:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port)):
                self.proxy = Proxy(self.port)
                return
            time.sleep(0.1)
        raise TimeoutError("moto's server does not answer")

    def cut(self):
        self.proxy.cut()

    @property
    def endpoint(self):
        return f"http://127.0.0.1:{self.proxy.port}"

    def client(self):
        import boto3  # heavy, and the quick tests load this file

        return boto3.client("sqs", endpoint_url=self.endpoint, region_name="us-east-1")


@pytest.fixture(scope="session")
def server():
    with pytest.MonkeyPatch.context() as patch:
        for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
            patch.setenv(name, "testing")
        for name in ("AWS_PROFILE", "AWS_ENDPOINT_URL", "HTTP_PROXY", "http_proxy"):
            patch.delenv(name, raising=False)
        patch.setenv("AWS_EC2_METADATA_DISABLED", "true")
        patch.setenv("AWS_CONFIG_FILE", os.devnull)
        server = Server()
        server.wait()
        yield server
        server.process.kill()
        server.process.wait()


@pytest.fixture
def url(server):
    name = f"queue-{uuid.uuid4().hex[:8]}"
    client = server.client()
    client.create_queue(QueueName=name)
    client.close()
    return f"sqs://{name}?region=us-east-1&endpoint={server.endpoint}"
