"""Two workers of their own: one probes, the other takes over when it hangs or dies."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from routeradmin.adapters.simulated import SimulatedProvider, running_in_thread
from tests.databases import database
from tests.process.server import Server, until
from tests.scaleout.conftest import CATALOG
from tests.scaleout.servers import RedisServer
from tests.scaleout.system import PATIENT, System, environment_of

pytestmark = [pytest.mark.services, pytest.mark.slow, pytest.mark.timeout(300)]

EVERY_S = 1.0
TAKEOVER_S = 10.0


class Provider(SimulatedProvider):
    """Remembers when it was probed."""

    def __init__(self) -> None:
        super().__init__()
        self.probed_at: list[float] = []

    def receive(self, request: Any) -> Any:
        self.probed_at.append(time.monotonic())
        return super().receive(request)


@pytest.fixture
def provider() -> Provider:
    return Provider()


@pytest.fixture
def workers(tmp_path: Path, own_redis: RedisServer, provider: Provider) -> Iterator[list[Server]]:
    with database() as url, running_in_thread(provider=provider) as upstream:
        environment = environment_of(url, own_redis.url, **PATIENT)
        system = System(tmp_path / "data", environment)
        data = system.serve("--plane", "data")
        control = system.serve("--plane", "control")
        probe = f'{upstream}/v1/"\nprobe = {{mode = "models", interval_s = {EVERY_S}}}'
        system.put_catalog(control, CATALOG.replace(b'http://127.0.0.1:9/v1/"', probe.encode()))
        control.stop(signal.SIGINT)  # it may lead too; here the workers alone shall
        system.wait_for_revision([data])
        found = []
        for _ in range(2):
            worker = system.make()
            worker.command = ("manage.py", "routerworker")
            stdout = worker.spawn().stdout
            assert stdout is not None
            assert stdout.readline() == "routeradmin worker started\n"
            found.append(worker)
        yield found
        system.close()


def reign(redis: RedisServer) -> tuple[int, str]:
    """The fence and the leader's name."""
    with redis.client() as client:
        text = (client.get("{routeradmin}:leader") or b"0 ").decode()
    fence, _, name = text.partition(" ")
    return int(fence), name


def test_a_leader_that_hangs_or_dies_is_followed_and_nothing_is_probed_twice(
    workers: list[Server], own_redis: RedisServer, provider: Provider
) -> None:
    def next_reign(after: int) -> tuple[int, str]:
        began = time.monotonic()
        until(lambda: reign(own_redis)[0] > after, TAKEOVER_S)
        assert time.monotonic() - began < TAKEOVER_S
        return reign(own_redis)

    def probes(more: int) -> None:
        wanted = len(provider.probed_at) + more
        until(lambda: len(provider.probed_at) >= wanted, 30)

    until(lambda: reign(own_redis)[1], 15)
    fence, first = reign(own_redis)
    probes(2)
    leader = who_leads(workers, own_redis, first)
    assert leader.process is not None
    leader.process.send_signal(signal.SIGSTOP)
    try:
        fence, second = next_reign(fence)
        assert second != first
        probes(2)
    finally:
        leader.process.send_signal(signal.SIGCONT)
    # One probe that was under way when it was stopped may still arrive. From then on two that
    # probe would take half as long for as many.
    back_at = time.monotonic()
    probes(6)
    assert time.monotonic() - back_at > 3.5 * EVERY_S
    assert reign(own_redis) == (fence, second)
    (other,) = (one for one in workers if one is not leader)
    other.stop(signal.SIGKILL)
    _, third = next_reign(fence)
    assert third == first
    probes(2)


def who_leads(workers: list[Server], redis: RedisServer, name: str) -> Server:
    """Stops one for a moment: the leader is whoever then says nothing."""
    for worker in workers:
        assert worker.process is not None
        worker.process.send_signal(signal.SIGSTOP)
        with redis.client() as client:
            before = client.hget("{routeradmin}:processes", name)
            time.sleep(1.5)  # three beats of a process that runs
            after = client.hget("{routeradmin}:processes", name)
        worker.process.send_signal(signal.SIGCONT)
        if before == after:
            return worker
    raise AssertionError(f"none of the workers is {name}")
