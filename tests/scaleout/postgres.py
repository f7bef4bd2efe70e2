"""A PostgreSQL of the test's own, to be killed, stopped and started again."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

import psycopg

from tests.process.family import children, send
from tests.scaleout.servers import free_port

PATIENCE_S = 30.0
USER = "postgres"


def program(name: str) -> str:
    """On Debian the server's programs are not on the path."""
    found = shutil.which(name) or next(
        map(str, sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"), reverse=True)), None
    )
    assert found is not None, f"no {name}: install PostgreSQL"
    return found


class PostgresServer:
    """A cluster of its own that writes through to the disk: what it acknowledged, it has."""

    def __init__(self) -> None:
        self.port = free_port()
        self.directory = Path(tempfile.mkdtemp(prefix="routeradmin-postgres-"))
        self.process: subprocess.Popen[bytes] | None = None
        # It refuses to run as root.
        self.user = USER if os.geteuid() == 0 else None
        if self.user:
            shutil.chown(self.directory, self.user)
        self.data = self.directory / "data"
        subprocess.run(
            [program("initdb"), "-D", self.data, "-U", USER, "-A", "trust", "-E", "UTF8"],
            check=True,
            user=self.user,
            stdout=subprocess.DEVNULL,
            cwd=self.directory,
        )

    @property
    def url(self) -> str:
        return f"postgresql://{USER}@127.0.0.1:{self.port}/postgres"

    def start(self) -> None:
        self.process = subprocess.Popen(
            [
                program("postgres"),
                *("-D", self.data, "-p", str(self.port), "-k", self.directory),
                *("-c", "listen_addresses=127.0.0.1", "-c", "max_connections=200"),
            ],
            user=self.user,
            cwd=self.directory,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self._wait()

    def _wait(self) -> None:
        """Until it answers: after a kill it first reads its log again."""
        ends = time.monotonic() + PATIENCE_S
        while True:
            try:
                psycopg.connect(self.url, connect_timeout=2).close()
            except psycopg.OperationalError:
                assert time.monotonic() < ends, "PostgreSQL did not start"
                time.sleep(0.05)
            else:
                return

    @property
    def processes(self) -> list[int]:
        return [] if self.process is None else [self.process.pid, *children(self.process.pid)]

    def kill(self) -> None:
        """All of it at one instant, as when the machine loses its power."""
        if self.process is not None:
            # Stopped first: else the first one dead has the others write and clean up.
            self.freeze()
            send(self.processes, signal.SIGKILL)
            self.process.wait()
            self.process = None
            (self.data / "postmaster.pid").unlink(missing_ok=True)

    def freeze(self) -> None:
        send(self.processes, signal.SIGSTOP)

    def thaw(self) -> None:
        send(self.processes, signal.SIGCONT)

    def close(self) -> None:
        self.kill()
        shutil.rmtree(self.directory, ignore_errors=True)
