"""How a process hears of the others: frames that one makes and everybody reads."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest
import redis

from routeradmin.adapters.state_redis import RedisStore
from routeradmin.engine.policy import DEFAULT_POLICY
from routeradmin.engine.snapshot import Snapshot
from routeradmin.engine.state import Grant, Lease
from tests.adapters.state_store_suite import LIMITED, OK, Run
from tests.engine.world import NOW, catalog, deployment
from tests.process.server import until
from tests.redis_at_hand import Prefix

pytestmark = pytest.mark.services

LONG_S = 3600.0
SNAPSHOT = catalog([deployment(f"d{n}") for n in range(3)])
CANDIDATES = SNAPSHOT.routes["r"].candidates


@pytest.fixture
def run() -> Iterator[Run]:
    with asyncio.Runner() as runner:
        yield runner.run


@pytest.fixture
def stores(run: Run, redis_prefix: Prefix) -> Iterator[list[RedisStore]]:
    """Three processes' stores that look when they are told to."""
    made = [
        RedisStore(redis_prefix.url, redis_prefix.name, lambda: NOW, limit_s=5.0) for _ in range(3)
    ]
    for store in made:
        run(store.open(follow=False))
        store.bind(SNAPSHOT)
    yield made
    for store in made:
        run(store.close())


async def take(store: RedisStore, place: int = 0, snapshot: Snapshot = SNAPSHOT) -> Lease:
    candidate = snapshot.routes["r"].candidates[place]
    lease = await store.reserve(Grant(candidate, "me", 60.0, 0, "r"), NOW)
    assert lease is not None
    return lease


def active(store: RedisStore, place: int = 0) -> int:
    return store.of(CANDIDATES[place]).active


def frames(prefix: Prefix) -> int:
    client = redis.Redis.from_url(prefix.url)
    kept = client.get(f"{{{prefix.name}}}:frame")
    client.close()
    return int(kept.split()[0]) if kept else 0


def test_whoever_looks_first_makes_the_frame_and_the_others_read_it(
    run: Run, stores: list[RedisStore], redis_prefix: Prefix
) -> None:
    one, two, three = stores
    run(take(one))
    run(two.look(0))
    made = frames(redis_prefix)
    run(take(one))
    run(three.look(LONG_S))
    assert frames(redis_prefix) == made, "the newest frame is young enough"
    assert (active(two), active(three)) == (1, 1)
    run(three.look(0))
    assert frames(redis_prefix) == made + 1
    run(two.look(LONG_S))
    assert (active(two), active(three)) == (2, 2)


def test_a_frame_does_not_undo_what_this_process_did_since(
    run: Run, stores: list[RedisStore]
) -> None:
    one, two, _ = stores
    run(take(one))
    run(two.look(0))
    run(take(one))
    run(take(one))
    run(one.look(LONG_S))
    assert active(one) == 3, "the frame is from when it was 1"


def test_whoever_granted_a_lease_hears_what_others_did_to_it(
    run: Run, stores: list[RedisStore], redis_prefix: Prefix
) -> None:
    """Else it counted it as open when it is on its own, and told an empty Redis of it."""
    one, two, _ = stores
    reported, released, renewed, own = [run(take(one)) for _ in range(4)]
    run(two.settle(reported.id, OK, DEFAULT_POLICY, NOW))
    assert run(two.release(released.id, NOW))
    run(two.renew(renewed.id, 100.0, NOW))
    run(one.settle(own.id, OK, DEFAULT_POLICY, NOW))
    with redis.Redis.from_url(redis_prefix.url) as client:
        (told,) = client.keys(f"{{{redis_prefix.name}}}:heard:*")
        assert client.llen(told) == 3, "of its own end it knows"
        assert 0 < client.ttl(told) <= 300
        run(one.look())
        run(two.settle(renewed.id, OK, DEFAULT_POLICY, NOW + 70))
        assert [record.lease.expires_at for record in one._book.open_records()] == [NOW + 100]
        run(one.look())
        assert one._book.open_records() == []
        run(one.look())
        assert not client.exists(told)
    late = run(take(one))
    one.link.fall("a test")
    assert active(one) == 1
    assert run(one.release(late.id, NOW))
    assert active(one) == 0


def test_what_is_heard_of_a_renewal_takes_nothing_from_a_later_one(
    run: Run, stores: list[RedisStore]
) -> None:
    """It comes up to a quarter of a second late, and again where the answer was lost."""
    one, two, _ = stores
    lease = run(take(one))
    run(two.renew(lease.id, 100.0, NOW))
    run(one.renew(lease.id, 200.0, NOW))
    run(one.look())
    assert [record.lease.expires_at for record in one._book.open_records()] == [NOW + 200]


def test_where_nothing_changed_no_frame_is_made(
    run: Run, stores: list[RedisStore], redis_prefix: Prefix
) -> None:
    run(take(stores[0]))
    run(stores[1].look(0))
    made = frames(redis_prefix)
    for store in stores:
        run(store.look(0))
    assert frames(redis_prefix) == made


def test_a_process_that_was_away_for_longer_than_frames_are_kept_hears_of_everything(
    run: Run, stores: list[RedisStore], redis_prefix: Prefix
) -> None:
    one, two, three = stores
    run(two.look(0))
    for place in range(3):
        lease = run(take(one, place))
        run(three.look(0))
        run(one.settle(lease.id, LIMITED if place == 1 else OK, DEFAULT_POLICY, NOW))
        run(three.look(0))
    run(take(one, 2))
    client = redis.Redis.from_url(redis_prefix.url)
    client.delete(*client.keys(f"{{{redis_prefix.name}}}:frame:*"))
    client.close()
    run(two.look(LONG_S))
    assert [active(two, place) for place in range(3)] == [0, 0, 1]
    assert two.of(CANDIDATES[1]).cooldown is not None
    run(take(one))
    run(two.look(0))
    assert active(two) == 1, "frames again from here on"


def test_a_candidate_that_was_forgotten_and_came_back_starts_from_nothing(
    run: Run, stores: list[RedisStore]
) -> None:
    one, two, _ = stores
    for _ in range(2):
        run(take(one))
    run(two.look(0))
    less = catalog([deployment("d1")])
    for store in (one, two):
        store.bind(less)
    run(one.look(0))
    for store in (one, two):
        store.bind(SNAPSHOT)
    run(take(one))
    run(two.look(0))
    assert (active(one), active(two)) == (1, 1)


EMPTY = catalog([deployment("other")])
OTHERS = EMPTY.routes["r"].candidates


def cools(store: RedisStore) -> bool:
    return store.of(CANDIDATES[0]).cooldown is not None


async def cool(store: RedisStore) -> None:
    lease = await take(store)
    await store.settle(lease.id, LIMITED, DEFAULT_POLICY, NOW)


@pytest.mark.parametrize("less", [EMPTY, replace(EMPTY, deployments={}, routes={})])
def test_a_frame_of_before_does_not_bring_the_forgotten_back(
    run: Run, stores: list[RedisStore], less: Snapshot
) -> None:
    one, two, three = stores
    run(cool(one))
    run(two.look(0))
    assert cools(two)
    one.bind(less)
    run(one.look(LONG_S))
    one.bind(SNAPSHOT)
    run(one.look(LONG_S))
    assert not cools(one)
    assert run(take(one))
    three.bind(less)
    run(three.look(LONG_S))
    assert {state.key for state in three.states()} <= {other.key for other in OTHERS}


@pytest.fixture
def listening(run: Run, redis_prefix: Prefix) -> Iterator[RedisStore]:
    store = RedisStore(redis_prefix.url, redis_prefix.name, lambda: NOW, limit_s=5.0)
    run(store.open())
    store.bind(SNAPSHOT)
    until(lambda: run(is_subscribed(store)), 5)
    yield store
    run(store.close())


async def is_subscribed(store: RedisStore) -> bool:
    channels = await store.link.client.pubsub_numsub(f"{store.link.prefix}:push")
    return any(count for _, count in channels)


async def comes(store: RedisStore, wanted: Callable[[], bool]) -> bool:
    """Once a push made it so."""
    took = asyncio.Event()
    store.mirror.taken = took.set
    async with asyncio.timeout(5):
        while not wanted():
            took.clear()
            await took.wait()
    return True


def test_a_process_that_missed_the_deletion_forgets_all_the_same(
    run: Run, stores: list[RedisStore], listening: RedisStore
) -> None:
    """It went from a revision with the deployment to a later one that has it again."""
    one = stores[0]
    run(cool(one))
    assert run(comes(listening, lambda: cools(listening)))
    one.bind(EMPTY)
    one.bind(SNAPSHOT)
    run(one.look(0))
    assert run(comes(listening, lambda: not cools(listening)))
    state = listening.of(CANDIDATES[0])
    assert (state.active, state.rpm_used, state.failures) == (0, 0, 0)
    assert run(take(listening))


def test_a_process_that_is_late_does_not_have_the_new_one_forgotten(
    run: Run, stores: list[RedisStore], listening: RedisStore
) -> None:
    """It hears of the deletion when the deployment is already there again."""
    one, two, _ = stores
    run(cool(one))
    assert run(comes(listening, lambda: cools(listening)))
    one.bind(EMPTY)
    one.bind(SNAPSHOT)
    run(one.look(0))
    assert run(comes(listening, lambda: not cools(listening)))
    run(take(one))
    listening.bind(EMPTY)
    listening.bind(SNAPSHOT)
    run(listening.look(0))
    run(two.look(0))
    assert (active(one), active(two), active(listening)) == (1, 1, 1)


def test_what_comes_back_within_one_call_is_counted(
    run: Run, stores: list[RedisStore], listening: RedisStore
) -> None:
    """Something else ended, the candidate forgotten and granted anew, with nothing in between."""
    one = stores[0]
    run(take(one))
    other = run(take(one, 1))
    run(listening.look(0))
    begun = listening.of(CANDIDATES[0])
    less = catalog([deployment("d1"), deployment("d2")])

    async def at_once() -> None:
        closing = asyncio.ensure_future(one.release(other.id, NOW))
        await asyncio.sleep(0)
        one.bind(less)
        one.bind(SNAPSHOT)
        await take(one)
        await closing

    run(at_once())
    assert run(comes(listening, lambda: listening.of(CANDIDATES[0]) is not begun))
    run(listening.look(0))
    assert (active(one), active(listening)) == (1, 1)


def test_what_ends_after_its_candidate_was_forgotten_says_nothing_of_the_next(
    run: Run, stores: list[RedisStore], listening: RedisStore
) -> None:
    one = stores[0]
    lease = run(take(listening))
    begun = listening.of(CANDIDATES[0])
    run(one.look(0))
    one.bind(EMPTY)
    one.bind(SNAPSHOT)
    run(one.look(0))
    assert run(comes(listening, lambda: listening.of(CANDIDATES[0]) is not begun))
    settled = run(listening.settle(lease.id, LIMITED, DEFAULT_POLICY, NOW))
    assert settled.changes == ()
    assert (cools(listening), active(listening)) == (False, 0)
    run(take(one))
    run(listening.look(0))
    assert active(listening) == 1


def test_a_step_under_way_while_its_candidate_is_forgotten_leaves_no_slot_behind(
    run: Run, stores: list[RedisStore]
) -> None:
    one = stores[0]
    run(take(one))
    way = one.mirror.leave(CANDIDATES[0].key, 0)
    one.forgotten("\n".join(CANDIDATES[0].key), 1_000_000)
    one.mirror.ended(way)
    assert active(one) == 0
    later = one.mirror.start(CANDIDATES[0].key, 0)
    assert active(one) == 1
    one.mirror.ended(later)
    assert active(one) == 0


def test_a_redis_that_lost_its_data_is_heard_again_of_what_was_forgotten(
    run: Run, stores: list[RedisStore], redis_prefix: Prefix
) -> None:
    one, two, _ = stores
    client = redis.Redis.from_url(redis_prefix.url)
    client.incrby(f"{{{redis_prefix.name}}}:seq", 1_000_000)
    lease = run(take(one))
    run(one.release(lease.id, NOW))
    run(two.look(0))
    for store in (one, two):
        store.bind(EMPTY)
        store.bind(SNAPSHOT)
        run(store.look(0))
    client.delete(*client.keys(f"{{{redis_prefix.name}}}:*"))
    client.close()
    for store in (one, two):
        store.link.fall("tested")
        run(until_up(store))
    run(take(one))
    run(two.look(0))
    assert active(two) == 1


async def until_up(store: RedisStore) -> None:
    is_up = asyncio.Event()
    store.on_reach = lambda reached: is_up.set() if reached else None
    async with asyncio.timeout(5):
        await is_up.wait()
