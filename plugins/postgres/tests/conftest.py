"""A Postgres server of the tests' own, on a loopback port; it never runs as root."""

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from pathlib import Path

import psycopg
import pytest


def programs():
    """The folder of `initdb` and `pg_ctl`, None where Postgres is not installed."""
    found = shutil.which("pg_ctl")
    if found:
        return Path(found).parent
    programs = sorted(Path("/usr/lib/postgresql").glob("*/bin/pg_ctl"))
    return programs[-1].parent if programs else None


class Server:
    def __init__(self, programs, folder):
        self.programs, self.folder = programs, folder
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]

    def run(self, program, *arguments):
        """Run a program of Postgres as another user where this one is root."""
        command = [str(self.programs / program), *arguments]
        if os.geteuid() == 0:
            command = [
                "setpriv",
                "--reuid=postgres",
                "--regid=postgres",
                "--clear-groups",
                *command,
            ]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, timeout=60, cwd="/")

    def make(self):
        if os.geteuid() == 0:
            user = pwd.getpwnam("postgres")
            os.chown(self.folder, user.pw_uid, user.pw_gid)
        self.run(
            "initdb", "-D", f"{self.folder}/data", "-A", "trust", "-U", "postgres", "-E", "UTF8"
        )

    def start(self):
        options = f"-p {self.port} -c listen_addresses=127.0.0.1 -c unix_socket_directories="
        self.run(
            "pg_ctl", "-D", f"{self.folder}/data", "-l", f"{self.folder}/log", "-w",
            "-o", options, "start",
        )  # fmt: skip

    def stop(self, how="immediate"):
        self.run("pg_ctl", "-D", f"{self.folder}/data", "-m", how, "-w", "stop")

    def restart(self):
        """Stop it as a crash does, and start it again."""
        self.stop()
        self.start()

    def execute(self, statement):
        with psycopg.connect(self.url("x").partition("?")[0], autocommit=True) as connection:
            return connection.execute(statement)

    def cut(self):
        """End all connections but this one."""
        self.execute(
            "select pg_terminate_backend(pid) from pg_stat_activity"
            " where application_name = 'trimtab'"
        )

    def url(self, queue):
        return f"postgresql://postgres@127.0.0.1:{self.port}/postgres?queue={queue}"


@pytest.fixture(scope="session")
def server():
    found = programs()
    if found is None:
        if os.environ.get("CI"):
            pytest.fail("Postgres is not installed, and CI must have it")
        pytest.skip("Postgres is not installed (Debian package postgresql)")
    # Not below pytest's folder, which only its own user may enter.
    folder = tempfile.mkdtemp(prefix="trimtab-postgres-")
    server = Server(found, folder)
    try:
        server.make()
        server.start()
        yield server
        server.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def url(server):
    server.execute("drop table if exists trimtab_messages, trimtab_dead, trimtab_acked")
    return server.url("tests")
