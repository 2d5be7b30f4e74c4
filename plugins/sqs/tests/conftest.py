"""moto's server on a loopback port, and a proxy whose connections can be cut."""

import contextlib
import os
import socket
import subprocess
import sys
import threading
import time
import uuid

import boto3
import pytest


def free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


class Proxy:
    """Passes bytes on, until `cut` closes every connection."""

    def __init__(self, target):
        self.target = target
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.open = set()
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                near, _ = self.listener.accept()
                far = socket.create_connection(("127.0.0.1", self.target))
                self.open |= {near, far}
                for pair in ((near, far), (far, near)):
                    threading.Thread(target=self._pass_on, args=pair, daemon=True).start()

    def _pass_on(self, source, sink):
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                sink.sendall(data)
        for one in (source, sink):
            one.close()
            self.open.discard(one)

    def cut(self):
        for one in list(self.open):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)


class Server:
    def __init__(self):
        self.port = free_port()
        code = "from moto.server import main; main()"
        command = [sys.executable, "-W", "ignore", "-c", code, "-H", "127.0.0.1"]
        self.process = subprocess.Popen(
            [*command, "-p", str(self.port)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self.proxy = None

    def wait(self):
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
