"""The port of its own: found where it is free, guarded like the main one, closed at the end."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator
from functools import partial

import aiohttp
import pytest

from routeradmin.services.keys import Key, token_hash
from routeradmin.services.runtime import Runtime
from routeradmin.worker.scrapers import Scrapers, listening


@pytest.fixture
def runner() -> Iterator[asyncio.Runner]:
    with asyncio.Runner() as held:
        yield held


def let(runtime: Runtime, token: str, *scopes: str) -> None:
    runtime.keys.hold({token_hash(token): Key("k", "k", frozenset(scopes))})


async def scrape(port: int, **headers: str) -> tuple[int, str, str]:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    async with (
        aiohttp.ClientSession() as session,
        session.get(f"http://127.0.0.1:{port}/metrics", headers=named) as response,
    ):
        return response.status, response.headers.get("content-type", ""), await response.text()


def test_it_answers_keys_that_may_read(bare_runtime: Runtime, runner: asyncio.Runner) -> None:
    async def visits() -> list[int]:
        scrapers = Scrapers(partial(listening, "127.0.0.1", 0))
        await scrapers.tick(bare_runtime)
        await scrapers.tick(bare_runtime)
        let(bare_runtime, "rk_reads", "read")
        status, kind, text = await scrape(scrapers.port, authorization="Bearer rk_reads")
        assert kind.startswith("text/plain; version=0.0.4")
        assert "routeradmin_config_revision 0" in text
        found = [status, (await scrape(scrapers.port, x_api_key="rk_reads"))[0]]
        found.append((await scrape(scrapers.port))[0])
        let(bare_runtime, "rk_selects", "select")
        found.append((await scrape(scrapers.port, x_api_key="rk_selects"))[0])
        bare_runtime.open_metrics = True
        found.append((await scrape(scrapers.port))[0])
        await scrapers.stop()
        return found

    assert runner.run(visits()) == [200, 200, 401, 403, 200]


def test_every_process_takes_the_first_free_port() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        base = taken.getsockname()[1]
        with listening("127.0.0.1", base) as first, listening("127.0.0.1", base) as second:
            found = [one.getsockname()[1] - base for one in (first, second)]
    assert 0 < found[0] < found[1]


def test_a_machine_without_a_free_port_says_so() -> None:
    with socket.create_server(("127.0.0.1", 65_535)), pytest.raises(OSError, match="in use"):
        listening("127.0.0.1", 65_535)
