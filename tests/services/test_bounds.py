"""Nothing that a client sends makes the process keep more and more."""

from __future__ import annotations

import asyncio
import random
from dataclasses import replace

import pytest
from pydantic import ValidationError

from routeradmin.adapters.state_memory import MemoryStore
from routeradmin.adapters.state_redis.apart import MOST_KEPT, Apart
from routeradmin.catalog.document import Document
from routeradmin.engine import leases, turn_book
from routeradmin.engine.leases import LeaseBook
from routeradmin.engine.request import SelectRequest
from routeradmin.engine.state import CandidateKey, CandidateState, Lease, ReportState
from routeradmin.engine.turn_book import Kept, TurnBook, weight_of
from routeradmin.engine.turn_state import Attempt, Opening, TurnState
from routeradmin.services import reporting, selecting
from routeradmin.services.answers import KEPT_CHARS
from routeradmin.services.asking import MOST_EXCLUDED, excluded
from routeradmin.services.circumstances import MOST_HEADER_CHARS, read_headers
from routeradmin.services.keys import Key
from routeradmin.services.messages import Report, Select
from routeradmin.services.refusals import TooManyExcluded
from routeradmin.services.runtime import Runtime
from tests.engine.world import NOW, catalog, deployment, route

KEY = Key("u", "caller", frozenset({"select"}))
A = CandidateKey("a", "k")


def served(runtime: Runtime) -> None:
    snapshot = catalog([deployment("a"), deployment("b")])
    runtime.store = MemoryStore()
    runtime.store.bind(snapshot)
    runtime.current.swap(snapshot, Document())


def test_of_an_exclude_only_what_the_catalog_has_is_kept(bare_runtime: Runtime) -> None:
    served(bare_runtime)
    names = ["a", "b/k", *(f"made up {n}" for n in range(60_000))]

    async def story() -> None:
        selected = await selecting.select(bare_runtime, Select(model="m", exclude=["a"]), KEY)
        assert selected.candidate.deployment.id == "b"
        message = Select(model="m", exclude=names[::2])
        kept = await selecting.select(bare_runtime, message, KEY)
        turn = await bare_runtime.store.load_turn(kept.turn_id, bare_runtime.clock())
        assert turn is not None
        assert turn.turn.request.exclude == {"a"}

    asyncio.run(story())


def test_excluded_names_are_the_catalogs_own_texts() -> None:
    snapshot = catalog([deployment("deployment-1")])
    sent = "".join(["deployment", "-1"])
    (kept,) = excluded(snapshot, [sent])
    assert kept is next(iter(snapshot.deployments))
    assert excluded(snapshot, ["deployment-1/k", "deployment-1/x", "k", "", "/"]) == {
        "deployment-1/k"
    }


def test_candidates_of_patterns_may_be_excluded_but_not_without_end() -> None:
    snapshot = catalog([deployment("s", upstream="*")], route(["s"], alias="v-*"))
    assert excluded(snapshot, ["s/k@x", "s/k@y@z", "t/k@x"]) == {"s/k@x", "s/k@y@z"}
    assert excluded(snapshot, ["s/k@" + "x" * 5000]) == frozenset()
    with pytest.raises(TooManyExcluded):
        excluded(snapshot, [f"s/k@{n}" for n in range(MOST_EXCLUDED + 1)])


@pytest.mark.parametrize("facts", [{"tags": ["x" * 257]}, {"tool_choice": "x" * 257}])
def test_texts_of_a_select_that_are_kept_are_short(facts: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        Select(model="m", **facts)  # type: ignore[arg-type]


def test_headers_that_rules_read_are_kept_in_part() -> None:
    snapshot = replace(catalog([deployment("a")]), rule_headers=frozenset({"x-team"}))
    found = read_headers(snapshot, [(b"x-team", b"y" * 5000)] * 100 + [(b"x-other", b"z")])
    assert len(found) == 64
    assert all(len(value) == MOST_HEADER_CHARS for _, value in found)


def test_a_reports_message_is_kept_in_part(bare_runtime: Runtime) -> None:
    served(bare_runtime)

    async def story() -> None:
        selected = await selecting.select(bare_runtime, Select(model="m"), KEY)
        failed = Report(outcome="failure", status=503, message="x" * 60_000)
        await reporting.report(bare_runtime, selected.lease.id, failed, KEY)
        kept = await bare_runtime.store.load_turn(selected.turn_id, bare_runtime.clock())
        assert kept is not None
        assert isinstance(kept.turn, TurnState)
        assert len(kept.turn.attempts[0].message) == KEPT_CHARS

    asyncio.run(story())


def opening(n: int, request: SelectRequest) -> Opening:
    return Opening(f"t{n}", "m", "r", request, A, 0, f"t{n}", NOW)


def test_large_turns_are_forgotten_sooner(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turn_book, "TURNS_KEPT", 100)
    plain = SelectRequest("m")
    large = replace(plain, exclude=frozenset(map(str, range(320))), tags=frozenset({"t" * 256}))
    book = TurnBook()
    for n in range(500):
        book.put(Kept(opening(n, plain), 1), NOW)
    assert len(book.ids()) == 100
    for n in range(500):
        book.put(Kept(opening(n, large), 1), NOW)
    assert len(book.ids()) == 100 // weight_of(opening(0, large)) < 10
    book.put(Kept(opening(1, plain), 1), NOW + 7200)
    assert book.ids() == ["t1"]
    assert book._weight == 1


def test_attempts_count_for_the_size_of_a_turn() -> None:
    attempt = Attempt(1, A, "r", "t", 0, {}, "bearer", "metered", NOW)
    turn = TurnState("t", "m", "r", SelectRequest("m"), NOW)
    assert weight_of(turn) == 1
    turn.attempts = [attempt] * 32
    assert weight_of(turn) > 10


def test_weights_are_right_however_turns_come_and_go() -> None:
    rng, book = random.Random(3), TurnBook()
    for step in range(2000):
        request = SelectRequest("m", exclude=frozenset(map(str, range(rng.randrange(200)))))
        turn = opening(rng.randrange(50), request)
        if rng.random() < 0.3:
            found = book.at(turn.id)
            book.drop(turn.id, found[1].version if found else 0)
        else:
            book.save(turn, NOW + step * 10, rng.choice([0, 1 << 20]))
        assert book._weight == sum(weight_of(book.at(one)[1].turn) for one in book.ids())  # type: ignore[index]


def test_open_leases_have_an_end(monkeypatch: pytest.MonkeyPatch, bare_runtime: Runtime) -> None:
    monkeypatch.setattr(leases, "MOST_OPEN", 3)
    book, state = LeaseBook(), CandidateState(A)
    for n in range(3):
        assert not book.is_full
        book.add(Lease(str(n), A, n, "u", NOW, NOW + 60, 0, 0, 0, "r"), state)
    assert book.is_full
    record = book.known("0")
    assert record is not None
    book.close(record, ReportState.RELEASED, NOW)
    assert not book.is_full
    book.forget_next()
    assert (book.open_count, book.known("1"), book.known("2") is not None) == (1, None, True)


def test_of_too_many_leases_the_one_that_ends_first_is_let_go_not_one_that_was_renewed() -> None:
    book, state = LeaseBook(), CandidateState(A)
    for n in range(2):
        book.add(Lease(str(n), A, n, "u", NOW, NOW + 60 + n, 0, 0, 0, "r"), state)
    renewed = book.known("0")
    assert renewed is not None
    book.extend(renewed, NOW + 120)
    book.forget_next()
    assert (book.known("0"), book.known("1")) == (renewed, None)


def test_what_is_to_be_told_to_redis_later_has_an_end() -> None:
    apart = Apart()
    for n in range(MOST_KEPT + 10):
        apart.turn_changed(str(n))
    assert len(apart.turns) == MOST_KEPT
    assert "9" not in apart.turns
