"""Lengths of cooldowns and waits, and that none of them can overflow."""

from __future__ import annotations

import math
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from routeradmin.engine import backoff
from routeradmin.engine.policy import CooldownPolicy, RetryPolicy

POLICY = CooldownPolicy()
levels = st.integers(min_value=0, max_value=10**9)
hints = st.one_of(st.none(), st.floats(allow_nan=True, allow_infinity=True))


@pytest.mark.parametrize(
    ("level", "length_s", "after"),
    [(0, 1, 1), (1, 2, 2), (2, 4, 3), (10, 1024, 11), (11, 1800, 11), (5000, 1800, 5000)],
)
def test_a_rate_limit_without_a_hint_doubles_up_to_half_an_hour(level, length_s, after):
    assert backoff.rate_limited(POLICY, level, None) == (length_s, after)


@pytest.mark.parametrize(("hint_s", "length_s"), [(10, 10), (0.25, 0.25), (568157, 1800)])
def test_a_hint_counts_exactly_up_to_the_cap_and_leaves_the_level(hint_s, length_s):
    assert backoff.rate_limited(POLICY, 3, hint_s) == (length_s, 3)


@pytest.mark.parametrize("hint_s", [0, -5, math.nan])
def test_a_hint_that_is_no_wait_starts_the_local_backoff(hint_s):
    assert backoff.rate_limited(POLICY, 3, hint_s) == (8, 4)


@pytest.mark.parametrize(
    ("level", "hint_s", "length_s", "after"),
    [
        (0, None, 5, 1),
        (1, None, 10, 2),
        (3, None, 40, 4),
        (4, None, 60, 4),
        (5000, None, 60, 5000),
        (0, 20, 20, 1),
        (0, 2, 5, 1),
        (0, 99999, 1800, 1),
    ],
)
def test_a_transient_cooldown_doubles_up_to_a_minute_and_a_hint_lengthens_it(
    level, hint_s, length_s, after
):
    assert backoff.transient(POLICY, level, hint_s) == (length_s, after)


@pytest.mark.parametrize(
    ("number", "hint_s", "wait_s"),
    [
        (1, None, 1),
        (2, None, 2),
        (3, None, 4),
        (4, None, 8),
        (9, None, 8),
        (1, 60, 30),
        (1, 5, 5),
        (1, 0, 1),
        (3, 1, 4),
    ],
)
def test_waits_between_rounds_double_and_honour_a_bounded_hint(number, hint_s, wait_s):
    assert backoff.round_wait_s(RetryPolicy(), number, hint_s, Random(1)) == wait_s


@given(levels, hints)
def test_no_level_and_no_hint_overflows_or_leaves_the_bounds(level, hint_s):
    length_s, after = backoff.rate_limited(POLICY, level, hint_s)
    assert 0 < length_s <= POLICY.rate_limited_cap_s
    assert after in (level, level + 1)
    length_s, after = backoff.transient(POLICY, level, hint_s)
    assert POLICY.transient_base_s <= length_s <= POLICY.rate_limited_cap_s
    assert after in (level, level + 1)


@given(
    st.integers(1, 10**6),
    st.floats(0, 1e9),
    st.floats(0, 1e9),
    st.floats(0, 1),
    st.integers(),
)
def test_a_longer_hint_never_shortens_a_wait(number, one_s, other_s, jitter, seed):
    retry = RetryPolicy(jitter=jitter)
    shorter, longer = sorted((one_s, other_s))
    wait_s = backoff.round_wait_s(retry, number, shorter, Random(seed))
    assert wait_s <= backoff.round_wait_s(retry, number, longer, Random(seed))
    assert wait_s >= min(shorter, retry.max_server_delay_s)
    assert wait_s <= max(8.0, retry.max_server_delay_s)
