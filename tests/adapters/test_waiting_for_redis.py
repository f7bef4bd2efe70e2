"""What of a wait is Redis's: with a clock of the test's own, looks as early or late as it says."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Sequence
from typing import Any

import pytest

from routeradmin.adapters.state_redis.link import Answer, Link, Step
from routeradmin.adapters.state_redis.waiting import TICK_S, Waiting

LIMIT_S = 0.04


def waited_after(late_s: list[float], in_line_s: float = 0.0) -> tuple[float, float]:
    """Looks that come so much later than they should: what counts, what went by."""
    waiting = Waiting(100.0, in_line_s)
    now = 100.0
    for late in late_s:
        now = max(now, waiting.look_at + late)
        waiting.look(now)
    return waiting.waited_s, now - 100.0


def test_all_of_it_is_redis_where_this_process_is_idle() -> None:
    assert waited_after([0.0] * 10) == pytest.approx((10 * TICK_S, 10 * TICK_S))


def test_a_little_lateness_is_made_up_for() -> None:
    counted, passed = waited_after([0.75 * TICK_S] * 10)
    assert passed - counted == pytest.approx(0.75 * TICK_S)


@pytest.mark.parametrize("stall_s", [2 * TICK_S, 0.05, 3.0])
def test_a_turn_of_the_loop_that_takes_long_is_not_held_against_redis(stall_s: float) -> None:
    counted, passed = waited_after([stall_s, 0.0, stall_s])
    assert counted == pytest.approx(3 * TICK_S)
    assert passed == pytest.approx(2 * stall_s + 3 * TICK_S)


def test_what_was_waited_in_line_counts() -> None:
    counted, _ = waited_after([0.0, 0.0], in_line_s=0.03)
    assert counted == pytest.approx(0.03 + 2 * TICK_S)


class Jumping(selectors.SelectSelector):
    """Where the loop would wait, its clock goes on instead."""

    now = 0.0

    def select(self, timeout: float | None = None) -> Any:
        self.now += timeout or 0.0
        return super().select(0)


class Loop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self.clock = Jumping()
        super().__init__(self.clock)

    def time(self) -> float:
        return self.clock.now


class FarLink(Link):
    """Up, and with a Redis that takes ``answer_s`` for every call, and a network away."""

    def __init__(self, answer_s: float) -> None:
        super().__init__("redis://127.0.0.1:1", "far", self.join, self.part, LIMIT_S)
        self.answer_s = answer_s
        self.fell_at: float | None = None

    async def join(self) -> None:
        raise AssertionError("it does not join")

    def part(self) -> None:
        self.fell_at = asyncio.get_running_loop().time()

    async def _run(self, steps: Sequence[Step]) -> list[Answer]:
        await asyncio.sleep(self.answer_s)
        return [["ok"] for _ in steps]


def asked_every(pause_s: float, answer_s: float, for_s: float = 3.0) -> float | None:
    """When the link fell."""
    link = FarLink(answer_s)

    async def story() -> None:
        link._loop = asyncio.get_running_loop()
        link.rise()
        until_s = link._loop.time() + for_s
        while link._loop.time() < until_s:
            link.post(("x",))
            await asyncio.sleep(pause_s)
        await asyncio.sleep(1)

    with asyncio.Runner(loop_factory=Loop) as runner:
        runner.run(story())
    return link.fell_at


@pytest.mark.parametrize("answer_s", [0.001, 0.0105, 0.013, 0.019])
def test_steps_stand_behind_one_call_and_not_behind_all_before_it(answer_s: float) -> None:
    assert asked_every(0.003, answer_s) is None


def test_a_step_that_would_wait_longer_in_line_and_for_its_answer_ends_it() -> None:
    assert asked_every(0.003, 0.035) is not None


@pytest.mark.parametrize("answer_s", [0.045, 1.0])
def test_a_late_answer_ends_it_after_the_limit(answer_s: float) -> None:
    assert asked_every(1.0, answer_s) == pytest.approx(LIMIT_S, abs=TICK_S)
