"""Several processes that are one system, and ways to ask them all at once."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import aiohttp

from tests.process.collected import bring_static_files
from tests.process.server import ADMIN, KEY, PASSWORD, Server, until

JSON = {"authorization": f"Bearer {KEY}"}


def environment_of(database: str, redis: str, **more: str) -> dict[str, str]:
    """What every process of a system is told; both are URLs."""
    return {
        "DATABASE_URL": database,
        "REDIS_URL": redis,
        "ROUTERADMIN_BOOTSTRAP_ADMIN": f"{ADMIN}:{PASSWORD}",
        "ROUTERADMIN_BOOTSTRAP_KEY": KEY,
        **more,
    }


# A machine that is busy with other tests must not look like a slow Redis.
PATIENT = {"ROUTERADMIN_REDIS_LIMIT_MS": "2000"}


class System:
    """``environment`` is every process's; servers that still run at the end are killed."""

    def __init__(self, directory: Path, environment: dict[str, str]) -> None:
        self.directory = bring_static_files(directory)
        self.environment = environment
        self.servers: list[Server] = []

    def make(self, *args: str, **env: str) -> Server:
        """A process that is not started yet."""
        server = Server(self.directory, args, {**self.environment, **env})
        self.servers.append(server)
        return server

    def serve(self, *args: str, **env: str) -> Server:
        return self.make(*args, **env).start()

    def close(self) -> None:
        for server in self.servers:
            server.stop(signal.SIGKILL)

    def put_catalog(self, server: Server, catalog: bytes, mode: str = "replace") -> None:
        headers = {"content-type": "application/toml", "if-match": "*"}
        answer = server.call("PUT", f"/api/v1/catalog?mode={mode}", catalog, headers=headers)
        assert answer.status == 200, answer.body

    def wait_for_revision(self, servers: Sequence[Server], limit_s: float = 5.0) -> None:
        newest = max(revision_of(server) for server in servers)
        until(lambda: all(revision_of(one) == newest for one in servers), limit_s)


def revision_of(server: Server) -> int:
    revision: int = server.get("/readyz")["revision"]
    return revision


class Askers:
    """Sessions to each of the servers, for many requests at the same instant."""

    def __init__(self, servers: Sequence[Server], key: str = KEY) -> None:
        self.addresses = ["http://{}:{}".format(*server.address) for server in servers]
        self.headers = {"authorization": f"Bearer {key}"}

    async def __aenter__(self) -> Askers:
        connector = aiohttp.TCPConnector(limit=0)
        self.session = aiohttp.ClientSession(headers=self.headers, connector=connector)
        return self

    async def __aexit__(self, *raised: object) -> None:
        await self.session.close()

    async def post(self, server: int, path: str, body: Any) -> tuple[int, Any]:
        address = self.addresses[server % len(self.addresses)]
        async with self.session.post(address + path, json=body) as answer:
            return answer.status, await answer.json()

    async def select(self, server: int, model: str, **more: Any) -> tuple[int, Any]:
        return await self.post(server, "/api/v1/select", {"model": model, **more})

    async def report(self, server: int, lease_id: str, **outcome: Any) -> Any:
        status, answer = await self.post(server, f"/api/v1/leases/{lease_id}/report", outcome)
        assert status == 200, answer
        return answer

    async def release(self, server: int, lease_id: str) -> None:
        status, answer = await self.post(server, f"/api/v1/leases/{lease_id}/release", {})
        assert status == 200, answer

    async def clear(self, server: int, deployment: str) -> None:
        address = self.addresses[server % len(self.addresses)]
        asked = {"deployment": deployment}
        async with self.session.delete(address + "/api/v1/cooldowns", params=asked) as answer:
            assert answer.status == 200, await answer.text()

    async def together(self, count: int, model: str, **more: Any) -> list[tuple[int, Any]]:
        """``count`` selects at one instant, spread over the servers."""
        return await asyncio.gather(*(self.select(n, model, **more) for n in range(count)))
