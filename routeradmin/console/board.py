"""The live page's board: candidates grouped by route, failed first, filtered by the URL."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlencode

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
GROUPS_SHOWN = 200
SORTS = {
    "failed": "Failed first",
    "name": "Name",
    "active": "Most active",
    "requests": "Most requests",
    "latency": "Slowest",
}
GROUPINGS = {"route": "By route", "provider": "By provider", "none": "One list"}
# Not states, but filters too: each figure of the strip shows those that it counts.
DOING = {"active": "active now", "used": "used this minute", "failing": "failed just now"}


def dom_id(deployment: str, credential: str, matched: str | None = None) -> str:
    """A name for elements made of any candidate's parts, safe in HTML and in selectors."""
    text = "\0".join((deployment, credential, matched or ""))
    return "c" + hashlib.blake2s(text.encode(), digest_size=6).hexdigest()


def group_id(kind: str, name: str = "") -> str:
    """A name for elements about all candidates of one route, provider, endpoint or credential."""
    text = "\0".join((kind, name))
    return "g" + hashlib.blake2s(text.encode(), digest_size=6).hexdigest()


def worst_id(deployment: str) -> str:
    """A name for elements that show the worst state of a deployment's candidates."""
    return group_id("deployment", deployment)


def dressed(row: Row) -> Row:
    """The row with what templates need beside the API's fields."""
    return {
        **row,
        "dom": dom_id(row["deployment"], row["credential"], row["matched"]),
        "rank": RANK[row["state"]],
    }


def worst(rows: Sequence[Row]) -> str:
    """The state of one deployment whose candidates these are."""
    return min((str(row["state"]) for row in rows), key=RANK.__getitem__, default="")


def offered(row: Row, snapshot: Snapshot) -> Row:
    """A dressed row with what its menu needs: whether a probe of it may be billed."""
    deployment = snapshot.deployments.get(row["deployment"])
    return {**dressed(row), "probe_is_free": deployment and deployment.probe.mode != "chat"}


@dataclass(frozen=True, slots=True)
class Filter:
    """What the URL asks for; empty means everything, in the usual order and groups."""

    state: str = ""
    provider: str = ""
    route: str = ""
    text: str = ""
    sort: str = "failed"
    group: str = "route"

    @classmethod
    def from_query(cls, query: Mapping[str, str]) -> Filter:
        sort, group = query.get("sort", ""), query.get("group", "")
        return cls(
            state=query.get("state", ""),
            provider=query.get("provider", ""),
            route=query.get("route", ""),
            text=query.get("q", "").strip(),
            sort=sort if sort in SORTS else "failed",
            group=group if group in GROUPINGS else "route",
        )

    def __bool__(self) -> bool:
        return bool(self.state or self.provider or self.route or self.text)

    def link(self, **changes: str) -> str:
        """The address of the page that differs from this one by ``changes``."""
        wanted = replace(self, **changes)
        told = {
            "q": wanted.text,
            "state": wanted.state,
            "provider": wanted.provider,
            "route": wanted.route,
            "sort": wanted.sort if wanted.sort != "failed" else "",
            "group": wanted.group if wanted.group != "route" else "",
        }
        return "?" + (urlencode({name: value for name, value in told.items() if value}) or "all")

    def admits(self, row: Row, recently: str) -> bool:
        """``recently``: the moment, as text, since which a failure counts as just now."""
        return (
            self._admits_state(row, recently)
            and (not self.provider or row["provider"] == self.provider)
            and (not self.route or self.route in row["routes"])
            and (not self.text or self.text.casefold() in _searched(row))
        )

    def _admits_state(self, row: Row, recently: str) -> bool:
        match self.state:
            case "active":
                return bool(row["active"])
            case "used":
                return bool(row["rpm"]["used"])
            case "failing":
                return row["last_error"] is not None and row["last_error"]["at"] >= recently
            case _:
                return not self.state or row["state"] == self.state

    def groups_of(self, row: Row) -> Sequence[str]:
        """The names of the groups that the row is in."""
        match self.group:
            case "provider":
                return (row["provider"],)
            case "none":
                return ("",)
            case _:
                return [
                    one for one in row["routes"] or ("",) if not self.route or one == self.route
                ]

    def place(self, row: Row) -> tuple[float, str]:
        """Where the row stands in its group; the page keeps this order by the same figures."""
        match self.sort:
            case "name":
                first = 0.0
            case "active":
                first = -float(row["active"])
            case "requests":
                first = -float(row["rpm"]["used"])
            case "latency":
                first = -round(float(row["latency_ms"]["p95"] or 0), 3)
            case _:
                first = float(row["rank"])
        return first, row["id"]


def _searched(row: Row) -> str:
    parts = (row["id"], row["provider"], *row["routes"])
    return "\n".join(str(part) for part in parts).casefold()


@dataclass(slots=True)
class Group:
    """One route or provider with its rows; ``hidden`` rows match but are not rendered."""

    kind: str
    id: str
    title: str
    link: str
    route: Route | None
    rows: list[Row]
    healthy: int
    total: int
    hidden: int = 0
    rank: int = len(STATES)

    @property
    def dom(self) -> str:
        return group_id(self.kind, self.id)


@dataclass(frozen=True, slots=True)
class Figure:
    """One number of the header strip; ``link`` shows those that it counts, or all again."""

    state: str
    name: str
    link: str
    current: bool


FIGURES = (
    ("healthy", "healthy"),
    ("cooling", "cooling"),
    ("draining", "draining"),
    ("needs-attention", "attention"),
    ("unhealthy", "unhealthy"),
    ("active", "active"),
    ("rpm", "req / min"),
    ("errors", "errors"),
)
FILTER_OF = {"rpm": "used", "errors": "failing"}


def figures(wanted: Filter) -> list[Figure]:
    found = []
    for state, name in FIGURES:
        filters = FILTER_OF.get(state, state)
        current = wanted.state == filters
        found.append(Figure(state, name, wanted.link(state="" if current else filters), current))
    return found


def summary(rows: Iterable[Row]) -> dict[str, int]:
    """The figures of the header strip."""
    counts: Counter[str] = Counter()
    for row in rows:
        counts[row["state"]] += 1
        counts["total"] += 1
        counts["active"] += row["active"]
        counts["rpm"] += row["rpm"]["used"]
    return {**dict.fromkeys(STATES, 0), "total": 0, "active": 0, "rpm": 0, **counts}


def health_by(
    names_of: Callable[[Row], Sequence[str]], rows: Iterable[Row]
) -> dict[str, tuple[int, int]]:
    """Name -> (healthy, total) of the rows that ``names_of`` puts under that name."""
    found: dict[str, list[int]] = {}
    for row in rows:
        for name in names_of(row):
            pair = found.setdefault(name, [0, 0])
            pair[0] += row["state"] == "healthy"
            pair[1] += 1
    return {name: (pair[0], pair[1]) for name, pair in found.items()}


def groups(
    snapshot: Snapshot, rows: Sequence[Row], wanted: Filter, recently: str = ""
) -> list[Group]:
    """Groups in display order, at most ROWS_SHOWN rows rendered in all."""
    members: dict[str, list[Row]] = {}
    for row in rows:
        if wanted.admits(row, recently):
            for name in wanted.groups_of(row):
                members.setdefault(name, []).append(offered(row, snapshot))
    health = health_by(wanted.groups_of, rows)
    made = [_group(snapshot, wanted, name, found, health[name]) for name, found in members.items()]
    by_rank = wanted.sort == "failed"
    made.sort(
        key=lambda one: (one.rank if by_rank else 0, not one.id, one.title.casefold(), one.id)
    )
    _cap(made)
    return made


def _group(
    snapshot: Snapshot, wanted: Filter, name: str, rows: list[Row], health: tuple[int, int]
) -> Group:
    rows.sort(key=wanted.place)
    route = snapshot.routes.get(name) if wanted.group == "route" else None
    kind = {"none": "all"}.get(wanted.group, wanted.group)
    others = {"route": "Not in any route", "none": "All candidates"}
    return Group(
        kind,
        name,
        (route.alias if route else name) or others.get(wanted.group, name),
        wanted.link(**{wanted.group: name}) if name else "",
        route,
        rows,
        *health,
        rank=min(row["rank"] for row in rows),
    )


def _cap(made: list[Group]) -> None:
    left = ROWS_SHOWN
    for group in made:
        group.hidden = max(0, len(group.rows) - left)
        group.rows = group.rows[:left]
        left -= len(group.rows)
