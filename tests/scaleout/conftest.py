"""Systems of several processes on PostgreSQL and Redis, each with a database of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.databases import database
from tests.process.server import Server, until
from tests.scaleout.servers import RedisServer
from tests.scaleout.system import PATIENT, System, environment_of

CATALOG = (Path(__file__).parent / "catalog.toml").read_bytes()


@pytest.fixture(scope="session")
def database_url() -> Iterator[str]:
    with database() as url:
        yield url


@pytest.fixture(scope="session")
def redis_server() -> Iterator[RedisServer]:
    with RedisServer() as server:
        yield server


@pytest.fixture(scope="module")
def own_redis() -> Iterator[RedisServer]:
    """To be killed and frozen."""
    with RedisServer() as server:
        yield server


@pytest.fixture(scope="session")
def system(
    database_url: str, redis_server: RedisServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[System]:
    """A data directory, a database with a catalog, and a Redis; processes come as they are made."""
    more = {**PATIENT, "LAB_KEY": "first-secret-of-two"}
    environment = environment_of(database_url, redis_server.url, **more)
    system = System(tmp_path_factory.mktemp("system") / "data", environment)
    yield system
    system.close()


@pytest.fixture(scope="session")
def four(system: System) -> list[Server]:
    """Four processes that serve one catalog."""
    servers = [system.serve()]
    for _ in range(3):
        servers.append(system.make())
        servers[-1].spawn()
    return [server.start() if server.address[1] == 0 else server for server in servers]


@pytest.fixture
def put_catalog(four: list[Server], system: System) -> Callable[[bytes], None]:
    """Publish a catalog and wait until all four serve it."""

    def put(catalog: bytes) -> None:
        system.put_catalog(four[0], catalog)
        system.wait_for_revision(four)

    return put


@pytest.fixture
def fresh(four: list[Server], put_catalog: Callable[[bytes], None]) -> None:
    """The tests' own catalog, with nothing that an earlier test left in the way."""
    put_catalog(b'format = "routeradmin.catalog/1"\n')
    put_catalog(CATALOG)
    # What comes back at once brings nothing of its cooldown along, for longer than a push takes.
    until(lambda: not any(cooling(server) for server in four), 2.0)


def cooling(server: Server) -> list[str]:
    candidates = server.get("/api/v1/state")["candidates"]
    return [one["deployment"] for one in candidates if one["cooldown"]]
