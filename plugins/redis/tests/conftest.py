"""A Redis server of the tests' own, on a loopback port."""

import os
import shutil
import socket
import subprocess
import time

import pytest


class Server:
    """A server that keeps what it was told: every change is on disk before its answer."""

    def __init__(self, folder):
        import redis  # heavy, and the quick tests load this file

        self.folder = folder
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.process = None
        self.client = redis.Redis(port=self.port)

    def start(self):
        from redis.exceptions import RedisError

        command = ["redis-server", "--port", str(self.port), "--bind", "127.0.0.1"]
        command += ["--dir", str(self.folder), "--save", "", "--appendonly", "yes"]
        command += ["--appendfsync", "always", "--daemonize", "no"]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        until = time.monotonic() + 20
        while True:
            try:
                return self.client.ping()
            except RedisError:
                if time.monotonic() > until:
                    raise
                time.sleep(0.02)

    def stop(self):
        self.process.kill()
        self.process.wait()

    def restart(self):
        self.stop()
        self.start()

    def cut(self):
        """Close all connections but this one."""
        self.client.client_kill_filter(_type="normal", skipme=True)

    def url(self, queue):
        return f"redis://127.0.0.1:{self.port}/0?queue={queue}"


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    if shutil.which("redis-server") is None:
        if os.environ.get("CI"):
            pytest.fail("redis-server is not installed, and CI must have it")
        pytest.skip("redis-server is not installed (Debian package redis-server)")
    server = Server(tmp_path_factory.mktemp("redis"))
    server.start()
    yield server
    server.stop()


@pytest.fixture
def url(server, request):
    server.client.flushall()
    return server.url("tests")
