"""A Redis of the benchmark's own, whose processor time is nobody else's."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from tempfile import TemporaryDirectory

import redis

from benchmarks.servers import free_port

PROGRAM = (
    os.environ.get("ROUTERADMIN_TEST_REDIS_SERVER")
    or shutil.which("valkey-server")
    or shutil.which("redis-server")
)


@contextmanager
def redis_server(cpus: Sequence[int]) -> Iterator[str]:
    """Its URL, for as long as the block; it runs on ``cpus`` and keeps nothing on disk."""
    assert PROGRAM is not None, "install redis-server or valkey-server"
    port = free_port()
    with TemporaryDirectory(prefix="routeradmin-bench-redis-") as directory:
        options = ("--port", str(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no")
        child = subprocess.Popen(
            [PROGRAM, *options, "--dir", directory],
            stdout=subprocess.DEVNULL,
            preexec_fn=lambda: os.sched_setaffinity(0, cpus),
        )
        try:
            yield wait_for(f"redis://127.0.0.1:{port}/0")
        finally:
            child.terminate()
            child.wait(20)


def wait_for(url: str) -> str:
    with redis.Redis.from_url(url) as client:
        for _ in range(200):
            try:
                client.ping()
            except redis.ConnectionError:
                time.sleep(0.02)
            else:
                return url
    raise RuntimeError(f"nothing answers at {url}")


def cpu_s(client: redis.Redis) -> float:
    """Processor time that the server has used, user and system."""
    used = client.info("cpu")
    return float(used["used_cpu_user"] + used["used_cpu_sys"])


def version(client: redis.Redis) -> str:
    told = client.info("server")
    kind = "Valkey" if "valkey_version" in told else "Redis"
    return f"{kind} {told.get('valkey_version') or told['redis_version']}"
