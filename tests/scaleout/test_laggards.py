"""A process that hangs is named: on the console, in the state, and by an alert; for real."""

from __future__ import annotations

import asyncio
import json
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.databases import database
from tests.process.server import Server, until
from tests.receiver import Receiver, receiver
from tests.scaleout.conftest import CATALOG
from tests.scaleout.servers import RedisServer
from tests.scaleout.system import JSON, PATIENT, System, environment_of

pytestmark = [pytest.mark.services, pytest.mark.slow, pytest.mark.timeout(300)]


@pytest.fixture
def hook() -> Iterator[Receiver]:
    with receiver() as held:
        yield held


@pytest.fixture
def planes(tmp_path: Path, own_redis: RedisServer) -> Iterator[dict[str, Server]]:
    """A control plane and two data planes."""
    with database() as url:
        system = System(tmp_path / "data", environment_of(url, own_redis.url, **PATIENT))
        control = system.serve("--plane", "control")
        system.put_catalog(control, CATALOG)
        found = {name: system.serve("--plane", "data") for name in ("one", "two")}
        yield found | {"control": control}
        system.close()


def lags(control: Server) -> dict[str, float]:
    processes = control.get("/api/v1/state")["processes"]
    return {one["id"]: one["lag_ms"] for one in processes}


def told(hook: Receiver, state: str) -> list[dict[str, Any]]:
    bodies = [json.loads(body) for _, body in hook.got]
    return [
        item
        for body in bodies
        if body["type"] == "process.laggard" and body["data"]["state"] == state
        for item in body["data"]["items"]
    ]


async def pushed(control: Server, words: str) -> str:
    """The first frame of the live page that says so."""
    address = "http://{}:{}".format(*control.address)
    async with (
        asyncio.timeout(30),
        aiohttp.ClientSession(address, headers=JSON) as session,
        session.ws_connect("/ws/console") as opened,
    ):
        async for message in opened:
            if words in message.data:
                return str(message.data)
    raise AssertionError("the socket was closed")


def test_a_stopped_process_is_named_until_it_speaks_again(
    planes: dict[str, Server], hook: Receiver
) -> None:
    control, frozen = planes["control"], planes["two"]
    until(lambda: len(lags(control)) == 3 and not any(lags(control).values()), 20)
    control.post("/api/v1/webhooks", {"name": "pager", "url": hook.url})
    assert frozen.process is not None
    frozen.process.send_signal(signal.SIGSTOP)
    try:
        frame = asyncio.run(pushed(control, "is silent"))
        (named,) = (id for id, lag_ms in lags(control).items() if lag_ms)
        assert named in frame
        until(lambda: told(hook, "firing"), 30)
        (item,) = told(hook, "firing")
        assert item["id"] == named
        assert item["silent_ms"] >= 5000  # a short pause is no reason to wake anybody
        assert len(lags(control)) == 3  # not forgotten while nobody knows what became of it
    finally:
        frozen.process.send_signal(signal.SIGCONT)
    until(lambda: not any(lags(control).values()), 20)
