"""What every StateStore must do: one suite, run against each implementation.

A subclass gives a ``make`` fixture: a callable that takes a snapshot and returns a store bound to
it, on the loop of ``run``. Times are told; nothing waits.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from routeradmin.engine.policy import DEFAULT_POLICY
from routeradmin.engine.request import SelectRequest
from routeradmin.engine.state import (
    Change,
    Grant,
    Health,
    LeaseNotFound,
    Outcome,
    ReportState,
)
from routeradmin.engine.turn_book import Kept, Told, TurnMoved
from routeradmin.engine.turn_state import Opening
from tests.adapters.key_rules import KeyRules
from tests.adapters.lease_rules import LeaseRules
from tests.adapters.store_desk import BROKEN, HUNG_UP, LIMITED, OK, A, Desk, Make, Run, kept_turn
from tests.engine.world import NOW, catalog, deployment, route


class StateStoreSuite(LeaseRules, KeyRules):
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
        def save(turn_id: str, model: str, at: float, version: int = 0) -> None:
            assert desk.run(desk.store.save_turn(kept_turn(turn_id, model), at, version))

        def load(at: float) -> Kept | None:
            found: Kept | None = desk.run(desk.store.load_turn("t", at))
            return found

        assert load(NOW) is None
        save("t", "m1", NOW)
        first = load(NOW + 3599)
        assert first is not None
        assert first.turn.model == "m1"
        save("t", "m2", NOW + 1000, first.version)
        second = load(NOW + 4599)
        assert second is not None
        assert second.turn.model == "m2"
        save("u", "m", NOW + 5000)
        assert load(NOW + 5000) is None

    def test_a_turn_is_moved_on_by_the_first_who_saw_it(self, desk: Desk) -> None:
        desk.run(desk.store.save_turn(kept_turn("t", "m"), NOW, 0))
        found = desk.run(desk.store.load_turn("t", NOW))
        found.turn.wait_ms = 7
        assert desk.run(desk.store.load_turn("t", NOW)).turn.wait_ms == 0, "a copy was changed"
        assert desk.run(desk.store.save_turn(found.turn, NOW, found.version)) is True
        assert desk.run(desk.store.save_turn(kept_turn("t", "m"), NOW, found.version)) is False
        with pytest.raises(TurnMoved):
            desk.take(turn_id="t", turn_version=found.version)
        assert desk.state().active == 0
        assert desk.run(desk.store.load_turn("t", NOW)).turn.wait_ms == 7

    def test_a_grant_keeps_its_turns_opening(self, desk: Desk) -> None:
        opening = Opening("", "m", "r", SelectRequest("m"), desk.candidate().key, 0, "", 0.0)
        lease = desk.take(keep=opening)
        found = desk.run(desk.store.load_turn(lease.id, NOW))
        assert found.turn == opening._replace(id=lease.id, lease_id=lease.id, at=NOW)

    def test_an_attempt_is_known_by_its_grant_before_the_turn_tells_of_it(self, desk: Desk) -> None:
        lease = desk.take(turn_id="t", keep=kept_turn("t", "m"))
        first = desk.run(desk.store.load_turn("t", NOW))
        assert first.claim == (A, "r", 0, lease.id, NOW)
        desk.store.note_turn(kept_turn("t", "m"), NOW, 0)
        noted = desk.run(desk.store.load_turn("t", NOW))
        assert (noted.claim, noted.version > first.version) == (None, True)
        again = desk.take(turn_id="t", turn_version=noted.version)
        assert desk.run(desk.store.load_turn("t", NOW)).claim.lease_id == again.id

    def test_a_report_moves_its_turn_on_in_the_same_step(self, desk: Desk) -> None:
        lease = desk.take(turn_id="t", keep=kept_turn("t", "m"))

        def tell(settlement: Any, kept: Any) -> Told:
            kept.turn.wait_ms += 5
            return Told({"claimed": kept.claim.lease_id}, kept.turn)

        assert desk.settle(lease, tell=tell).answer == {"claimed": lease.id}
        found = desk.run(desk.store.load_turn("t", NOW))
        assert (found.turn.wait_ms, found.claim) == (5, None)

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
