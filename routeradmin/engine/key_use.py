"""The limits of API keys: requests and tokens a minute, attempts at once, tokens a day.

Charged with the lease that an attempt takes, in fixed windows as for deployments: either both have
room or neither is charged. The estimate is held while the attempt runs and replaced by what it
used; a lease that runs out unreported keeps it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from routeradmin.engine.state import Lease
from routeradmin.engine.windows import window

DAY_S = 86_400
WINDOWS_A_DAY = 1440
KEYS_KEPT = 65_536


class Allowance(NamedTuple):
    """What a key may use; None is unlimited. The fields are in the order they are looked at."""

    uid: str
    max_parallel_requests: int | None = None
    rpm_limit: int | None = None
    tpm_limit: int | None = None
    tokens_per_day: int | None = None

    @property
    def is_limited(self) -> bool:
        return any(limit is not None for limit in self[1:])


class KeyRefused(Exception):
    """A key's own limit admits nothing more now. ``limit`` is the field of ``Allowance``."""

    def __init__(self, limit: str) -> None:
        super().__init__(limit)
        self.limit = limit


@dataclass(slots=True)
class KeyUse:
    """What one key has used; the fields of a window that is over read as 0."""

    active: int = 0
    window: int = 0
    requests: int = 0
    tokens: int = 0
    day: int = 0
    day_tokens: int = 0
    seq: int = 0  # of the last change, where a store shares it with other processes
    since: int = 0  # generation of the first lease: older ones are of a key of that name before

    def roll(self, current: int) -> None:
        if self.window != current:
            self.window, self.requests, self.tokens = current, 0, 0
        day = day_of(current)
        if self.day != day:
            self.day, self.day_tokens = day, 0


def day_of(number: int) -> int:
    """The day (UTC) that a window belongs to."""
    return number // WINDOWS_A_DAY


def refused_by(allowance: Allowance, use: KeyUse, tokens: int) -> str | None:
    """The limit that admits no attempt of so many tokens now."""
    _, parallel, rpm, tpm, per_day = allowance
    if parallel is not None and use.active >= parallel:
        return "max_parallel_requests"
    if rpm is not None and use.requests >= rpm:
        return "rpm_limit"
    if tpm is not None and _full(use.tokens, tokens, tpm):
        return "tpm_limit"
    if per_day is not None and _full(use.day_tokens, tokens, per_day):
        return "tokens_per_day"
    return None


def _full(used: int, estimate: int, limit: int) -> bool:
    """As for deployments: an estimate above the whole limit enters an empty window only."""
    return used >= limit or (used > 0 and used + estimate > limit)


class KeyBook:
    """The use of every key that has limits, by key id."""

    def __init__(self) -> None:
        self._uses: dict[str, KeyUse] = {}

    def __iter__(self) -> Iterator[tuple[str, KeyUse]]:
        return iter(list(self._uses.items()))

    def __contains__(self, uid: str) -> bool:
        return uid in self._uses

    def at(self, uid: str) -> KeyUse:
        """As it was last counted: its windows may be over."""
        use = self._uses.get(uid)
        if use is None:
            if len(self._uses) >= KEYS_KEPT:
                idle = next((name for name, one in self._uses.items() if not one.active), None)
                self._uses.pop(idle or next(iter(self._uses)))
            use = self._uses[uid] = KeyUse()
        return use

    def of(self, uid: str, now: float) -> KeyUse:
        use = self.at(uid)
        use.roll(window(now))
        return use

    def refusal(self, allowance: Allowance, tokens: int, now: float) -> str | None:
        return refused_by(allowance, self.of(allowance.uid, now), tokens)

    def take(self, lease: Lease, now: float) -> None:
        use = self.of(lease.owner, now)
        use.since = use.since or lease.generation
        use.active += 1
        use.requests += 1
        use.tokens += lease.held_tokens
        use.day_tokens += lease.held_tokens

    def free(self, lease: Lease) -> None:
        """The lease is over; the caller sees to it that this happens once."""
        use = self._paying(lease)
        if use is not None:
            use.active = max(0, use.active - 1)

    def settle(self, lease: Lease, tokens: int) -> None:
        """Replace the lease's estimate by what was used, where its windows are still counted."""
        use = self._paying(lease)
        if use is None:
            return
        more = tokens - lease.held_tokens
        if use.window == lease.window:
            use.tokens = max(0, use.tokens + more)
        if use.day == day_of(lease.window):
            use.day_tokens = max(0, use.day_tokens + more)

    def _paying(self, lease: Lease) -> KeyUse | None:
        use = self._uses.get(lease.owner) if lease.is_charged else None
        return None if use is None or lease.generation < use.since else use

    def hold_only(self, leases: Iterable[Lease]) -> None:
        """Count as running what these leases are, and nothing else."""
        running = Counter(lease.owner for lease in leases if lease.is_charged)
        for uid, use in self._uses.items():
            use.active = running[uid]

    def forget(self, uids: Iterable[str]) -> None:
        for uid in uids:
            self._uses.pop(uid, None)
