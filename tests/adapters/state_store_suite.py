"""What every StateStore must do: one suite, run against each implementation.

A subclass gives a ``make`` fixture: a callable that takes a snapshot and returns a store bound to
it, on the loop of ``run``. All times come from ``Clock``; nothing waits.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from dataclasses import replace
from typing import Any

import pytest

from routeradmin.engine.policy import DEFAULT_POLICY
from routeradmin.engine.request import SelectRequest
from routeradmin.engine.snapshot import Candidate, Snapshot
from routeradmin.engine.state import (
    CandidateKey,
    CandidateState,
    Change,
    Dispatch,
    FailureClass,
    Grant,
    Health,
    Lease,
    LeaseFenced,
    LeaseNotFound,
    Outcome,
    ReportState,
    StateStore,
)
from routeradmin.engine.turn_state import TurnState
from tests.engine.world import NOW, catalog, deployment, route

Make = Callable[[Snapshot], StateStore]
Run = Callable[[Coroutine[Any, Any, Any]], Any]

A = CandidateKey("a", "k")
OK = Outcome(None, Dispatch.ACCEPTED, 200, latency_ms=100.0, ttft_ms=20.0)
HUNG_UP = Outcome(FailureClass.CANCELLED, Dispatch.UNKNOWN)
LIMITED = Outcome(FailureClass.RATE_LIMITED, Dispatch.REJECTED, 429, hint_s=20.0, message="slow")
BROKEN = Outcome(FailureClass.TRANSIENT, Dispatch.UNKNOWN, 500)


def kept_turn(turn_id: str, model: str) -> TurnState:
    return TurnState(turn_id, model, "r", SelectRequest(model=model), NOW)


class Desk:
    """One store over one snapshot, and a clock that moves when told."""

    def __init__(self, make: Make, run: Run, *deployments: Any) -> None:
        self.run = run
        self.snapshot = catalog(list(deployments) or [deployment("a")])
        self.store = make(self.snapshot)
        self.now = NOW

    def candidate(self, name: str = "a") -> Candidate:
        candidates = self.snapshot.routes["r"].candidates
        return next(c for c in candidates if c.deployment.id == name)

    def state(self, name: str = "a") -> CandidateState:
        return self.store.of(self.candidate(name))

    def take(self, name: str = "a", tokens: int = 0, ttl_s: float = 120.0, **more: Any) -> Lease:
        lease = self.try_take(name, tokens, ttl_s, **more)
        assert lease is not None
        return lease

    def try_take(
        self, name: str = "a", tokens: int = 0, ttl_s: float = 120.0, **more: Any
    ) -> Lease | None:
        grant = Grant(self.candidate(name), "me", ttl_s, tokens, "r", **more)
        found: Lease | None = self.run(self.store.reserve(grant, self.now))
        return found

    def settle(self, lease: Lease, outcome: Outcome = OK, **more: Any) -> Any:
        return self.run(self.store.settle(lease.id, outcome, DEFAULT_POLICY, self.now, **more))

    def release(self, lease: Lease, **more: Any) -> Any:
        return self.run(self.store.release(lease.id, self.now, **more))

    def publish(self, *deployments: Any, **more: Any) -> None:
        self.snapshot = catalog(list(deployments), **more)
        self.store.bind(self.snapshot)


class StateStoreSuite:
    @pytest.fixture
    def run(self) -> Iterator[Run]:
        with asyncio.Runner() as runner:
            yield runner.run

    @pytest.fixture
    def make(self, run: Run) -> Make:
        raise NotImplementedError

    @pytest.fixture
    def desk(self, make: Make, run: Run) -> Desk:
        return Desk(make, run)

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
        lease = desk.take()
        desk.settle(lease, BROKEN)
        desk.run(desk.store.keep_answer(lease.id, {"released": True}, NOW))
        desk.run(desk.store.keep_answer(lease.id, {"released": False}, NOW))
        again = desk.settle(lease, LIMITED)
        assert again.state is ReportState.REPEATED
        assert again.answer == {"released": True}
        assert (desk.state().failures, desk.state().cooldown) == (1, None)

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

    # windows

    def test_requests_are_charged_at_the_grant_and_stay_charged(self, make: Make, run: Run) -> None:
        desk = Desk(make, run, deployment("a", rpm_limit=2))
        desk.release(desk.take())
        desk.settle(desk.take(), BROKEN)
        assert desk.state().rpm_used == 2
        assert desk.try_take() is None
        desk.now += 60
        assert desk.try_take() is not None
        assert desk.state().rpm_used == 1

    def test_an_old_window_never_comes_back(self, make: Make, run: Run) -> None:
        desk = Desk(make, run, deployment("a", rpm_limit=1))
        desk.take()
        desk.now -= 60
        assert desk.try_take() is not None

    @pytest.mark.parametrize(
        ("outcome", "charged"),
        [
            (replace(OK, input_tokens=30, output_tokens=12), 42),
            (replace(OK, input_tokens=30), 30),
            (OK, 100),
            (BROKEN, 0),
            (replace(BROKEN, input_tokens=30), 0),
            (replace(BROKEN, visible_output=True), 100),
            (replace(BROKEN, visible_output=True, output_tokens=7), 7),
            (HUNG_UP, 0),
        ],
    )
    def test_the_estimate_is_replaced_by_what_was_used(
        self, desk: Desk, outcome: Outcome, charged: int
    ) -> None:
        lease = desk.take(tokens=100)
        assert desk.state().tpm_used == 100
        desk.settle(lease, outcome)
        assert desk.state().tpm_used == charged

    def test_a_release_gives_the_estimate_back(self, desk: Desk) -> None:
        desk.release(desk.take(tokens=100))
        assert desk.state().tpm_used == 0

    def test_use_is_settled_in_the_window_of_the_grant_only(self, desk: Desk) -> None:
        old = desk.take(tokens=100)
        desk.now += 60
        desk.take(tokens=7)
        desk.settle(old, replace(OK, input_tokens=900))
        assert desk.state().tpm_used == 7

    @pytest.mark.parametrize(
        ("first", "second", "granted"),
        [(0, 500, True), (60, 40, True), (60, 41, False), (500, 0, False)],
    )
    def test_tokens_fit_or_enter_an_empty_window(
        self, make: Make, run: Run, first: int, second: int, granted: bool
    ) -> None:
        desk = Desk(make, run, deployment("a", tpm_limit=100))
        desk.take(tokens=first)
        assert (desk.try_take(tokens=second) is not None) is granted

    # cursors, sequence

    def test_only_a_grant_moves_the_turn(self, make: Make, run: Run) -> None:
        desk = Desk(make, run, deployment("a", max_parallel_requests=1))
        assert desk.store.cursor("r/0") == 0
        desk.take(cursor="r/0")
        assert desk.try_take(cursor="r/0") is None
        assert desk.store.cursor("r/0") == 1
        assert desk.store.cursor("r/1") == 0

    def test_the_sequence_grows_with_every_change(self, desk: Desk) -> None:
        seen = [desk.store.seq]

        def grown() -> bool:
            seen.append(desk.store.seq)
            return seen[-1] > seen[-2]

        lease, other = desk.take(), desk.take(ttl_s=5)
        assert grown()
        desk.settle(lease)
        assert grown()
        desk.store.expire(NOW + 5)
        assert grown()
        desk.run(desk.store.set_cooldown(A, 5, "user:ann", "", NOW))
        assert grown()
        desk.run(desk.store.clear(A, "user:ann", NOW))
        assert grown()
        desk.store.bind(desk.snapshot)
        assert grown()
        assert desk.settle(other).state is ReportState.EXPIRED

    # people and probes

    def test_a_cooldown_by_hand_lasts_until_its_later_end(self, desk: Desk) -> None:
        change = desk.run(desk.store.set_cooldown(A, 60, "user:ann", "deploy", NOW))
        assert isinstance(change, Change)
        assert (change.cls, change.until, change.set_by) == ("manual", NOW + 60, "user:ann")
        desk.run(desk.store.set_cooldown(A, 10, "user:bob", "", NOW))
        assert desk.state().cooldown_until == NOW + 60

    def test_clearing_takes_levels_counts_and_cooldown_away(self, desk: Desk) -> None:
        desk.settle(desk.take(), replace(LIMITED, hint_s=None))
        assert desk.state().rate_level == 1
        assert desk.run(desk.store.clear(A, "user:ann", desk.now)) is not None
        state = desk.state()
        assert (state.rate_level, state.cooldown, state.health) == (0, None, Health.HEALTHY)
        assert desk.run(desk.store.clear(A, "user:ann", desk.now)) is None

    def test_probes_make_unhealthy_and_healthy(self, desk: Desk) -> None:
        def probe(ok: bool) -> Any:
            return desk.run(desk.store.probed(A, ok, 2, DEFAULT_POLICY, BROKEN, desk.now))

        probe(False)
        assert desk.state().health is Health.DEGRADED
        assert [one.kind for one in probe(False)] == ["unhealthy"]
        assert [one.kind for one in probe(True)] == ["healthy"]
        assert desk.state().health is Health.HEALTHY
        assert (desk.state().active, desk.state().rpm_used) == (0, 0)

    # publishing

    def test_the_same_id_keeps_its_state_and_a_departed_one_loses_it(
        self, make: Make, run: Run
    ) -> None:
        desk = Desk(make, run, deployment("a"), deployment("b"))
        held = desk.take("b")
        for name in "ab":
            desk.settle(desk.take(name), LIMITED)
        desk.publish(deployment("a", weight=7))
        assert desk.state("a").cooldown is not None
        assert {state.key.deployment for state in desk.store.states()} == {"a"}
        assert desk.settle(held, LIMITED).changes == ()
        desk.publish(deployment("a"), deployment("b"))
        assert (desk.state("b").cooldown, desk.state("b").active) == (None, 0)

    def test_a_new_secret_clears_the_cooldown_and_fences_late_results(self, desk: Desk) -> None:
        late, old = desk.take(tokens=50), desk.take()
        desk.settle(old, LIMITED)
        d = deployment("a")
        rotated = replace(d, credentials=(replace(d.credentials[0], secret_version=1),))
        desk.publish(rotated)
        assert desk.state().cooldown is None
        settled = desk.settle(late, LIMITED)
        assert settled.changes == ()
        state = desk.state()
        assert (state.active, state.cooldown, state.failures) == (0, None, 1)
        fresh = desk.take()
        assert fresh.secret_version == 1
        desk.settle(fresh, LIMITED)
        assert desk.state().cooldown is not None

    def test_names_that_patterns_took_have_states_of_their_own(self, make: Make, run: Run) -> None:
        from routeradmin.engine.resolve import resolve

        star = deployment("s", upstream="*")
        snapshot = catalog([star], route(["s"], alias="v-*"))
        store = make(snapshot)
        one, two = (resolve(snapshot, name).route.candidates[0] for name in ("v-x", "v-y"))
        lease = run(store.reserve(Grant(one, "me", 60, 0, "r"), NOW))
        run(store.settle(lease.id, LIMITED, DEFAULT_POLICY, NOW))
        assert store.of(one).cooldown is not None
        assert store.of(two).cooldown is None
        store.bind(snapshot)
        assert store.of(one).cooldown is not None
        store.bind(catalog([deployment("other")]))
        assert list(store.states()) == []

    # turns and restarts

    def test_turns_are_kept_for_an_hour_after_their_last_change(self, desk: Desk) -> None:
        def save(turn_id: str, model: str, at: float) -> None:
            desk.run(desk.store.save_turn(kept_turn(turn_id, model), at))

        def load(at: float) -> str | None:
            turn = desk.run(desk.store.load_turn("t", at))
            return None if turn is None else turn.model

        assert load(NOW) is None
        save("t", "m1", NOW)
        assert load(NOW + 3599) == "m1"
        save("t", "m2", NOW + 1000)
        assert load(NOW + 4599) == "m2"
        save("u", "m", NOW + 5000)
        assert load(NOW + 5000) is None

    def test_a_lease_tells_its_phase(self, desk: Desk) -> None:
        def phase(lease_id: str) -> ReportState:
            return desk.run(desk.store.phase(lease_id))

        one, two, three = desk.take(), desk.take(), desk.take()
        desk.settle(one, LIMITED)
        desk.run(desk.store.release(two.id, NOW))
        assert [phase(one.id), phase(two.id)] == [ReportState.REPEATED, ReportState.RELEASED]
        assert phase(three.id) is ReportState.OPEN
        desk.store.expire(three.expires_at)
        assert phase(three.id) is ReportState.EXPIRED
        with pytest.raises(LeaseNotFound):
            phase("never issued")

    def test_cooldowns_levels_and_evidence_survive_a_restart(self, make: Make, run: Run) -> None:
        desk = Desk(make, run, deployment("a"), deployment("b"))
        desk.settle(desk.take(), replace(LIMITED, hint_s=None))
        desk.settle(desk.take(), LIMITED)
        records = desk.store.export(NOW)
        assert len(records) == 1
        reborn = Desk(make, run, deployment("a"), deployment("b"))
        reborn.store.restore(records, NOW + 5)
        before, after = desk.state(), reborn.state()
        assert after.cooldown == before.cooldown
        assert (after.rate_level, after.last_error) == (before.rate_level, before.last_error)
        assert after.cooldown_until == NOW + 20
        assert after.active == 0

    def test_a_clock_that_stands_earlier_lengthens_nothing(self, make: Make, run: Run) -> None:
        desk = Desk(make, run)
        desk.settle(desk.take(), LIMITED)
        reborn = Desk(make, run)
        reborn.store.restore(desk.store.export(NOW), NOW - 1000)
        assert reborn.state().cooldown_until == NOW - 980

    def test_a_secret_replaced_while_away_clears_what_is_restored(
        self, make: Make, run: Run
    ) -> None:
        desk = Desk(make, run)
        desk.settle(desk.take(), LIMITED)
        d = deployment("a")
        rotated = replace(d, credentials=(replace(d.credentials[0], secret_version=4),))
        reborn = Desk(make, run, rotated)
        reborn.store.restore(desk.store.export(NOW), NOW)
        assert reborn.state().cooldown is None
        assert reborn.state().secret_version == 4
