"""What every StateStore must do with leases: slots, expiry, reports."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from routeradmin.engine.policy import DEFAULT_POLICY
from routeradmin.engine.state import (
    LeaseFenced,
    LeaseNotFound,
    ReportState,
)
from routeradmin.engine.turn_book import Told
from tests.adapters.store_desk import BROKEN, HUNG_UP, LIMITED, OK, A, Desk, Make, Run
from tests.engine.world import NOW, deployment


class LeaseRules:
    # slots

    def test_a_grant_takes_a_slot_and_a_report_gives_it_back(self, desk: Desk) -> None:
        lease = desk.take()
        assert (lease.key, lease.owner, lease.route_id) == (A, "me", "r")
        assert (lease.granted_at, lease.expires_at) == (NOW, NOW + 120)
        assert desk.state().active == 1
        assert desk.settle(lease).state is ReportState.OPEN
        assert desk.state().active == 0

    def test_releasing_twice_gives_back_once(self, desk: Desk) -> None:
        lease, other = desk.take(), desk.take()
        assert desk.release(lease) is True
        assert desk.release(lease) is False
        assert desk.state().active == 1
        desk.settle(other)
        assert desk.release(other) is False
        assert desk.state().active == 0

    def test_the_last_slot_is_given_once(self, make: Make, run: Run) -> None:
        desk = Desk(make, run, deployment("a", max_parallel_requests=2))
        first = desk.take()
        desk.take()
        assert desk.try_take() is None
        desk.release(first)
        assert desk.try_take() is not None

    def test_leases_differ_and_can_be_read(self, desk: Desk) -> None:
        first, second = desk.take(turn_id="t", policy_id="p"), desk.take()
        assert first.id != second.id
        assert desk.run(desk.store.lease(first.id)) == first
        assert (first.turn_id, first.policy_id) == ("t", "p")

    def test_a_lease_that_was_never_issued_is_not_found(self, desk: Desk) -> None:
        for asked in (
            desk.store.release("nope", NOW),
            desk.store.renew("nope", 5, NOW),
            desk.store.settle("nope", OK, DEFAULT_POLICY, NOW),
            desk.store.lease("nope"),
        ):
            with pytest.raises(LeaseNotFound):
                desk.run(asked)

    def test_a_wrong_generation_is_fenced_and_changes_nothing(self, desk: Desk) -> None:
        lease = desk.take()
        wrong = lease.generation + 1
        for asked in (
            desk.store.release(lease.id, NOW, wrong),
            desk.store.renew(lease.id, 5, NOW, wrong),
            desk.store.settle(lease.id, OK, DEFAULT_POLICY, NOW, wrong),
        ):
            with pytest.raises(LeaseFenced):
                desk.run(asked)
        assert desk.state().active == 1
        assert desk.release(lease, generation=lease.generation) is True

    # expiry

    def test_a_lease_that_runs_out_gives_its_slot_back_once(self, desk: Desk) -> None:
        lease = desk.take(ttl_s=10)
        assert list(desk.store.expire(NOW + 9.9)) == []
        over = desk.store.expire(NOW + 10)
        assert [one.id for one in over] == [lease.id]
        assert desk.state().active == 0
        assert list(desk.store.expire(NOW + 20)) == []

    def test_a_late_holder_is_fenced_but_its_outcome_counts_once(self, desk: Desk) -> None:
        lease = desk.take(ttl_s=10)
        desk.now += 11
        for asked in (
            desk.store.release(lease.id, desk.now),
            desk.store.renew(lease.id, 5, desk.now),
        ):
            with pytest.raises(LeaseFenced):
                desk.run(asked)
        first = desk.settle(lease, LIMITED)
        assert first.state is ReportState.EXPIRED
        assert first.cooldown.until == desk.now + 20
        assert desk.state().active == 0
        assert desk.settle(lease, LIMITED).state is ReportState.REPEATED
        assert desk.state().failures == 1

    def test_renewing_moves_the_end(self, desk: Desk) -> None:
        lease = desk.take(ttl_s=10)
        desk.now += 5
        renewed = desk.run(desk.store.renew(lease.id, 60, desk.now))
        assert (renewed.id, renewed.expires_at) == (lease.id, desk.now + 60)
        assert desk.run(desk.store.lease(lease.id)).expires_at == desk.now + 60
        assert list(desk.store.expire(NOW + 11)) == []
        assert [one.id for one in desk.store.expire(NOW + 66)] == [lease.id]

    def test_a_shorter_renewal_ends_sooner(self, desk: Desk) -> None:
        lease = desk.take(ttl_s=100)
        desk.run(desk.store.renew(lease.id, 5, desk.now))
        assert [one.id for one in desk.store.expire(NOW + 5)] == [lease.id]

    def test_what_is_given_back_cannot_be_renewed(self, desk: Desk) -> None:
        lease = desk.take()
        desk.release(lease)
        with pytest.raises(LeaseFenced):
            desk.run(desk.store.renew(lease.id, 5, NOW))

    def test_an_expired_slot_is_free_for_the_next_grant(self, make: Make, run: Run) -> None:
        desk = Desk(make, run, deployment("a", max_parallel_requests=1))
        desk.take(ttl_s=10)
        assert desk.try_take() is None
        desk.now += 10
        assert desk.try_take() is not None
        assert desk.state().active == 1

    # reports

    def test_a_repeated_report_changes_nothing_and_meets_the_first_answer(self, desk: Desk) -> None:
        lease, answers = desk.take(), iter(({"released": True}, {"released": False}))
        for _ in range(2):
            told = desk.settle(lease, BROKEN, tell=lambda *_: Told(next(answers), None))
            assert told.answer == {"released": True}
        again = desk.settle(lease, LIMITED)
        assert (again.state, again.is_first) == (ReportState.REPEATED, False)
        assert again.answer == {"released": True}
        assert (desk.state().failures, desk.state().cooldown) == (1, None)

    def test_the_first_report_after_a_release_gives_the_answer_of_all(self, desk: Desk) -> None:
        lease = desk.take()
        desk.release(lease)
        told = [
            desk.settle(lease, LIMITED, tell=lambda *_, n=n: Told({"n": n}, None)) for n in range(2)
        ]
        assert [(one.state, one.answer, one.is_first) for one in told] == [
            (ReportState.RELEASED, {"n": 0}, True),
            (ReportState.RELEASED, {"n": 0}, False),
        ]
        assert desk.state().cooldown is None

    def test_who_decides_what_follows_a_report_sees_its_slot_free(
        self, make: Make, run: Run
    ) -> None:
        desk = Desk(make, run, deployment("a", max_parallel_requests=1, tpm_limit=100))
        seen: list[tuple[int, int]] = []

        def tell(*_: Any) -> Told:
            seen.append((desk.state().active, desk.state().tpm_used))
            return Told({}, None)

        desk.settle(desk.take(tokens=50), replace(OK, input_tokens=20), tell=tell)
        assert seen == [(0, 20)]
        assert (desk.state().active, desk.state().tpm_used) == (0, 20)

    def test_a_report_after_a_release_changes_nothing(self, desk: Desk) -> None:
        lease = desk.take()
        desk.release(lease)
        assert desk.settle(lease, LIMITED).state is ReportState.RELEASED
        assert desk.state().cooldown is None

    def test_a_success_leaves_its_times(self, desk: Desk) -> None:
        for latency_ms in (100.0, 200.0):
            desk.settle(desk.take(), replace(OK, latency_ms=latency_ms))
        state = desk.state()
        assert state.latency_ema_ms == pytest.approx(120.0)
        assert (state.latencies_ms, state.ttfts_ms) == ([100.0, 200.0], [20.0, 20.0])
        assert (state.successes, state.failures) == (2, 0)

    def test_a_failure_leaves_no_time(self, desk: Desk) -> None:
        desk.settle(desk.take(), replace(BROKEN, latency_ms=5.0))
        assert desk.state().latency_ema_ms is None

    def test_a_caller_that_hangs_up_is_no_failure(self, desk: Desk) -> None:
        for _ in range(5):
            assert desk.settle(desk.take(), HUNG_UP).changes == ()
        state = desk.state()
        assert (state.failures, state.active, state.cooldown) == (0, 0, None)

    def test_a_rate_limit_cools_and_is_told_after_it_is_visible(self, desk: Desk) -> None:
        heard: list[tuple[str, float]] = []

        def listener(changes: Any) -> None:
            heard.extend((one.kind, desk.state().cooldown_until) for one in changes)

        desk.store.listen(listener)
        settled = desk.settle(desk.take(), LIMITED)
        assert ("cooldown-set", NOW + 20) in heard
        assert settled.cooldown.cls == "rate-limited"
        assert settled.cooldown == desk.state().cooldown

    def test_a_success_that_started_before_a_cooldown_does_not_clear_it(self, desk: Desk) -> None:
        early = desk.take()
        late_failure = desk.take()
        desk.now += 1
        desk.settle(late_failure, LIMITED)
        desk.now += 1
        desk.settle(early)
        assert desk.state().cooldown_until == NOW + 21
        desk.settle(desk.take())
        assert desk.state().cooldown is None

    def test_the_grant_does_not_ask_about_cooldowns(self, desk: Desk) -> None:
        desk.run(desk.store.set_cooldown(A, 60, "user:ann", "test", NOW))
        assert desk.try_take() is not None
