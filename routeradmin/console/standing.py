"""The live rows of all deployments, read once for a page however many cells ask."""

from __future__ import annotations

from typing import Any

from routeradmin.console import board
from routeradmin.engine.snapshot import Snapshot
from routeradmin.services import candidates, runtime

Row = dict[str, Any]
_Reading = tuple[Snapshot, int, int, dict[str, list[Row]]]
_latest: list[_Reading] = []  # one reading: of this snapshot, at this counter, in this second


def by_deployment() -> dict[str, list[Row]]:
    """Deployment id -> its candidates as the live page shows them; at most a second old."""
    current = runtime.get()
    now, snapshot, seq = current.clock(), current.current.snapshot, current.store.seq
    if _latest:
        known, at_seq, second, rows = _latest[0]
        if known is snapshot and at_seq == seq and second == int(now):
            return rows
    rows = {}
    for row in candidates.candidates_json(snapshot, current.store.states(), now):
        rows.setdefault(row["deployment"], []).append(board.offered(row, snapshot))
    _latest[:] = [(snapshot, seq, int(now), rows)]
    return rows


def rows_of(deployment: str) -> list[Row]:
    return by_deployment().get(deployment, [])
