"""The in-memory store: the shared suite, and what is its own."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from threading import Thread
from typing import Any

import pytest

from routeradmin.adapters import local_states, state_memory
from routeradmin.adapters.state_memory import MemoryStore
from routeradmin.engine import leases
from routeradmin.engine.resolve import resolve
from routeradmin.engine.snapshot import Snapshot
from routeradmin.engine.state import CandidateKey, Change, Grant, LeaseNotFound
from routeradmin.engine.store import StateStore
from tests.adapters.state_store_suite import StateStoreSuite
from tests.adapters.store_desk import LIMITED, Desk, Make, Run
from tests.engine.world import ASK, NOW, catalog, deployment, route


def made(snapshot: Snapshot) -> MemoryStore:
    store = MemoryStore()
    store.bind(snapshot)
    return store


class TestMemoryStore(StateStoreSuite):
    @pytest.fixture
    def make(self, run: Run) -> Make:
        return made


@pytest.fixture
def desk() -> Desk:
    return Desk(made, asyncio.run)


def test_it_is_a_state_store() -> None:
    store: StateStore = MemoryStore("epoch")
    assert store.epoch == "epoch"
    assert MemoryStore().epoch != MemoryStore().epoch


def test_ends_that_were_moved_do_not_pile_up(desk: Desk) -> None:
    lease = desk.take()
    for _ in range(5000):
        desk.run(desk.store.renew(lease.id, 60, desk.now))
    book = desk.store._book  # type: ignore[attr-defined]
    assert len(book._ends) < 2000
    assert [one.id for one in desk.store.expire(NOW + 60)] == [lease.id]


def test_closed_leases_are_forgotten_after_an_hour(desk: Desk) -> None:
    lease = desk.take()
    desk.release(lease)
    desk.now += leases.REMEMBER_S + 1
    assert desk.release(lease) is False
    desk.release(desk.take())
    with pytest.raises(LeaseNotFound):
        desk.release(lease)


def test_states_of_matched_names_are_bounded_but_keep_what_is_in_use(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(local_states, "MATCHED_KEPT", 3)
    snapshot = catalog([deployment("s", upstream="*")], route(["s"], alias="v-*"))
    store = made(snapshot)

    def grant(name: str) -> Any:
        candidate = resolve(snapshot, name).route.candidates[0]
        return asyncio.run(store.reserve(Grant(candidate, "", 60, 0, "r"), NOW))

    held = grant("v-held")
    for number in range(5):
        asyncio.run(store.release(grant(f"v-{number}").id, NOW))
    names = {state.key.matched for state in store.states()}
    assert names == {"held", "3", "4"}
    assert store.of(resolve(snapshot, "v-held").route.candidates[0]).active == 1
    asyncio.run(store.release(held.id, NOW))


def test_cursors_and_rows_are_bounded(monkeypatch: pytest.MonkeyPatch, desk: Desk) -> None:
    monkeypatch.setattr(state_memory, "CURSORS_KEPT", 2)
    monkeypatch.setattr(local_states, "TABLES_KEPT", 1)
    for name in ("a", "b", "b", "c"):
        desk.take(cursor=name)
    assert [desk.store.cursor(name) for name in "abc"] == [0, 2, 1]
    for _ in range(2):
        table = catalog([deployment("a")]).routes["r"].tiers[0].table(ASK)
        assert len(desk.store.row(table)) == 1


def test_nothing_is_kept_of_a_table_made_for_one_request(desk: Desk) -> None:
    tier = desk.snapshot.routes["r"].tiers[0]
    table = tier.table(replace(ASK, opaque=("",)))
    local = desk.store._local  # type: ignore[attr-defined]
    assert len(desk.store.row(table)) == 1
    assert local._rows == {}


def test_a_cooldown_that_ended_is_written_down_by_the_tick(desk: Desk) -> None:
    heard: list[Change] = []
    desk.store.listen(lambda changes: heard.extend(changes))
    desk.settle(desk.take(), LIMITED)
    heard.clear()
    desk.store.expire(NOW + 19)
    assert heard == []
    desk.store.expire(NOW + 20)
    assert [(one.kind, one.at) for one in heard] == [("recovering", NOW + 20)]
    assert not desk.state().suspect
    desk.store.expire(NOW + 21)
    assert len(heard) == 1
    assert desk.store.expire(NOW + 21.1) == ()


def test_changes_from_many_threads_lose_nothing() -> None:
    desk = Desk(made, asyncio.run, deployment("a", max_parallel_requests=50))

    def work() -> None:
        for _ in range(200):
            lease = desk.try_take()
            if lease is not None:
                desk.release(lease)

    threads = [Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert desk.state().active == 0


def test_a_departed_candidate_that_an_old_request_still_asks_for_is_looked_at(
    desk: Desk,
) -> None:
    old = desk.snapshot.routes["r"].tiers[0].table(ASK)
    desk.publish(deployment("b"))
    assert [state.suspect for state in desk.store.row(old)] == [True]
    assert desk.store.suspects(old) == (0,)


def test_state_of_a_key_outside_the_catalog_stays_suspect(desk: Desk) -> None:
    desk.run(desk.store.set_cooldown(CandidateKey("gone", "k"), 5, "user:ann", "", NOW))
    kept = [state for state in desk.store.states() if state.key.deployment == "gone"]
    assert kept[0].suspect
    desk.store.bind(desk.snapshot)
    assert all(state.key.deployment != "gone" for state in desk.store.states())


def test_listeners_hear_of_replaced_secrets() -> None:

    desk = Desk(made, asyncio.run)
    desk.settle(desk.take(), LIMITED)
    heard: list[str] = []

    def listener(changes: Sequence[Change]) -> None:
        heard.extend(change.kind for change in changes)

    desk.store.listen(listener)
    d = deployment("a")
    desk.publish(replace(d, credentials=(replace(d.credentials[0], secret_version=1),)))
    assert heard == ["cooldown-cleared"]
