"""A program in a terminal, driven by what its screen shows."""

import fcntl
import os
import re
import struct
import subprocess
import termios
import threading

from trimtab_proxy._launching import launch

SECONDS = 60
_SEQUENCES = re.compile(rb"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\\\)|[ -/]*[0-~])")


class Terminal:
    """Runs a program behind a proxy; the end of its ``with`` ends it.

    Args:
        ground: where it runs.
        command: starts it.
        environment: its own.
        proxy: passes its requests on.
    """

    def __init__(self, ground, command, environment, proxy):
        self._start = launch(command, environment, proxy.base_url)
        self._folder = ground.work
        self._shown = b""
        self._changed = threading.Condition()

    def __enter__(self):
        self._master, slave = os.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
        self._process = subprocess.Popen(
            self._start.command,
            env=self._start.environment,
            cwd=self._folder,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
        )
        os.close(slave)
        self._reading = threading.Thread(target=self._read, daemon=True)
        self._reading.start()
        return self

    def __exit__(self, *_):
        self._process.terminate()
        try:
            self._process.wait(SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._reading.join(SECONDS)
        os.close(self._master)

    def wait_for(self, text):
        """Return once the screen has shown `text`; blanks do not count."""
        wanted = "".join(text.split())
        self.wait_until(lambda: wanted in self.shown(), f"{text!r} on the screen")

    def wait_until(self, condition, what="what is waited for"):
        """Return once `condition` holds."""
        with self._changed:
            if not self._changed.wait_for(condition, SECONDS):
                raise AssertionError(f"no {what}: {self.shown()[-2000:]}")

    def enter(self, text):
        """Type a line; it is sent off once the screen shows it."""
        os.write(self._master, text.encode())
        self.wait_for(text)
        os.write(self._master, b"\r")

    def shown(self):
        """All that the screen has shown, without blanks and control sequences."""
        text = _SEQUENCES.sub(b"", self._shown).decode(errors="replace")
        return "".join(text.split())

    def _read(self):
        while True:
            try:
                read = os.read(self._master, 65_536)
            except OSError:  # the program has closed its end
                return
            if not read:
                return
            with self._changed:
                self._shown += read
                self._changed.notify_all()
