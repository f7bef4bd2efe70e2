"""The demo beside a worker: what it starts, what it leaves alone, and its traffic's manners."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from asgiref.sync import async_to_sync

from routeradmin.services import changes, demo_catalog
from routeradmin.services.changes import Actor
from routeradmin.services.runtime import Runtime
from routeradmin.worker.demo_traffic import CALLER, PER_SECOND, Traffic
from routeradmin.worker.loop import Job
from routeradmin.worker.starting import demo_jobs
from tests import factories as make
from tests.conftest import FakeClock
from tests.records import told


@pytest.fixture
def play(runtime: Runtime) -> Callable[[Callable[[tuple[Job, ...]], Awaitable[None]]], None]:
    """Runs a story with the demo's jobs, and ends them afterwards."""
    runtime.is_demo = True

    @async_to_sync
    async def run(story: Callable[[tuple[Job, ...]], Awaitable[None]]) -> None:
        jobs = await demo_jobs(runtime)
        try:
            await story(jobs)
        finally:
            for job in jobs:
                if job.close is not None:
                    await job.close()
            await runtime.upstream.close()

    return run


def test_without_the_wish_there_is_no_demo(runtime: Runtime) -> None:
    assert async_to_sync(demo_jobs)(runtime) == ()
    assert demo_catalog.is_empty(runtime.current.document)


def test_a_demo_that_is_refused_is_told_in_one_line_and_starts_nothing(
    runtime: Runtime, settings: Any, caplog: pytest.LogCaptureFixture
) -> None:
    settings.PRIVATE_UPSTREAMS = "none"
    runtime.is_demo = True
    assert async_to_sync(demo_jobs)(runtime) == ()
    assert not runtime.is_demo
    (record,) = [one for one in caplog.records if one.name == "routeradmin.worker.starting"]
    assert "loopback addresses are not allowed here" in record.getMessage()
    assert record.exc_info is None


def test_an_operators_catalog_gets_neither_providers_nor_traffic(runtime: Runtime) -> None:
    changes.replace_document(make.document(), Actor("user:ada"))
    runtime.is_demo = True
    assert async_to_sync(demo_jobs)(runtime) == ()
    assert not runtime.is_demo


def test_callers_come_when_they_are_due_and_are_recorded_as_the_demos(
    play: Any, runtime: Runtime, clock: FakeClock
) -> None:
    async def story(jobs: tuple[Job, ...]) -> None:
        traffic = next(job for job in jobs if job.name == "demo: traffic")
        await traffic.run(runtime)
        assert not any(state.active for state in runtime.store.states())
        clock.advance(60)  # everybody is due by now
        await traffic.run(runtime)
        while not runtime.journal.waiting:
            await runtime.sleep(0)
        turns = list(map(told, runtime.journal.take().turns))
        assert {turn["key"] for turn in turns} == {CALLER.uid}
        assert {turn["route"] for turn in turns} <= PER_SECOND.keys()

    play(story)
    assert not any(state.active for state in runtime.store.states())


def test_stopping_in_the_middle_of_calls_gives_every_slot_back(
    play: Any, runtime: Runtime, clock: FakeClock
) -> None:
    async def story(jobs: tuple[Job, ...]) -> None:
        for job in jobs:
            await job.run(runtime)
        clock.advance(60)
        for job in jobs:
            await job.run(runtime)
        while not any(state.active for state in runtime.store.states()):
            await runtime.sleep(0)

    play(story)
    assert not any(state.active for state in runtime.store.states())


def test_traffic_asks_for_nothing_that_is_not_simulated(runtime: Runtime, clock: FakeClock) -> None:
    demo_catalog.put_in_place(41234)
    traffic = Traffic(41235, clock)  # the catalog's providers are at another port: not ours
    clock.advance(60)
    async_to_sync(traffic.tick)(runtime)
    assert not any(state.active for state in runtime.store.states())
    async_to_sync(traffic.stop)()
