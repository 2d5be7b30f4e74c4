"""A Redis server of the tests' own, and Celery workers on it."""

import contextlib
import importlib.util
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

HERE = Path(__file__).parent


@pytest.fixture(scope="session")
def redis_url(tmp_path_factory):
    if shutil.which("redis-server") is None:
        if os.environ.get("CI"):
            pytest.fail("redis-server is not installed, and CI must have it")
        pytest.skip("redis-server is not installed (Debian package redis-server)")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = ["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--save", ""]
    folder = tmp_path_factory.mktemp("redis")
    with subprocess.Popen([*command, "--dir", str(folder)], stdout=subprocess.DEVNULL) as server:
        until = time.monotonic() + 20
        while True:
            with contextlib.suppress(OSError):
                socket.create_connection(("127.0.0.1", port)).close()
                break
            assert time.monotonic() < until
            time.sleep(0.05)
        yield f"redis://127.0.0.1:{port}/0"
        server.kill()


class Workers:
    """The application, and worker processes of it."""

    def __init__(self, app, journal):
        self.app = app
        self._journal = journal
        self.running = []

    def start(self, *options):
        """Start a worker with one child process, in a process group of its own."""
        command = [sys.executable, "-m", "celery", "-A", "agents_on_celery", "worker"]
        command += ["-c", "1", "-n", f"w{len(self.running)}@here", "--without-gossip"]
        worker = subprocess.Popen(
            [*command, "--without-mingle", "--loglevel", "ERROR", *options],
            cwd=HERE,
            start_new_session=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self.running.append(worker)
        return worker

    def signal(self, worker, number):
        """Send a signal to a worker and its child."""
        os.killpg(worker.pid, number)

    def journal(self, what, kind=None):
        lines = self._journal.read_text().splitlines() if self._journal.exists() else []
        entries = [json.loads(line) for line in lines]
        return [one for one in entries if one["what"] == what and kind in (None, one.get("kind"))]

    def wait_for(self, what, kind, count=1, seconds=120):
        """Wait until the journal has so many entries."""
        until = time.monotonic() + seconds
        while len(self.journal(what, kind)) < count:
            assert time.monotonic() < until, f"no {what} of {kind}"
            time.sleep(0.1)

    def say(self, word):
        """Let the agents go on that wait for this word."""
        Path(f"{self._journal}.{word}").touch()

    def end(self):
        for worker in self.running:
            with contextlib.suppress(ProcessLookupError):
                self.signal(worker, signal.SIGKILL)
            worker.wait()


@pytest.fixture
def workers(redis_url, tmp_path, monkeypatch):
    monkeypatch.setenv("TRIMTAB_TEST_REDIS", redis_url)
    monkeypatch.setenv("TRIMTAB_TEST_JOURNAL", str(tmp_path / "journal"))
    spec = importlib.util.spec_from_file_location("agents_on_celery", HERE / "agents_on_celery.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    client = module.app.connection_for_write().default_channel.client
    client.flushall()
    workers = Workers(module, tmp_path / "journal")
    workers.redis = client
    yield workers
    workers.end()
    module.app.close()
