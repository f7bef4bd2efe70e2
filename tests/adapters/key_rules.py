"""What every StateStore must do with the limits of API keys."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from routeradmin.engine.key_use import DAY_S, Allowance, KeyRefused, KeyUse
from routeradmin.engine.state import Lease
from tests.adapters.store_desk import BROKEN, OK, Desk, Make, Run
from tests.engine.world import NOW, deployment

KEY = "key-1"


def take(desk: Desk, tokens: int = 0, ttl_s: float = 120.0, **limits: Any) -> Lease | None:
    """A lease that this key pays for; None where the candidate is full. Raises KeyRefused."""
    allowance = Allowance(KEY, **limits)
    return desk.try_take(tokens=tokens, ttl_s=ttl_s, owner=KEY, allowance=allowance)


def granted(desk: Desk, tokens: int = 0, ttl_s: float = 120.0, **limits: Any) -> Lease:
    lease = take(desk, tokens, ttl_s, **limits)
    assert lease is not None
    return lease


def refused(desk: Desk, tokens: int = 0, **limits: Any) -> str:
    with pytest.raises(KeyRefused) as refusal:
        take(desk, tokens, **limits)
    return refusal.value.limit


def use(desk: Desk) -> KeyUse:
    found = desk.store.key_use(KEY, desk.now)
    return replace(found, seq=0, since=0)


class KeyRules:
    def test_attempts_at_once_are_given_back_on_every_way_out(self, desk: Desk) -> None:
        def one() -> Lease:
            lease = granted(desk, max_parallel_requests=1, ttl_s=10)
            assert refused(desk, max_parallel_requests=1) == "max_parallel_requests"
            return lease

        desk.release(one())
        desk.settle(one())
        desk.settle(one(), BROKEN)
        late = one()
        desk.now += 10
        one()
        desk.settle(late)
        assert use(desk).active == 1

    def test_requests_of_a_minute_stay_counted_until_it_ends(self, desk: Desk) -> None:
        for _ in range(2):
            desk.release(granted(desk, rpm_limit=2))
        assert refused(desk, rpm_limit=2) == "rpm_limit"
        desk.now += 60
        granted(desk, rpm_limit=2)
        assert use(desk).requests == 1

    def test_tokens_are_held_and_then_what_was_used(self, desk: Desk) -> None:
        lease = granted(desk, 80, tpm_limit=100)
        assert refused(desk, 30, tpm_limit=100) == "tpm_limit"
        desk.settle(lease, replace(OK, input_tokens=20, output_tokens=5))
        assert (use(desk).tokens, use(desk).day_tokens) == (25, 25)
        failed = granted(desk, 70, tpm_limit=100)
        desk.settle(failed, replace(BROKEN, input_tokens=70))
        assert (use(desk).tokens, use(desk).day_tokens) == (25, 25), "nothing visible: given back"
        desk.settle(granted(desk, 70, tpm_limit=100), OK)
        assert use(desk).tokens == 95, "a success that reports no usage keeps its estimate"

    def test_a_lease_that_ran_out_keeps_its_estimate_until_it_is_reported(self, desk: Desk) -> None:
        lease = granted(desk, 50, ttl_s=10, tpm_limit=100)
        desk.now += 11
        other = granted(desk, 10, tpm_limit=100)
        assert (use(desk).active, use(desk).tokens) == (1, 60)
        desk.settle(lease, replace(OK, input_tokens=5))
        assert (use(desk).active, use(desk).tokens) == (1, 15)
        desk.release(other)
        assert (use(desk).active, use(desk).tokens) == (0, 5)

    def test_tokens_of_a_day_outlast_its_minutes(self, desk: Desk) -> None:
        desk.settle(granted(desk, 60, tokens_per_day=100), OK)
        desk.now += 120
        assert refused(desk, 50, tokens_per_day=100) == "tokens_per_day"
        granted(desk, 40, tokens_per_day=100)
        desk.now = NOW - NOW % DAY_S + DAY_S
        granted(desk, 100, tokens_per_day=100)
        assert (use(desk).day_tokens, use(desk).tokens) == (100, 100)

    def test_an_estimate_above_the_whole_limit_enters_an_empty_window(self, desk: Desk) -> None:
        lease = granted(desk, 500, tpm_limit=100)
        assert refused(desk, 0, tpm_limit=100) == "tpm_limit"
        desk.release(lease)
        granted(desk, 500, tpm_limit=100)

    def test_a_limit_of_nothing_admits_nothing(self, desk: Desk) -> None:
        for name in Allowance._fields[1:]:
            assert refused(desk, **{name: 0}) == name

    def test_key_and_candidate_are_charged_together_or_not_at_all(
        self, make: Make, run: Run
    ) -> None:
        desk = Desk(make, run, deployment("a", max_parallel_requests=1))
        granted(desk, 10, rpm_limit=5)
        assert take(desk, 10, rpm_limit=5) is None
        assert use(desk) == replace(use(desk), active=1, requests=1, tokens=10, day_tokens=10)
        refused(desk, rpm_limit=1)
        assert (desk.state().active, desk.state().rpm_used) == (1, 1)

    def test_a_key_without_limits_is_not_counted(self, desk: Desk) -> None:
        desk.take(owner=KEY)
        assert use(desk).active == 0

    def test_a_key_that_is_no_more_is_forgotten_and_its_leases_hurt_no_other(
        self, desk: Desk
    ) -> None:
        lease = granted(desk, 10, max_parallel_requests=1)
        desk.store.forget_keys([KEY])
        assert use(desk).active == 0
        granted(desk, 10, max_parallel_requests=1)
        desk.settle(lease)
        assert refused(desk, max_parallel_requests=1) == "max_parallel_requests"
