"""What a system holds at one moment, by name: bytes, counts."""

from __future__ import annotations

import json
import sqlite3
import time
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import redis

from tests.process.family import children, open_files, resident_bytes
from tests.process.server import Server

MB = 1024 * 1024
FRESH_S = 30.0  # told every two seconds, later on a busy machine
ROWS = ("journal_turn", "journal_attempt", "journal_event", "journal_candidaterecord")
Sizes = dict[str, float]


@dataclass(eq=False)
class Looking:
    """``rows`` counts a table's; ``client`` is the Redis of the system, if it has one; ``serving``:
    how many processes tell their tables."""

    server: Server
    tables: Path
    rows: Callable[[str], int]
    serving: int
    client: redis.Redis | None = None

    def sizes(self) -> Sizes:
        assert self.server.process is not None
        top = self.server.process.pid
        found: Sizes = {}
        for place, pid in enumerate([top, *sorted(children(top))]):
            name = f"process {place}"
            found[f"{name}: MB"] = resident_bytes(pid) / MB
            found[f"{name}: files"] = open_files(pid)
            for table, size in self._told(pid).items():
                found[f"{name}: {table}"] = size
        for table in ROWS:
            found[f"rows: {table}"] = self.rows(table)
        return found | self._keys()

    def _told(self, pid: int) -> dict[str, int]:
        """Nothing where it told nothing lately."""
        file = self.tables / f"{pid}.json"
        if not file.exists() or file.stat().st_mtime < time.time() - FRESH_S:
            return {}
        told: dict[str, int] = json.loads(file.read_text())
        return told

    def _keys(self) -> Sizes:
        """Redis: connections, keys that stay for good, and those that go by themselves."""
        if self.client is None:
            return {}
        kinds: Counter[str] = Counter()
        for key in self.client.scan_iter(count=1000):
            lasts_s = self.client.ttl(key)
            kind = key.decode().partition("}:")[2].partition(":")[0]
            kinds["keys that stay" if lasts_s == -1 else f"keys that go: {kind}"] += 1
        found: Sizes = {f"redis: {name}": count for name, count in kinds.items()}
        info: Any = self.client.info("clients")
        found["redis: connections"] = info["connected_clients"]
        found["redis: open leases"] = self.client.zcard("{routeradmin}:leases")
        found["redis: changed"] = self.client.zcard("{routeradmin}:changed")
        return found


def sqlite_rows(file: Path) -> Callable[[str], int]:
    def count(table: str) -> int:
        with closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True, timeout=20)) as connection:
            return int(connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0])  # noqa: S608

    return count


def postgres_rows(url: str) -> Callable[[str], int]:
    def count(table: str) -> int:
        with psycopg.connect(url) as connection:
            found = connection.execute(f"SELECT count(*) FROM {table}").fetchone()  # type: ignore[arg-type]  # noqa: S608
            assert found is not None
            return int(found[0])

    return count
