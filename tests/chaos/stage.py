"""The system under test: four workers on one port, a Redis and a PostgreSQL of their own.

Both engines are behind wires that can be slowed down; the processes themselves can be killed and
stopped. Nothing of the machine's own engines is touched.
"""

from __future__ import annotations

import json
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import redis

from tests.process.family import children
from tests.process.server import Server, until
from tests.scaleout.postgres import PostgresServer
from tests.scaleout.provider import provider
from tests.scaleout.proxy import Proxy
from tests.scaleout.servers import RedisServer
from tests.scaleout.system import System, environment_of

CATALOG = Path(__file__).parent / "catalog.toml"
APART, TOGETHER = "Redis is out of reach", "Redis answers again"
START_LIMIT_S = 30.0
FRESH_S = 2.0  # a process tells where it is twice a second


@dataclass(eq=False)
class Stage:
    """``server`` is the process that watches the workers."""

    redis: RedisServer
    database: PostgresServer
    redis_wire: Proxy
    database_wire: Proxy
    system: System
    server: Server
    workers: int
    least_revision: int = 1

    @property
    def worker_pids(self) -> list[int]:
        assert self.server.process is not None
        return children(self.server.process.pid)

    def beats(self) -> list[dict[str, Any]]:
        """What each process last told of itself, where that is no older than ``FRESH_S``."""
        client = self.redis.client()
        try:
            told = client.hvals("{routeradmin}:processes")
        except redis.RedisError:
            return []
        finally:
            client.close()
        found = [json.loads(text) for text in told]
        return [beat for beat in found if beat["at"] > time.time() - FRESH_S]

    def is_whole(self) -> bool:
        """Every worker is there, shares state, misses nothing and serves the same revision."""
        beats = self.beats()
        return (
            len(beats) == self.workers == len(self.worker_pids)
            and not any(beat["degraded"] for beat in beats)
            and len({beat["revision"] for beat in beats}) == 1
            and beats[0]["revision"] >= self.least_revision
        )

    def apart(self) -> list[tuple[float, float]]:
        """When some worker went on without Redis, from the log: between two lines of it."""
        found: list[tuple[float, float]] = []
        alone, began_at = 0, 0.0
        for line in self.server.log.read_text().splitlines():
            if APART in line:
                began_at = began_at if alone else logged_at(line)
                alone += 1
            elif TOGETHER in line and alone:
                alone -= 1
                if not alone:
                    found.append((began_at, logged_at(line)))
        return found

    def open_leases(self, lasting_s: float) -> int:
        """Leases in Redis that are over in ``lasting_s`` seconds."""
        client = self.redis.client()
        found = client.zcount("{routeradmin}:leases", "-inf", time.time() + lasting_s)
        client.close()
        return int(found)


def logged_at(line: str) -> float:
    return datetime.strptime(line[:23], "%Y-%m-%d %H:%M:%S,%f").astimezone().timestamp()


@contextmanager
def staged(workers: int) -> Iterator[Stage]:
    with ExitStack() as stack:
        engines = RedisServer(), PostgresServer()
        for engine in engines:
            stack.callback(engine.close)
            engine.start()
        wires = [Proxy(("127.0.0.1", engine.port)) for engine in engines]
        for wire in wires:
            stack.callback(wire.close)
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="routeradmin-")))
        upstream = stack.enter_context(provider())
        environment = environment_of(
            at_port(engines[1].url, wires[1].port),
            at_port(engines[0].url, wires[0].port),
            # A machine that is busy with other things looks like a slow Redis.
            ROUTERADMIN_REDIS_LIMIT_MS=os.environ.get("CHAOS_REDIS_LIMIT_MS", "40"),
        )
        system = System(directory / "data", environment)
        stack.callback(system.close)
        server = system.serve("--workers", str(workers))
        catalog = CATALOG.read_bytes().replace(b"PROVIDER", upstream.encode())
        system.put_catalog(server, catalog)
        stage = Stage(*engines, *wires, system, server, workers)
        until(stage.is_whole, START_LIMIT_S)
        yield stage


def at_port(url: str, port: int) -> str:
    parts = urlsplit(url)
    user = f"{parts.username}@" if parts.username else ""
    return urlunsplit(parts._replace(netloc=f"{user}127.0.0.1:{port}"))
