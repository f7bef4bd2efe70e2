"""What of a wait is Redis's: with a clock of the test's own, looks as early or late as it says."""

from __future__ import annotations

import pytest

from routeradmin.adapters.state_redis.waiting import TICK_S, Waiting


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
