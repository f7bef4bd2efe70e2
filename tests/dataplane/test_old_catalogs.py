"""A catalog that is no longer in force is let go, however much was asked of it."""

from __future__ import annotations

import gc
import json
from weakref import ref

from routeradmin.engine.snapshot import Candidate
from routeradmin.services import turn_rows
from routeradmin.services.served import Served
from tests.dataplane.catalogs import document
from tests.dataplane.serving import Gateway

ASKED = json.dumps({"model": "chat"}).encode()


def ask_everything(gate: Gateway) -> None:
    gate.script("b", {"status": 503}, {})
    assert gate.post().status == 200
    assert gate.post(stream=True).status == 200
    lease = gate.request("POST", "/api/v1/select", ASKED).json
    report = json.dumps({"outcome": "success"}).encode()
    gate.request("POST", f"/api/v1/leases/{lease['lease_id']}/report", report)
    gate.request("POST", "/api/v1/select", ASKED)  # and nothing more
    assert gate.request("POST", "/api/v1/explain", ASKED).status == 200
    assert gate.calls("b"), "a failure, after which the turn went on, too"
    gate.settle()


def write(gate: Gateway) -> None:
    """What the journal's writer does with a batch."""
    for turn in gate.runtime.journal._turns:
        turn_rows.turn_row(turn)
        turn_rows.attempt_rows(turn)
    assert any(isinstance(turn, Served) for turn in gate.runtime.journal._turns)
    gate.runtime.journal._turns.clear()


def test_nothing_holds_on_to_the_candidates_of_an_old_catalog(gate: Gateway) -> None:
    candidates: list[ref[Candidate]] = []
    for revision in range(1, 6):
        gate.use(document(gate.upstream, ["a", "b"], strategy="round_robin"), revision)
        snapshot = gate.runtime.current.snapshot
        candidates += map(ref, next(iter(snapshot.routes.values())).candidates)
        del snapshot
        ask_everything(gate)
        write(gate)
    gate.use(document(gate.upstream, ["a", "b"]), 6)
    assert gate.post().status == 200
    gc.collect()
    assert [one() for one in candidates if one() is not None] == []
