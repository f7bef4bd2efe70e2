"""A Redis of the test's own, to be killed, stopped and started again."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable

import redis

PATIENCE_S = 10.0
NAMED = os.environ.get("ROUTERADMIN_TEST_REDIS_SERVER")  # a program, where not the usual one
MISSES_CERTIFICATE = b"Failed to configure TLS"


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


def program() -> str:
    found = NAMED or shutil.which("valkey-server") or shutil.which("redis-server")
    assert found is not None, "install redis-server or valkey-server"
    return found


def speaks_tls() -> bool:
    """Whether TLS was compiled in: if so, it misses its certificate; else, it knows no TLS."""
    asked = subprocess.run(
        [program(), "--port", "0", "--tls-port", str(free_port())], capture_output=True, timeout=20
    )
    return MISSES_CERTIFICATE in asked.stdout + asked.stderr


class RedisServer:
    """Keeps nothing on disk: after ``kill`` and ``start`` it is empty."""

    def __init__(self, *options: str) -> None:
        self.program = program()
        self.port = free_port()
        self.options = options
        self.directory = tempfile.mkdtemp(prefix="routeradmin-redis-")
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    def start(self) -> None:
        self.process = subprocess.Popen(
            [
                self.program,
                *("--port", str(self.port), "--bind", "127.0.0.1", "--dir", self.directory),
                *("--save", "", "--appendonly", "no", *self.options),
            ],
            stdout=subprocess.DEVNULL,
        )
        self._wait()

    def _wait(self) -> None:
        ends = time.monotonic() + PATIENCE_S
        while time.monotonic() < ends:
            try:
                socket.create_connection(("127.0.0.1", self.port), 0.5).close()
            except OSError:
                time.sleep(0.02)
            else:
                return
        raise AssertionError("Redis did not start")

    def kill(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None

    def freeze(self) -> None:
        assert self.process is not None
        self.process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        assert self.process is not None
        self.process.send_signal(signal.SIGCONT)

    def client(self) -> redis.Redis:
        return redis.Redis.from_url(self.url)

    def slots_taken(self) -> int:
        """As Redis counts them, over all candidates; some must have been used."""
        with self.client() as client:
            keys = client.scan_iter(match="{routeradmin}:candidate:*")
            counted = [text for key in keys if (text := client.hget(key, "counts"))]
        assert counted, "no candidate has counts: are they kept elsewhere now?"
        return sum(int(json.loads(text)[0]) for text in counted)

    def close(self) -> None:
        self.kill()
        shutil.rmtree(self.directory, ignore_errors=True)

    def __enter__(self) -> RedisServer:
        self.start()
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()


async def until(holds: Callable[[], bool], what: str, patience_s: float = PATIENCE_S) -> None:
    """Wait for something that comes by itself."""
    loop = asyncio.get_running_loop()
    ends = loop.time() + patience_s
    while not holds():
        assert loop.time() < ends, f"{what}: not within {patience_s:g} s"
        await asyncio.sleep(0.01)
