"""The live rows of all deployments, read once for a page however many cells ask."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from routeradmin.console import board, catalog
from routeradmin.engine.describe import utc_text
from routeradmin.engine.snapshot import Snapshot
from routeradmin.services import candidates, live, runtime

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


def _endpoints(row: Row) -> Sequence[str]:
    known = catalog.index().deployments.get(row["deployment"])
    return (known.endpoint_id,) if known else ()


# Kind of object -> the ids of those that a candidate belongs to; "all" counts everything.
BY_KIND: Mapping[str, Callable[[Row], Sequence[str]]] = {
    "route": lambda row: row["routes"] or ("",),
    "provider": lambda row: (row["provider"],),
    "endpoint": _endpoints,
    "credential": lambda row: (row["credential"],),
    "all": lambda row: ("",),
}


def place() -> dict[str, Any]:
    """Where the stream of changes is. A page reads it before anything else: whatever changes
    after it comes by the socket, or makes the page read itself again."""
    current = runtime.get()
    return {
        "process": current.process_id,
        "epoch": current.store.epoch,
        "seq": live.seq_of(current),
        "revision": current.current.revision,
        "now": utc_text(current.clock()),
    }


def worst(deployment: str) -> str:
    """The worst state among a deployment's candidates; empty without a credential."""
    return board.worst(rows_of(deployment))


_Health = dict[str, tuple[int, int]]
_counted: list[tuple[dict[str, list[Row]], dict[str, _Health]]] = []  # of the latest reading


def health_of(kind: str) -> _Health:
    """Id -> (healthy, total) of every route, provider, endpoint or credential, as ``kind`` says."""
    reading = by_deployment()
    if not _counted or _counted[0][0] is not reading:
        _counted[:] = [(reading, {})]
    found = _counted[0][1]
    if kind not in found:
        rows = (row for rows in reading.values() for row in rows)
        found[kind] = board.health_by(BY_KIND[kind], rows)
    return found[kind]
