"""Engines and processes that die under load: requests go on, and what was lost comes back."""

from __future__ import annotations

import asyncio
import signal
import time
from collections import Counter
from collections.abc import Iterator
from urllib.parse import urlsplit, urlunsplit

import pytest

from tests.databases import database
from tests.process.server import Server, until
from tests.scaleout.conftest import CATALOG
from tests.scaleout.proxy import Proxy
from tests.scaleout.servers import RedisServer
from tests.scaleout.system import Askers, System, environment_of

pytestmark = [pytest.mark.services, pytest.mark.slow]

P99_S = 0.1
NOISE_S = 0.95  # what waits for something that is gone waits for seconds


class Load:
    """Selects and reports at a steady pace, and how they came out."""

    def __init__(self, servers: list[Server]) -> None:
        self.servers = servers
        self.statuses: Counter[int] = Counter()
        self.problems: list[str] = []
        self.took_s: list[float] = []
        self._going = True

    def stop(self) -> None:
        self._going = False

    async def run(self, askers: int = 4) -> None:
        async with Askers(self.servers) as asking:
            await asyncio.gather(*(self._ask(asking, n) for n in range(askers)))

    async def _ask(self, asking: Askers, number: int) -> None:
        while self._going:
            number += 1
            started = time.perf_counter()
            try:
                status, answer = await asking.select(number, "turns")
                self.took_s.append(time.perf_counter() - started)
                self.statuses[status] += 1
                if status == 200:
                    await asking.report(number, answer["lease_id"], outcome="success")
            except Exception as problem:
                self.problems.append(repr(problem))
            await asyncio.sleep(0.01)

    def p99_s(self) -> float:
        took = sorted(self.took_s)
        return took[int(len(took) * 0.99)]


@pytest.fixture(scope="module")
def frail_database() -> Iterator[str]:
    with database() as url:
        yield url


@pytest.fixture(scope="module")
def wire(frail_database: str) -> Iterator[Proxy]:
    parts = urlsplit(frail_database)
    proxy = Proxy((parts.hostname or "127.0.0.1", parts.port or 5432))
    yield proxy
    proxy.close()


@pytest.fixture(scope="module")
def frail(
    frail_database: str,
    wire: Proxy,
    own_redis: RedisServer,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[System]:
    """Processes whose database is behind the wire, with a Redis to kill."""
    parts = urlsplit(frail_database)
    url = urlunsplit(parts._replace(netloc=f"{parts.username}@127.0.0.1:{wire.port}"))
    environment = environment_of(url, own_redis.url)
    system = System(tmp_path_factory.mktemp("frail") / "data", environment)
    yield system
    system.close()


@pytest.fixture(scope="module")
def two(frail: System) -> list[Server]:
    first = frail.serve()
    frail.put_catalog(first, CATALOG)
    return [first, frail.serve()]


def degraded(server: Server) -> list[str]:
    words: list[str] = server.get("/readyz")["degraded"]
    return words


def refuse_an_edit(server: Server) -> None:
    headers = {"content-type": "application/toml", "if-match": "*"}
    answer = server.call("PUT", "/api/v1/catalog", CATALOG, headers=headers)
    assert answer.status == 503
    assert b"nothing was read or changed" in answer.body


def test_selects_go_on_while_redis_is_dead_and_are_shared_when_it_is_back(
    two: list[Server], own_redis: RedisServer
) -> None:
    async def story() -> Load:
        load = Load(two)
        running = asyncio.create_task(load.run())
        await asyncio.sleep(1)
        own_redis.kill()
        await asyncio.to_thread(until, lambda: all("store" in degraded(s) for s in two), 5)
        await asyncio.sleep(1)
        own_redis.start()
        await asyncio.to_thread(until, lambda: not any("store" in degraded(s) for s in two), 10)
        await asyncio.sleep(0.5)
        load.stop()
        await running
        return load

    load = asyncio.run(story())
    assert (set(load.statuses), load.problems) == ({200}, [])
    assert load.p99_s() < P99_S + NOISE_S
    for server in two:
        until(lambda: {c["active"] for c in server.get("/api/v1/state")["candidates"]} == {0}, 5)  # noqa: B023


@pytest.mark.parametrize("fault", ["cut", "hang"])
def test_selects_go_on_while_the_database_is_out_of_reach(
    two: list[Server], wire: Proxy, frail: System, fault: str
) -> None:
    async def story() -> Load:
        load = Load(two)
        running = asyncio.create_task(load.run())
        await asyncio.sleep(0.5)
        try:
            wire.cut() if fault == "cut" else wire.hang()
            await asyncio.to_thread(until, lambda: all("database" in degraded(s) for s in two), 20)
            if fault == "cut":
                await asyncio.to_thread(refuse_an_edit, two[0])
        finally:
            wire.mend()
        await asyncio.to_thread(until, lambda: not any(map(degraded, two)), 20)
        load.stop()
        await running
        return load

    load = asyncio.run(story())
    assert (set(load.statuses), load.problems) == ({200}, [])
    assert load.p99_s() < P99_S + NOISE_S
    frail.put_catalog(two[1], CATALOG.replace(b'id = "a"\n', b'id = "a"\nweight = 9\n', 1))
    frail.wait_for_revision(two)


def test_another_leads_within_ten_seconds_with_a_higher_fence(
    two: list[Server], own_redis: RedisServer
) -> None:
    redis = own_redis.client()

    def leader() -> tuple[int, str]:
        fence, _, name = (redis.get("{routeradmin}:leader") or b"0 ").decode().partition(" ")
        return int(fence), name

    names = {one.get("/api/v1/state")["processes"][0]["id"]: one for one in two}
    until(lambda: leader()[1] in names, 10)
    fence, name = leader()
    names[name].stop(signal.SIGKILL)
    killed_at = time.monotonic()
    until(lambda: leader()[1] not in ("", name), 10)
    assert time.monotonic() - killed_at < 10
    assert leader()[0] > fence
    names[name].start()
    redis.close()


def test_a_worker_of_its_own_starts_and_stops_when_told(frail: System, two: list[Server]) -> None:
    del two  # they have migrated the database
    worker = frail.make()
    worker.command = ("manage.py", "routerworker")
    stdout = worker.spawn().stdout
    assert stdout is not None
    assert stdout.readline() == "routeradmin worker started\n"
    assert worker.stop(signal.SIGTERM) == 0


def test_replacing_the_workers_one_after_the_other_loses_no_request(
    frail: System, two: list[Server]
) -> None:
    del two  # they have put the catalog there
    server = frail.serve("--workers", "2")

    async def story() -> Load:
        load = Load([server])
        running = asyncio.create_task(load.run())
        await asyncio.sleep(0.5)
        assert server.process is not None
        server.process.send_signal(signal.SIGHUP)
        logged = server.log.read_text().count("all workers were replaced")
        await asyncio.to_thread(
            until,
            lambda: server.log.read_text().count("all workers were replaced") > logged,
            80,
        )
        await asyncio.sleep(0.5)
        load.stop()
        await running
        return load

    load = asyncio.run(story())
    assert (set(load.statuses), load.problems) == ({200}, [])
    assert server.stop(signal.SIGINT) == 0


def test_planes_answer_their_own_paths_only(frail: System, two: list[Server]) -> None:
    del two  # they have put the catalog there
    data, control = frail.serve("--plane", "data"), frail.serve("--plane", "control")
    select = ("POST", "/api/v1/select", {"model": "turns"})
    assert data.call(*select).status == 200
    refused = control.call(*select)
    assert (refused.status, b"data" in refused.body) == (404, True)
    assert control.call("GET", "/api/v1/state").status == 200
    assert data.call("GET", "/api/v1/state").status == 404
    assert {one.get("/readyz")["status"] for one in (data, control)} == {"ready"}
    assert {one.stop(signal.SIGINT) for one in (data, control)} == {0}
