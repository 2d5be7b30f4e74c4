"""A Postgres server of the tests' own, on a loopback port; it never runs as root."""

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import time
from pathlib import Path

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
        import psycopg  # heavy, and the quick tests load this file

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
    names = ("messages", "dead", "acked", "once")
    server.execute("drop table if exists " + ", ".join(f"trimtab_{name}" for name in names))
    return server.url("tests")


@pytest.fixture(scope="session")
def pooler(server):
    """PgBouncer in transaction mode, with fewer connections to the server than clients have."""
    program = shutil.which("pgbouncer", path=f"{os.environ['PATH']}:/usr/sbin")
    if program is None:
        if os.environ.get("CI"):
            pytest.fail("pgbouncer is not installed, and CI must have it")
        pytest.skip("pgbouncer is not installed (Debian package pgbouncer)")
    folder = Path(tempfile.mkdtemp(prefix="trimtab-pgbouncer-"))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    (folder / "users").write_text('"postgres" ""\n')
    (folder / "pgbouncer.ini").write_text(
        f"[databases]\npostgres = host=127.0.0.1 port={server.port}\n"
        f"[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\n"
        f"auth_type = trust\nauth_file = {folder}/users\npool_mode = transaction\n"
        "default_pool_size = 3\nlogfile = \npidfile = \n"
    )
    command = [program, str(folder / "pgbouncer.ini")]
    if os.geteuid() == 0:
        command = [*command[:1], "-u", "postgres", *command[1:]]
        user = pwd.getpwnam("postgres")
        for path in (folder, *folder.iterdir()):
            os.chown(path, user.pw_uid, user.pw_gid)
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        until = time.monotonic() + 20
        while True:
            try:
                socket.create_connection(("127.0.0.1", port)).close()
                break
            except OSError:
                assert process.poll() is None and time.monotonic() < until, "no pgbouncer"
                time.sleep(0.05)
        yield port
        process.terminate()
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def pooled_url(url, server, pooler):
    return url.replace(str(server.port), str(pooler))
