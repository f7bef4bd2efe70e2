"""Redis gone, slow, and back: nobody waits for it, and what happened meanwhile is not lost."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest
import uvloop

from routeradmin.adapters.state_redis import RedisStore
from routeradmin.adapters.state_redis.link import LIMIT_S
from routeradmin.engine.policy import DEFAULT_POLICY
from routeradmin.engine.request import SelectRequest
from routeradmin.engine.snapshot import Snapshot
from routeradmin.engine.state import Grant, Lease, LeaseNotFound
from routeradmin.engine.turn_state import Opening
from tests.adapters.state_store_suite import BROKEN, LIMITED, OK, A, kept_turn
from tests.engine.world import catalog, deployment
from tests.scaleout.servers import PATIENCE_S, RedisServer, until

pytestmark = pytest.mark.services

LIMIT = 3
SNAPSHOT = catalog([deployment("a", max_parallel_requests=LIMIT)])
LONGEST_WAIT_S = 1.0  # what hangs here hangs for ever; figures are the benchmark's matter


@pytest.fixture
def server() -> Iterator[RedisServer]:
    with RedisServer() as server:
        yield server


@asynccontextmanager
async def stores(server: RedisServer, count: int = 1) -> AsyncIterator[list[RedisStore]]:
    opened = []
    for _ in range(count):
        store = RedisStore(server.url, "faults", time.time)
        store.bind(SNAPSHOT)
        await store.open()
        opened.append(store)
    try:
        yield opened
    finally:
        for store in opened:
            await store.close()


async def take(
    store: RedisStore, ttl_s: float = 60.0, snapshot: Snapshot = SNAPSHOT, **more: Any
) -> Any:
    candidate = snapshot.routes["r"].candidates[0]
    started = time.perf_counter()
    lease = await store.reserve(Grant(candidate, "me", ttl_s, 0, "r", **more), time.time())
    assert time.perf_counter() - started < LONGEST_WAIT_S
    return lease


async def settle(store: RedisStore, lease: Lease, outcome: Any = OK) -> Any:
    started = time.perf_counter()
    settled = await store.settle(lease.id, outcome, DEFAULT_POLICY, time.time())
    assert time.perf_counter() - started < LONGEST_WAIT_S
    return settled


async def begin(store: RedisStore, **more: Any) -> Lease:
    """A lease that begins a turn."""
    keep = Opening("", "m", "r", SelectRequest("m"), A, 0, "", 0.0)
    lease = await take(store, keep=keep, **more)
    assert isinstance(lease, Lease)
    return lease


def active(store: RedisStore) -> int:
    return store.of(SNAPSHOT.routes["r"].candidates[0]).active


async def shared(*all_of_them: RedisStore) -> None:
    for store in all_of_them:
        await until(lambda store=store: store.is_shared, "Redis is back")  # type: ignore[misc]


def test_grants_go_on_alone_when_redis_dies_and_are_shared_again_when_it_is_back(
    server: RedisServer,
) -> None:
    async def story() -> None:
        async with stores(server, 2) as (one, two):
            reach: list[bool] = []
            one.on_reach = reach.append
            before = await take(one)
            await take(two)
            assert (before is not None, active(two)) == (True, 2)
            server.kill()
            assert await take(one) is not None, "alone, the limit is this process's own"
            await until(lambda: not (one.is_shared or two.is_shared), "both noticed")
            assert (active(one), active(two)) == (2, 1)
            during = await take(one)
            assert during is not None
            assert await take(one) is None, "its own limit still holds"
            await settle(one, before)
            assert active(one) == 2
            server.start()
            await shared(one, two)
            assert reach == [False, True]
            await until(lambda: active(one) == 3 == active(two), "leases are counted together")
            assert await take(two) is None
            await settle(two, during)
            assert active(two) == 2
            await until(lambda: active(one) == 2, "the other one hears of it")

    asyncio.run(story())


def test_nobody_waits_for_a_redis_that_hangs(server: RedisServer) -> None:
    async def story() -> None:
        async with stores(server) as (store,):
            lease = await take(store)
            server.freeze()
            first, second = await asyncio.gather(take(store), take(store))
            assert first is not None
            assert second is not None
            await settle(store, lease)
            await settle(store, first)
            assert not store.is_shared
            server.thaw()
            await shared(store)
            await until(lambda: active(store) == 1, "what was given back is given back")
            await settle(store, second)
            assert active(store) == 0

    asyncio.run(story())


def test_a_busy_process_does_not_take_redis_for_late(server: RedisServer) -> None:
    """Answers lie there for longer than Redis may take, before this process gets to them."""

    def hold_the_loop() -> None:
        until_s = time.perf_counter() + 2 * LIMIT_S
        while time.perf_counter() < until_s:
            pass

    async def story() -> None:
        async with stores(server) as (store,):
            reach: list[bool] = []
            store.on_reach = reach.append
            for _ in range(5):
                taking = [asyncio.create_task(take(store)) for _ in range(LIMIT)]
                while not all(task.done() for task in taking):
                    hold_the_loop()
                    await asyncio.sleep(0)
                for task in taking:
                    await settle(store, task.result())
            assert reach == [], "it was never away"

    uvloop.run(story())  # on the loop that serves: its timers go before its sockets


def test_the_later_end_of_a_cooldown_wins_when_processes_meet_again(server: RedisServer) -> None:
    async def story() -> None:
        async with stores(server, 2) as (one, two):
            leases = await take(one), await take(two)
            server.freeze()
            await settle(one, leases[0], replace(LIMITED, hint_s=30.0))
            await settle(two, leases[1], replace(LIMITED, hint_s=300.0))
            server.thaw()
            await shared(one, two)

            def ends() -> list[float]:
                return [s.of(SNAPSHOT.routes["r"].candidates[0]).cooldown_until for s in (one, two)]

            later = max(ends())
            await until(lambda: ends() == [later, later], "both know the later end")
            assert later > time.time() + 250

    asyncio.run(story())


def test_what_was_acknowledged_survives_a_redis_that_lost_everything(server: RedisServer) -> None:
    async def story() -> None:
        async with stores(server, 2) as (one, two):
            lease = await take(one)
            await settle(one, lease, LIMITED)
            held = await take(one)
            await one.save_turn(kept_turn("t", "m"), time.time(), 0)
            server.kill()
            await one.save_turn(kept_turn("u", "m"), time.time(), 0)
            await until(lambda: not (one.is_shared or two.is_shared), "both noticed")
            server.start()
            await shared(one, two)
            async with stores(server) as (late,):
                assert late.of(SNAPSHOT.routes["r"].candidates[0]).cooldown is not None
                assert active(late) == 1
                assert (await late.lease(held.id)).id == held.id
                for turn_id in "tu":
                    assert await late.load_turn(turn_id, time.time()) is not None

    asyncio.run(story())


def test_data_flushed_behind_its_back_is_brought_back(server: RedisServer) -> None:
    async def story() -> None:
        async with stores(server) as (store,):
            await settle(store, await take(store), LIMITED)
            client = server.client()
            client.flushall()
            await until(lambda: client.exists("{faults}:epoch") == 1, "joined anew")
            await shared(store)
            await until(lambda: client.exists("{faults}:candidate:a\nk\n") == 1, "told again")
            assert store.of(SNAPSHOT.routes["r"].candidates[0]).cooldown is not None

    asyncio.run(story())


def test_a_store_that_starts_without_redis_joins_later(server: RedisServer) -> None:
    async def story() -> None:
        server.kill()
        async with stores(server) as (store,):
            assert not store.is_shared
            lease = await take(store)
            for _ in range(3):
                await store.set_cooldown(A, 60, "user:ann", "", time.time())
            server.start()
            await shared(store)
            await until(lambda: active(store) == 1, "the lease is told")
            await settle(store, lease, BROKEN)
            assert active(store) == 0
            assert store.of(SNAPSHOT.routes["r"].candidates[0]).cooldown is not None

    asyncio.run(story())


def test_a_lease_that_was_granted_and_ran_out_apart_is_known_to_the_others_afterwards(
    server: RedisServer,
) -> None:
    """Whoever took it may report to another process."""

    async def story() -> None:
        async with stores(server, 2) as (one, two):
            server.kill()
            await until(lambda: not (one.is_shared or two.is_shared), "both noticed")
            lease, open_still = await take(one, ttl_s=1.0), await take(one)
            await until(lambda: bool(one.expire(time.time())), "it ran out")
            server.start()
            await shared(one, two)

            async def phases() -> list[str]:
                return [str(await two.phase(found.id)) for found in (lease, open_still)]

            for _ in range(100):
                try:
                    found = await phases()
                except LeaseNotFound:
                    await asyncio.sleep(0.05)
                else:
                    break
            assert found == ["expired", "open"]

    asyncio.run(story())


def test_a_turn_that_was_begun_apart_is_known_to_whoever_knows_its_lease(
    server: RedisServer,
) -> None:
    """A Redis that only hung kept its data: nobody tells it everything anew."""

    async def story() -> None:
        async with stores(server, 2) as (one, two):
            server.freeze()
            leases = [await begin(one) for _ in range(LIMIT)]
            assert not one.is_shared
            server.thaw()
            await shared(one, two)
            for lease in leases:
                await hear_of(two, lease)
                kept = await two.load_turn(lease.id, time.time())
                assert kept is not None
                assert kept.turn.id == lease.id

    asyncio.run(story())


async def hear_of(store: RedisStore, lease: Lease) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while True:
            try:
                await store.lease(lease.id)
            except LeaseNotFound:
                await asyncio.sleep(0.01)
            else:
                return


def test_a_return_that_was_broken_off_is_made_up_for(server: RedisServer) -> None:
    """Redis lost everything and goes again while it is told: the next return tells all of it."""

    async def story() -> None:
        async with stores(server, 1) as (one,):
            lease = await begin(one)
            server.kill()
            await until(lambda: not one.is_shared, "it noticed")
            ask, told = one.link.ask, False

            async def breaks_once(*steps: Any) -> Any:
                nonlocal told
                if not told and steps[0][0] == "offer_turn":
                    told = True
                    raise ConnectionError("gone again")
                return await ask(*steps)

            one.link.ask = breaks_once  # type: ignore[method-assign]
            server.start()
            await shared(one)
            assert told
            async with stores(server) as (late,):
                assert await late.load_turn(lease.id, time.time()) is not None

    asyncio.run(story())


def test_a_lease_that_redis_lost_unnoticed_is_ended_by_whoever_granted_it(
    server: RedisServer,
) -> None:
    """Until the next look nobody knows that the data is gone."""

    async def story() -> None:
        store = RedisStore(server.url, "faults", time.time)
        store.bind(SNAPSHOT)
        await store.open(follow=False)
        reported, released, renewed = [await take(store) for _ in range(LIMIT)]
        server.client().flushall()
        assert (await settle(store, reported)).is_first
        assert await store.release(released.id, time.time())
        later = await store.renew(renewed.id, 120.0, time.time())
        assert later.expires_at > renewed.expires_at
        await store.look()
        assert not store.is_shared
        await shared(store)
        await until(lambda: active(store) == 1, "what is left is told")
        await store.close()

    asyncio.run(story())
