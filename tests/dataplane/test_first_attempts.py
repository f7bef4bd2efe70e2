"""A first attempt is made without the turn's machine where nothing stands in its way: nobody can
tell by what is answered, recorded or counted."""

from __future__ import annotations

from typing import Any

import pytest

from routeradmin.services import turn_rows
from routeradmin.services.served import Served
from tests.dataplane.catalogs import document
from tests.dataplane.serving import Gateway
from tests.records import told

# A turn with a deadline is the machine's from the beginning.
BY_THE_MACHINE = {"x-routeradmin-deadline-ms": "600000"}
OWN = {"id", "request_id", "overhead_ms", "duration_ms", "started_at"}


def alike(record: dict[str, Any]) -> dict[str, Any]:
    """All of it but what no two turns have in common."""
    attempts = [
        {name: value for name, value in one.items() if name not in ("duration_ms", "ttft_ms")}
        for one in record["attempts"]
    ]
    return {**{n: v for n, v in record.items() if n not in OWN}, "attempts": attempts}


@pytest.mark.parametrize("stream", [False, True])
def test_both_ways_answer_and_record_alike(gate: Gateway, stream: bool) -> None:
    gate.use(document(gate.upstream, "ab", strategy="round_robin"))
    for _ in range(2):
        short = gate.post(stream=stream)
    for _ in range(2):
        long = gate.post(stream=stream, headers=BY_THE_MACHINE)
    gate.settle()
    kinds = [isinstance(one, Served) for one in gate.runtime.journal._turns]
    assert kinds == [True, True, False, False]
    assert short.headers.keys() == long.headers.keys()
    assert (short.status, short.headers["x-routeradmin-attempts"]) == (200, "1")
    records = [alike(record) for record in gate.records]
    assert records[:2] == records[2:]
    assert gate.runtime.meters.turns == {"succeeded": 4}
    assert gate.active == 0


def test_both_ways_go_on_alike_after_a_failure(gate: Gateway) -> None:
    for headers in ({}, BY_THE_MACHINE):
        gate.use(document(gate.upstream, "a"))
        gate.script("a", {"status": 503}, {})
        assert gate.post(headers=headers).status == 200
    first, second = map(alike, gate.records)
    assert first == second
    assert [one["class"] for one in first["attempts"]] == ["transient", None]


def test_a_later_tier_is_where_the_machine_would_begin_too(gate: Gateway) -> None:
    for headers in ({}, BY_THE_MACHINE):
        gate.use(document(gate.upstream, "a", "b"))
        gate.script("a", {"status": 429, "headers": {"retry-after": "60"}})
        gate.script("b", {}, {"status": 503}, {})
        for _ in range(3):
            assert gate.post(headers=headers).status == 200
        gate.clock.advance(3600)
        assert gate.active == 0
    records = [alike(record) for record in gate.records]
    assert records[:3] == records[3:]
    assert [len(one["attempts"]) for one in records[:3]] == [5, 2, 1]


def test_a_turn_is_told_on_request(gate: Gateway) -> None:
    gate.use(document(gate.upstream, "a"))
    answer = gate.post(headers={"x-routeradmin-trace": "1"})
    assert alike(answer.json["routeradmin"]) == alike(gate.record)


def test_rows_say_what_the_record_says(gate: Gateway) -> None:
    gate.use(document(gate.upstream, "a"))
    gate.post()
    gate.post(stream=True)
    for served in gate.runtime.journal._turns:
        assert isinstance(served, Served)
        record = told(served)
        assert turn_rows.turn_row(served) == turn_rows.turn_row(record)
        assert turn_rows.attempt_rows(served) == turn_rows.attempt_rows(record)
