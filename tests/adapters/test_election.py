"""Who leads: one at a time, with a fence that grows."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from routeradmin.adapters.state_redis import RedisStore
from routeradmin.adapters.state_redis.election import LASTS_S, MARGIN_S, Election
from tests.adapters.state_store_suite import Run
from tests.engine.world import NOW
from tests.redis_at_hand import Prefix

pytestmark = pytest.mark.services


class Steady:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def run() -> Iterator[Run]:
    with asyncio.Runner() as runner:
        yield runner.run


@pytest.fixture
def stores(run: Run, redis_prefix: Prefix) -> Iterator[list[RedisStore]]:
    made = [RedisStore(redis_prefix.url, redis_prefix.name, lambda: NOW, limit_s=5) for _ in "ab"]
    for store in made:
        run(store.open(follow=False))
    yield made
    for store in made:
        run(store.close())


def test_one_leads_and_stops_believing_in_it_before_another_may(
    run: Run, stores: list[RedisStore]
) -> None:
    steady = Steady()
    one, two = (Election(store, name, steady) for store, name in zip(stores, "ab", strict=True))
    for election in (one, two):
        run(election.tick())
    assert (one.leads, two.leads) == (True, False)
    steady.now += LASTS_S - MARGIN_S
    assert not one.leads
    run(one.tick())
    assert one.leads


def test_a_leader_that_resigns_is_followed_at_once_with_a_higher_fence(
    run: Run, stores: list[RedisStore]
) -> None:
    one, two = (Election(store, name) for store, name in zip(stores, "ab", strict=True))
    run(one.tick())
    run(one.resign())
    assert not one.leads
    run(stores[0].link.call(("sweep", "0")))
    run(two.tick())
    assert two.leads
    fences = [int(store.fence.split()[0]) for store in stores]
    assert fences[1] > fences[0]


def test_without_redis_nobody_leads_for_longer_than_the_lock_lasts(
    run: Run, stores: list[RedisStore]
) -> None:
    steady = Steady()
    one = Election(stores[0], "a", steady)
    run(one.tick())
    run(stores[0].close())
    run(one.tick())
    assert one.leads
    steady.now += LASTS_S
    run(one.tick())
    assert not one.leads
