"""The journal: bounded, never in the way, whole or not at all."""

from __future__ import annotations

import asyncio
import threading
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.db import DatabaseError, DataError, InterfaceError, connections

from routeradmin.adapters.state_memory import MemoryStore
from routeradmin.engine.state import CandidateKey, Change
from routeradmin.journal.models import Attempt, CandidateRecord, Event, Turn
from routeradmin.services import (
    changes,
    journal_writing,
    keeping,
    publishing,
    retention,
    turn_rows,
)
from routeradmin.services.changes import Actor
from routeradmin.services.journal import Journal
from routeradmin.services.retention import Keeping
from routeradmin.services.runtime import Runtime
from routeradmin.services.served import Served
from tests import factories as make
from tests.conftest import START, FakeClock

ADA = Actor("user:ada")
KEY = CandidateKey("acme-large", "acme-key")
NOW = datetime.fromtimestamp(START, UTC)


def change(kind: str = "cooldown-set", **fields: Any) -> Change:
    return Change(kind, KEY, START, "result", **fields)


def turn(id: str = "t1", **fields: Any) -> dict[str, Any]:
    attempt = {
        "n": 1,
        "target": "chat-1",
        "deployment": "acme-large",
        "credential": "acme-key",
        "class": "rate-limited",
        "status": 429,
        "dispatch": "rejected",
        "usage": {"input": None, "output": 7},
    }
    return {
        "id": id,
        "request_id": "q",
        "route": "chat",
        "model": "chat",
        "revision": 1,
        "halt": "succeeded",
        "started_at": "2026-01-01T00:00:00.000Z",
        "attempts": [attempt],
        "warnings": [{"code": "turn-retried"}],
        **fields,
    }


def test_a_full_journal_drops_the_newest_and_counts_them() -> None:
    journal = Journal(most_changes=2, most_turns=1)
    journal.heard([change("a"), change("b"), change("c")])
    journal.heard([change("d")])
    journal.record(turn("t1"))
    journal.record(turn("t2"))
    assert [one.kind for one in journal.take().changes] == ["a", "b"]
    assert (journal.dropped_changes, journal.dropped_turns) == (2, 1)
    assert journal.waiting == 0


@pytest.mark.parametrize(
    "large",
    [
        {"attempts": [{"n": n} for n in range(1, 8)]},
        {"routing": {"preferences": {"order": ["x" * 256] * 24}}},
    ],
)
def test_a_large_turn_takes_the_room_of_several(large: dict[str, Any]) -> None:
    """So that what waits for a database that is away is bounded by size too."""
    journal = Journal(most_turns=6)
    for id in ("t1", "t2", "t3", "t4"):
        journal.record(turn(id, **large))
    assert (len(journal.take().turns), journal.dropped_turns) == (1, 3)
    for id in ("s1", "s2", "s3", "s4", "s5", "s6", "s7"):
        journal.record(turn(id))
    batch = journal.take()
    assert (len(batch.turns), journal.dropped_turns) == (6, 4)
    journal.record(turn("t5", **large))
    journal.give_back(batch)
    kept = [record["id"] for record in journal.take().turns if isinstance(record, dict)]
    assert kept == ["s5", "s6", "t5"]
    assert journal.dropped_turns == 8


def test_what_was_not_written_goes_in_front_again() -> None:
    journal = Journal(most_changes=3)
    journal.heard([change("a"), change("b")])
    batch = journal.take()
    journal.heard([change("c"), change("d")])
    journal.give_back(batch)
    assert [one.kind for one in journal.take().changes] == ["b", "c", "d"]
    assert journal.dropped_changes == 1


def test_changes_become_events_with_their_evidence(runtime: Runtime) -> None:
    runtime.journal.heard([change(cls="rate-limited", status=429, until=START + 20, level=1)])
    journal_writing.write(runtime)
    event = Event.objects.get()
    assert (event.deployment, event.failure_class, event.status) == (
        "acme-large",
        "rate-limited",
        429,
    )
    assert event.until == NOW + timedelta(seconds=20)


def test_turns_are_written_with_attempts_once_and_missing_figures_stay_unknown(
    runtime: Runtime,
) -> None:
    runtime.journal.record(turn())
    journal_writing.write(runtime)
    runtime.journal.record(turn())
    runtime.journal.record(turn("t2"))
    journal_writing.write(runtime)
    assert Turn.objects.count() == Attempt.objects.count() == 2
    attempt = Attempt.objects.filter(turn__uid="t1").get()
    assert (attempt.input_tokens, attempt.output_tokens, attempt.duration_ms) == (None, 7, None)


def test_a_failing_database_loses_nothing_and_is_shown(
    runtime: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*args: object) -> None:
        raise DatabaseError("the disk is full")

    runtime.journal.heard([change()])
    with monkeypatch.context() as patch:
        patch.setattr(keeping, "save", broken)
        with pytest.raises(DatabaseError):
            journal_writing.write(runtime)
    assert "database" in runtime.degraded
    assert Event.objects.count() == 0
    journal_writing.write(runtime)
    assert Event.objects.count() == 1
    assert "database" not in runtime.degraded


@pytest.mark.parametrize("problem", [OverflowError("too large"), DataError("too long")])
def test_what_no_database_will_ever_take_keeps_nothing_else_waiting(
    runtime: Runtime, monkeypatch: pytest.MonkeyPatch, problem: Exception
) -> None:
    changes.replace_document(make.document(), ADA)
    async_to_sync(cooled)(runtime, 600)
    runtime.journal.record(turn())

    def refused(*args: object) -> None:
        raise problem

    with monkeypatch.context() as patch:
        patch.setattr(turn_rows, "write", refused)
        with pytest.raises(type(problem)):
            journal_writing.write(runtime)
    assert (runtime.journal.waiting, runtime.journal.dropped_turns) == (0, 1)
    journal_writing.write(runtime)
    assert CandidateRecord.objects.count() == 1


def test_a_record_that_cannot_be_written_takes_no_other_with_it(runtime: Runtime) -> None:
    too_large = turn("t3")
    too_large["attempts"][0]["usage"]["output"] = 2**70
    runtime.journal.heard([change("a"), change("b")])
    for one in (turn("t1"), turn("t2"), too_large, turn("t4"), turn("t5")):
        runtime.journal.record(one)
    with pytest.raises((OverflowError, DataError)):
        journal_writing.write(runtime)
    assert Event.objects.count() == 2
    assert set(Turn.objects.values_list("uid", flat=True)) == {"t1", "t2", "t4", "t5"}
    assert (runtime.journal.waiting, runtime.journal.dropped_turns) == (0, 1)


def test_what_is_left_waits_in_order_when_the_database_goes_between_two_parts(
    runtime: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = ["t1", "t2", "t3", "t4"]
    for uid in ids:
        runtime.journal.record(turn(uid))
    too_long = DataError("too long")
    problems = iter((too_long, too_long, InterfaceError("gone")))

    def fails(*args: object) -> None:
        raise next(problems)

    with monkeypatch.context() as patch:
        patch.setattr(turn_rows, "write", fails)
        with pytest.raises(InterfaceError):
            journal_writing.write(runtime)
    assert "database" in runtime.degraded
    kept = runtime.journal.take().turns
    assert [one["id"] for one in kept if not isinstance(one, Served)] == ids


@pytest.mark.django_db(transaction=True)
def test_the_last_flush_waits_for_a_batch_under_way_and_writes_it_if_that_failed(
    bare_runtime: Runtime,
) -> None:
    runtime, failing = bare_runtime, threading.Event()
    runtime.journal.record(turn())
    batch = runtime.journal.take()

    def fail() -> None:
        failing.wait()
        runtime.journal.give_back(batch)

    async def story() -> None:
        runtime.writer.submit(fail)
        finishing = asyncio.create_task(journal_writing.finish(runtime))
        await asyncio.sleep(0)
        failing.set()
        await finishing
        runtime.writer.submit(connections.close_all).result()

    asyncio.run(story())
    assert Turn.objects.count() == 1


def test_an_idle_journal_asks_the_database_nothing(
    runtime: Runtime, django_assert_num_queries: Any
) -> None:
    with django_assert_num_queries(0):
        journal_writing.write(runtime)


async def cooled(runtime: Runtime, seconds: float) -> None:
    await runtime.store.set_cooldown(KEY, seconds, "user:ada", "maintenance", runtime.clock())


def test_a_cooldown_survives_a_restart(runtime: Runtime, clock: FakeClock) -> None:
    changes.replace_document(make.document(), ADA)
    async_to_sync(cooled)(runtime, 600)
    journal_writing.write(runtime)
    assert CandidateRecord.objects.count() == 1
    runtime.store = MemoryStore()
    clock.advance(30)
    publishing.load(runtime)
    candidate = runtime.current.snapshot.routes["chat"].tiers[0].candidates[0]
    state = runtime.store.of(candidate)
    assert state.cooldown is not None
    assert (state.cooldown.cls, state.cooldown.message) == ("manual", "maintenance")
    assert state.cooldown_until == START + 600


def test_a_cleared_candidate_is_forgotten(runtime: Runtime) -> None:
    changes.replace_document(make.document(), ADA)
    async_to_sync(cooled)(runtime, 600)
    journal_writing.write(runtime)
    async_to_sync(runtime.store.clear)(KEY, "user:ada", runtime.clock())
    journal_writing.write(runtime)
    assert not CandidateRecord.objects.exists()
    assert {one.kind for one in Event.objects.all()} >= {"cooldown-set", "cooldown-cleared"}


def test_only_state_that_changed_is_written_again(
    runtime: Runtime, django_assert_num_queries: Any
) -> None:
    changes.replace_document(make.document(), ADA)
    async_to_sync(cooled)(runtime, 600)
    journal_writing.write(runtime)
    with django_assert_num_queries(0):
        keeping.save(runtime.store, runtime.kept, runtime.clock())


def test_old_records_go_by_age_and_by_count(runtime: Runtime) -> None:
    for number in range(6):
        at = (NOW - timedelta(days=20 - number)).isoformat()
        runtime.journal.record(turn(f"t{number}", started_at=at))
    runtime.journal.heard([change()] * 5)
    journal_writing.write(runtime)
    keep_turns, keep_events = Keeping(days=17.5, most=2), Keeping(days=1, most=3)
    assert dict(retention.delete_old(NOW, keep_turns, keep_events)) == {"turns": 4, "events": 2}
    assert [one.uid for one in Turn.objects.order_by("pk")] == ["t4", "t5"]
    assert Attempt.objects.count() == 2
    assert Event.objects.count() == 3
