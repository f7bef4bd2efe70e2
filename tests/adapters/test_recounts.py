"""Counting anew before refusals: nobody gets a count that began before they asked, and a storm of
refusals is a few counts."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from typing import Any

import pytest

from routeradmin.adapters.state_redis.recounts import MOST, PAUSE_S, Recounts
from routeradmin.engine.state import CandidateKey


def key(name: str) -> CandidateKey:
    return CandidateKey(name, "c", "m")


A, B, C = key("a"), key("b"), key("c")


class Redis:
    """Counts when it is told to; ``counts`` are what it was asked for, ``slept`` the pauses."""

    def __init__(self) -> None:
        self.counts: list[tuple[Sequence[CandidateKey], float]] = []
        self.now = 1000.0
        self.slept: list[float] = []
        self.may_answer = asyncio.Event()
        self.problem: Exception | None = None
        self.recounts = Recounts(self.count, lambda: self.now, self.sleep)

    async def count(self, keys: Sequence[CandidateKey], now: float) -> bool:
        self.counts.append((keys, now))
        await self.may_answer.wait()
        if self.problem is not None:
            raise self.problem
        return True

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds
        await asyncio.sleep(0)

    def ask(self, *keys: CandidateKey) -> asyncio.Task[bool]:
        return asyncio.create_task(self.recounts.ask(keys, self.now))


async def turns(count: int = 5) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


def run(story: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(story, 10))


def test_refusals_of_one_moment_are_one_count_of_all_their_candidates() -> None:
    async def story() -> None:
        redis = Redis()
        asked = [redis.ask(A, B), redis.ask(B, C), redis.ask(A)]
        redis.may_answer.set()
        assert await asyncio.gather(*asked) == [True] * 3
        assert redis.counts == [([A, B, C], 1000.0)]

    run(story())


def test_who_asks_while_a_count_is_out_gets_one_that_begins_afterwards() -> None:
    async def story() -> None:
        redis = Redis()
        first = redis.ask(A)
        await turns()
        second = redis.ask(A)
        await turns()
        redis.now += 1
        assert len(redis.counts) == 2, "it does not take what was asked before it"
        redis.may_answer.set()
        assert await first
        assert await second

    run(story())


def test_soon_after_a_count_the_next_one_is_waited_for_together() -> None:
    async def story() -> None:
        redis = Redis()
        redis.may_answer.set()
        assert await redis.ask(A, B)
        assert redis.slept == []
        assert await asyncio.gather(*(redis.ask(A, B, C) for _ in range(50))) == [True] * 50
        assert redis.slept == pytest.approx([2 * PAUSE_S])
        assert len(redis.counts) == 2
        redis.now += 1
        assert await redis.ask(A)
        assert len(redis.slept) == 1, "long after it nobody waits"

    run(story())


def test_one_count_is_never_of_too_many_and_nobody_waits_for_a_second_one() -> None:
    async def story() -> None:
        redis = Redis()
        redis.may_answer.set()
        pools = [[key(f"{pool}-{n}") for n in range(64)] for pool in range(6)]
        told = await asyncio.gather(*(redis.ask(*pool) for pool in pools * 3))
        assert told == ([True] * 4 + [False] * 2) * 3, "the same candidates are no further ones"
        assert [len(keys) for keys, _ in redis.counts] == [MOST]
        assert redis.slept == []

    run(story())


def test_who_goes_away_takes_the_count_from_nobody() -> None:
    async def story() -> None:
        redis = Redis()
        gone, stays = redis.ask(A), redis.ask(B)
        await turns()
        gone.cancel()
        redis.may_answer.set()
        assert await stays
        assert gone.cancelled()

    run(story())


def test_what_goes_wrong_is_told_to_all_and_the_next_count_is_made() -> None:
    async def story() -> None:
        redis = Redis()
        redis.may_answer.set()
        redis.problem = RuntimeError("broken")
        told = await asyncio.gather(redis.ask(A), redis.ask(B), return_exceptions=True)
        assert [str(one) for one in told] == ["broken", "broken"]
        redis.problem = None
        assert await redis.ask(A)

    run(story())
