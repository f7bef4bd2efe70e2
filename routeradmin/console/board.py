"""The live page's board: candidates grouped by route, failed first, filtered by the URL."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from routeradmin.engine.snapshot import Route, Snapshot

Row = dict[str, Any]

# Shown worst first: what needs a person, what needs time, what is wanted so.
STATES = (
    "needs-attention",
    "unhealthy",
    "cooling",
    "at-limit",
    "degraded",
    "recovering",
    "draining",
    "healthy",
    "disabled",
)
RANK = {state: rank for rank, state in enumerate(STATES)}
ROWS_SHOWN = 120


def dom_id(deployment: str, credential: str, matched: str | None = None) -> str:
    """A name for elements made of any candidate's parts, safe in HTML and in selectors."""
    text = "\0".join((deployment, credential, matched or ""))
    return "c" + hashlib.blake2s(text.encode(), digest_size=6).hexdigest()


def group_id(route_id: str) -> str:
    return "g" + hashlib.blake2s(route_id.encode(), digest_size=6).hexdigest()


def dressed(row: Row) -> Row:
    """The row with what templates need beside the API's fields."""
    return {
        **row,
        "dom": dom_id(row["deployment"], row["credential"], row["matched"]),
        "rank": RANK[row["state"]],
    }


def offered(row: Row, snapshot: Snapshot) -> Row:
    """A dressed row with what its menu needs: whether a probe of it may be billed."""
    deployment = snapshot.deployments.get(row["deployment"])
    return {**dressed(row), "probe_is_free": deployment and deployment.probe.mode != "chat"}


@dataclass(frozen=True, slots=True)
class Filter:
    """What the URL asks for; empty means everything."""

    state: str = ""
    provider: str = ""
    route: str = ""
    text: str = ""

    @classmethod
    def from_query(cls, query: Mapping[str, str]) -> Filter:
        return cls(
            state=query.get("state", ""),
            provider=query.get("provider", ""),
            route=query.get("route", ""),
            text=query.get("q", "").strip(),
        )

    def __bool__(self) -> bool:
        return bool(self.state or self.provider or self.route or self.text)

    def admits(self, row: Row) -> bool:
        return (
            self._admits_state(row)
            and (not self.provider or row["provider"] == self.provider)
            and (not self.text or self.text.casefold() in _searched(row))
        )

    def _admits_state(self, row: Row) -> bool:
        if self.state == "active":
            return bool(row["active"])
        return not self.state or row["state"] == self.state


def _searched(row: Row) -> str:
    parts = (row["id"], row["provider"], *row["routes"])
    return "\n".join(str(part) for part in parts).casefold()


@dataclass(slots=True)
class Group:
    """One route with its rows; ``hidden`` rows match but are not rendered."""

    id: str
    title: str
    route: Route | None
    rows: list[Row] = field(default_factory=list)
    hidden: int = 0
    healthy: int = 0
    total: int = 0

    @property
    def dom(self) -> str:
        return group_id(self.id)

    @property
    def rank(self) -> int:
        return min((row["rank"] for row in self.rows), default=len(STATES))


def summary(rows: Iterable[Row]) -> dict[str, int]:
    """The figures of the header strip."""
    counts: Counter[str] = Counter()
    for row in rows:
        counts[row["state"]] += 1
        counts["total"] += 1
        counts["active"] += row["active"]
        counts["rpm"] += row["rpm"]["used"]
    return {**dict.fromkeys(STATES, 0), "total": 0, "active": 0, "rpm": 0, **counts}


def health_by_route(rows: Iterable[Row]) -> dict[str, tuple[int, int]]:
    """Route id -> (healthy, total); candidates without a route are under the empty id."""
    found: dict[str, list[int]] = {}
    for row in rows:
        for route_id in row["routes"] or ("",):
            pair = found.setdefault(route_id, [0, 0])
            pair[0] += row["state"] == "healthy"
            pair[1] += 1
    return {route_id: (pair[0], pair[1]) for route_id, pair in found.items()}


def groups(snapshot: Snapshot, rows: Sequence[Row], wanted: Filter) -> list[Group]:
    """Groups in display order, at most ROWS_SHOWN rows rendered in all."""
    by_route: dict[str, list[Row]] = {}
    for row in rows:
        if wanted.admits(row):
            for route_id in row["routes"] or ("",):
                by_route.setdefault(route_id, []).append(offered(row, snapshot))
    health = health_by_route(rows)
    made = [
        _group(snapshot.routes.get(route_id), route_id, members, health[route_id])
        for route_id, members in by_route.items()
        if not wanted.route or route_id == wanted.route
    ]
    made.sort(key=lambda group: (group.rank, group.route is None, group.title.casefold()))
    _cap(made)
    return made


def _group(route: Route | None, route_id: str, rows: list[Row], health: tuple[int, int]) -> Group:
    rows.sort(key=lambda row: (row["rank"], row["id"]))
    title = (route.alias if route else route_id) or "Not in any route"
    return Group(route_id, title, route, rows, healthy=health[0], total=health[1])


def _cap(made: list[Group]) -> None:
    left = ROWS_SHOWN
    for group in made:
        group.hidden = max(0, len(group.rows) - left)
        group.rows = group.rows[:left]
        left -= len(group.rows)
