"""Whether what was looked at stays flat once it is warm."""

from __future__ import annotations

from statistics import median
from typing import NamedTuple

from tests.soak.looking import Sizes

WARM = 0.5  # this share of the time is warming up
COMPARED = 0.15  # of the time: after the warm-up, and at the end
SHARE = 0.05  # growth of so much is noise,
# and so is this, by the end of the name; anything not named here: SLACK.
SLACKS = {"MB": 4.0, "tasks": 20.0, "threads": 4.0, "leases open": 20.0}
SLACK = 20.0
SLACKS["rows"] = 200.0  # what came in until they were counted
SLACKS["ends"] = 400.0  # those of a lease's time stay in it, however early they came: a rate
SLACKS["files"] = 40.0  # connections come and go with the load; those that stay show at rest
REST = "files at rest"  # before the first request, and after the last: database, upstream, log
# Kept for an hour by their expiry in Redis: at most as many as there were leases.
EXPIRING = ("redis: keys that go: lease", "redis: keys that go: turn")
TOLD = ": leases known"  # every process that serves tells it


class Row(NamedTuple):
    name: str
    first: float
    warm: float
    last: float
    limit: float

    @property
    def grows(self) -> bool:
        return self.last > self.limit


def untold(looks: list[tuple[float, Sizes]], serving: int) -> list[str]:
    """Nothing is flat that was not looked at until the end."""
    last = [sizes for at, sizes in looks if 1 - COMPARED <= at < 1]
    told = {name for sizes in last for name in sizes if name.endswith(TOLD)}
    if len(told) == serving:
        return []
    return [f"{len(told)} of {serving} processes told their tables at the end"]


def rows(looks: list[tuple[float, Sizes]], leases: int) -> list[Row]:
    """``looks``: when, as a share of the whole time, and what was found; ``leases``: how many
    were granted in all."""
    names = sorted({name for _, sizes in looks for name in sizes})
    return [row(name, [(at, s[name]) for at, s in looks if name in s], leases) for name in names]


def row(name: str, found: list[tuple[float, float]], leases: int) -> Row:
    warm = [size for at, size in found if WARM <= at <= WARM + COMPARED] or [found[0][1]]
    last = [size for at, size in found if at >= 1 - COMPARED] or [found[-1][1]]
    kind = "rows" if name.startswith("rows: ") else name.rpartition(": ")[2]
    # Rows as they are left each time that old ones go: how many come in between is a rate.
    typical = min if kind == "rows" else median
    before = typical(warm)
    slack = SLACKS.get(kind, SLACK)
    limit = leases if name in EXPIRING else before + max(slack, SHARE * before)
    return Row(name, found[0][1], before, typical(last), limit)
