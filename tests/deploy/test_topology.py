"""The compose file's topology at work, through the proxy as its users meet it."""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import pytest

from routeradmin.adapters.simulated import SimulatedProvider, running_in_thread
from tests.databases import database
from tests.deploy.topology import Topology
from tests.process.server import KEY, until
from tests.scaleout.servers import RedisServer

pytestmark = [
    pytest.mark.services,
    pytest.mark.slow,
    pytest.mark.proxy,
    pytest.mark.timeout(600),
]

JSON = {"authorization": f"Bearer {KEY}"}
BETWEEN_MS = 400
SLOW = {"model": "slow", "steps": [{"words": 6, "chunk_delay_ms": BETWEEN_MS}]}
LONG_S = 8.0
LONG = {"model": "long", "steps": [{"words": 20, "chunk_delay_ms": int(LONG_S * 1000 / 20)}]}
CATALOG = """
format = "routeradmin.catalog/1"
providers = [{{id = "lab", category = "self-hosted"}}]

[[accounts]]
id = "open"
provider_id = "lab"
auth_kind = "anonymous"
billing_kind = "self-hosted"

[[endpoints]]
id = "box"
account_id = "open"
base_url = "{url}/v1/"
"""
OBJECTS = """
[[models]]
id = "{name}"
upstream_name = "{name}"

[[serving_models]]
id = "{name}"
endpoint_id = "box"
model_id = "{name}"
protocol = "chat-completions"

[[routes]]
id = "{name}"
alias = "{name}"

[[targets]]
id = "{name}"
route_id = "{name}"
serving_model_id = "{name}"
position = 0
"""


@pytest.fixture(scope="module")
def upstream() -> Iterator[str]:
    provider = SimulatedProvider()
    for script in (SLOW, LONG):
        provider.put_script(script)
    with running_in_thread(provider=provider) as url:
        yield url


@pytest.fixture(scope="module")
def site(upstream: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Topology]:
    with database() as url, RedisServer() as redis:
        topology = Topology(
            tmp_path_factory.mktemp("site") / "deploy",
            url,
            redis.url,
            ROUTERADMIN_BOOTSTRAP_KEY=KEY,
            ROUTERADMIN_ALLOW_PRIVATE_UPSTREAMS="loopback",
            # A machine that is busy with other tests must not look like a slow Redis.
            ROUTERADMIN_REDIS_LIMIT_MS="2000",
        )
        try:
            topology.start()
            asyncio.run(fill(topology, upstream))
            yield topology
        finally:
            topology.close()


async def fill(site: Topology, upstream: str) -> None:
    text = CATALOG.format(url=upstream) + "".join(
        OBJECTS.format(name=name) for name in ("quick", "slow", "long")
    )
    headers = {"content-type": "application/toml", "if-match": "*"}
    async with (
        visitor(site) as session,
        session.put("/api/v1/catalog?mode=replace", data=text, headers=headers) as answer,
    ):
        assert answer.status == 200, await answer.text()
        revision = int(answer.headers["etag"].strip('"'))
    until(lambda: set(site.revisions()) == {revision}, 20)


@asynccontextmanager
async def visitor(site: Topology, key: bool = True) -> AsyncIterator[aiohttp.ClientSession]:
    connector = aiohttp.TCPConnector(ssl=site.trust() or False, limit=0)
    headers = JSON if key else {}
    async with aiohttp.ClientSession(site.url, connector=connector, headers=headers) as session:
        yield session


def chat(model: str, stream: bool = False) -> dict[str, object]:
    return {"model": model, "stream": stream, "messages": [{"role": "user", "content": "hello"}]}


async def signed_in(session: aiohttp.ClientSession, site: Topology) -> None:
    name, password = site.first_admin
    async with session.get("/login") as page:
        found = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', await page.text())
        assert found is not None
    form = {"csrfmiddlewaretoken": found[1], "username": name, "password": password}
    referer = {"referer": f"{site.url}/login"}
    async with session.post("/login", data=form, headers=referer) as page:
        assert (page.status, page.url.path) == (200, "/")


def test_a_person_signs_in_and_sees_changes_of_a_data_plane_pushed(site: Topology) -> None:
    async def story() -> str:
        async with visitor(site, key=False) as session, visitor(site) as program:
            await signed_in(session, site)
            assert all(cookie["secure"] for cookie in session.cookie_jar)
            origin = {"origin": site.url}
            async with session.ws_connect("/ws/console", headers=origin) as opened:
                async with program.post("/api/v1/select", json={"model": "quick"}) as answer:
                    lease = (await answer.json())["lease_id"]
                report = {"outcome": "failure", "status": 429, "retry_after": "20"}
                async with program.post(f"/api/v1/leases/{lease}/report", json=report) as answer:
                    assert (await answer.json())["cooldown"]["reason"] == "rate-limited"
                async with asyncio.timeout(20):
                    async for message in opened:
                        if "rate-limited" in message.data:
                            break
            async with program.delete("/api/v1/cooldowns?deployment=quick") as answer:
                return str(answer.status)

    assert asyncio.run(story()) == "200"


def test_frames_of_a_stream_pass_as_they_come(site: Topology) -> None:
    """Gathered ones would all arrive when the last was sent."""

    async def story() -> list[float]:
        at = []
        async with (
            visitor(site) as session,
            session.post("/v1/chat/completions", json=chat("slow", stream=True)) as answer,
        ):
            assert answer.status == 200, await answer.text()
            async for line in answer.content:
                if line.startswith(b"data: {"):
                    at.append(time.monotonic())
        return at

    at = asyncio.run(story())
    assert len(at) >= 6
    assert at[-1] - at[0] > 4 * BETWEEN_MS / 1000


def test_a_stream_whose_reader_hangs_up_gives_its_slot_back(site: Topology) -> None:
    async def story() -> None:
        async with visitor(site) as session:
            asked = chat("long", stream=True)
            async with session.post("/v1/chat/completions", json=asked) as answer:
                await answer.content.readline()
                await until_active(session, "long", 1)
                answer.close()
            async with asyncio.timeout(LONG_S / 2):
                await until_active(session, "long", 0)

    asyncio.run(story())


async def until_active(session: aiohttp.ClientSession, deployment: str, count: int) -> None:
    """The control plane hears of it a moment later than the data plane."""
    while await active(session, deployment) != count:  # noqa: ASYNC110
        await asyncio.sleep(0.05)


async def active(session: aiohttp.ClientSession, deployment: str) -> int:
    async with session.get("/api/v1/state") as answer:
        found = (await answer.json())["candidates"]
    return next(int(one["active"]) for one in found if one["deployment"] == deployment)


def test_decisions_pass_over_a_socket(site: Topology) -> None:
    async def story() -> list[int]:
        async with visitor(site) as session, session.ws_connect("/ws/select") as opened:
            await opened.send_json({"id": "1", "op": "select", "body": {"model": "quick"}})
            first = await opened.receive_json()
            lease, body = first["body"]["lease_id"], {"outcome": "success"}
            await opened.send_json({"id": "2", "op": "report", "lease_id": lease, "body": body})
            return [first["status"], (await opened.receive_json())["status"]]

    assert asyncio.run(story()) == [200, 200]


def test_figures_are_not_to_be_had_through_the_proxy(site: Topology) -> None:
    async def story() -> list[int]:
        async with visitor(site) as session:
            found = []
            for path in ("/metrics", "/healthz", "/api/v1/state", "/v1/models"):
                async with session.get(path) as answer:
                    found.append(answer.status)
            return found

    assert asyncio.run(story()) == [404, 200, 200, 200]


class Load:
    """Decisions, answers and streams without a pause, and how they came out."""

    def __init__(self, site: Topology) -> None:
        self.site = site
        self.came_out: Counter[str] = Counter()
        self.is_over = False

    async def run(self) -> None:
        async with visitor(self.site) as session:
            await asyncio.gather(
                *(self._repeat(self._decide, session) for _ in range(4)),
                *(self._repeat(self._ask, session) for _ in range(2)),
                *(self._repeat(self._stream, session) for _ in range(2)),
            )

    async def _repeat(self, ask: object, session: aiohttp.ClientSession) -> None:
        assert callable(ask)
        while not self.is_over:
            try:
                self.came_out[await ask(session)] += 1
            except (aiohttp.ClientError, OSError) as problem:
                self.came_out[f"{ask.__name__}: {problem!r}"] += 1
            await asyncio.sleep(0.005)

    async def _decide(self, session: aiohttp.ClientSession) -> str:
        async with session.post("/api/v1/select", json={"model": "quick"}) as answer:
            if answer.status != 200:
                return f"select {answer.status} {await answer.text()}"
            lease = (await answer.json())["lease_id"]
        report = {"outcome": "success"}
        async with session.post(f"/api/v1/leases/{lease}/report", json=report) as answer:
            return "decided" if answer.status == 200 else f"report {answer.status}"

    async def _ask(self, session: aiohttp.ClientSession) -> str:
        async with session.post("/v1/chat/completions", json=chat("quick")) as answer:
            await answer.read()
            return "answered" if answer.status == 200 else f"chat {answer.status}"

    async def _stream(self, session: aiohttp.ClientSession) -> str:
        asked = chat("long", stream=True)
        async with session.post("/v1/chat/completions", json=asked) as answer:
            text = (await answer.read()).decode()
            return "streamed" if text.endswith("data: [DONE]\n\n") else f"stream {text[-200:]}"


def test_data_planes_are_replaced_under_load_without_a_lost_request(site: Topology) -> None:
    async def story() -> Counter[str]:
        load = Load(site)
        running = asyncio.create_task(load.run())
        for name in ("data-1", "data-2"):
            await asyncio.sleep(LONG_S / 2)
            await asyncio.to_thread(site.replace, name)
            await asyncio.sleep(3)  # the proxy looks every two seconds who is well
        load.is_over = True
        await running
        return load.came_out

    came_out = asyncio.run(story())
    assert set(came_out) == {"decided", "answered", "streamed"}, came_out
    assert came_out["decided"] > 100
    assert came_out["streamed"] >= 4


def test_every_service_says_in_json_what_it_has_to_say(site: Topology) -> None:
    for name in site.ports:
        for line in Path(site.directory / f"{name}.log").read_text().splitlines():
            assert line.startswith(("routeradmin on ", "only loopback ")) or json.loads(line)
