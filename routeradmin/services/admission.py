"""The limits of API keys: requests and tokens a minute, attempts at once, tokens a day.

Counted in memory by the process that serves the key, in fixed windows as for deployments. An
attempt's estimate is held while it runs and replaced by what it used.
"""

from __future__ import annotations

from dataclasses import dataclass

from routeradmin.engine.windows import ends, window
from routeradmin.services.keys import Key

DAY_S = 86_400
SLOT_RETRY_S = 1.0  # nobody knows when a running attempt ends
KEYS_KEPT = 65_536
LEAST_KEPT = 1024  # charges of leases that are looked through for those that ran out


@dataclass(slots=True)
class KeyUse:
    """What one key has used; the fields of a window that is over read as 0."""

    window: int = 0
    requests: int = 0
    tokens: int = 0
    active: int = 0
    day: int = 0
    day_tokens: int = 0

    def roll(self, now: float) -> None:
        current, day = window(now), int(now // DAY_S)
        if self.window != current:
            self.window, self.requests, self.tokens = current, 0, 0
        if self.day != day:
            self.day, self.day_tokens = day, 0


@dataclass(frozen=True, slots=True)
class Refusal:
    """Which limit admits nothing more, and when to come back."""

    limit: str
    message: str
    retry_after_s: float


@dataclass(slots=True)
class Charge:
    """One admitted attempt; ``settle`` gives back what it held, once."""

    use: KeyUse
    window: int
    day: int
    held: int
    open: bool = True

    def settle(self, tokens: int) -> None:
        """The attempt is over and used so many tokens."""
        if not self.open:
            return
        self.open = False
        use = self.use
        use.active = max(0, use.active - 1)
        if use.window == self.window:
            use.tokens = max(0, use.tokens - self.held + tokens)
        if use.day == self.day:
            use.day_tokens = max(0, use.day_tokens - self.held + tokens)

    def undo(self) -> None:
        """The attempt never began: its request does not count either."""
        if self.open and self.use.window == self.window:
            self.use.requests -= 1
        self.settle(0)


class KeyLimits:
    """The use of every key that has limits, by key id.

    A charge whose attempt another request will end is kept under its lease (``keep``, ``end``);
    one whose lease ran out unreported is given back when its key is next at its limit, or when
    they become many.
    """

    def __init__(self) -> None:
        self._uses: dict[str, KeyUse] = {}
        self._kept: dict[str, tuple[float, Charge]] = {}
        self._many = LEAST_KEPT

    def use_of(self, key: Key, now: float) -> KeyUse:
        use = self._uses.get(key.uid)
        if use is None:
            if len(self._uses) >= KEYS_KEPT:
                idle = next((uid for uid, one in self._uses.items() if not one.active), None)
                self._uses.pop(idle or next(iter(self._uses)))
            use = self._uses[key.uid] = KeyUse()
        use.roll(now)
        return use

    def refusal(self, key: Key, estimate: int, now: float) -> Refusal | None:
        """Why an attempt of so many tokens is not admitted now; None: it is."""
        if not key.is_limited:
            return None
        use = self.use_of(key, now)
        minute_s = ends(window(now)) - now
        if key.max_parallel_requests is not None and use.active >= key.max_parallel_requests:
            self._end_overdue(now)
        if key.max_parallel_requests is not None and use.active >= key.max_parallel_requests:
            return _refused(
                "max_parallel_requests", key.max_parallel_requests, "at once", SLOT_RETRY_S
            )
        if key.rpm_limit is not None and use.requests >= key.rpm_limit:
            return _refused("rpm_limit", key.rpm_limit, "requests a minute", minute_s)
        if key.tpm_limit is not None and _full(use.tokens, estimate, key.tpm_limit):
            return _refused("tpm_limit", key.tpm_limit, "tokens a minute", minute_s)
        if key.tokens_per_day is not None and _full(use.day_tokens, estimate, key.tokens_per_day):
            tomorrow_s = (use.day + 1) * DAY_S - now
            return _refused("tokens_per_day", key.tokens_per_day, "tokens a day", tomorrow_s)
        return None

    def charge(self, key: Key, estimate: int, now: float) -> Charge | None:
        """Take what an admitted attempt needs; None for a key without limits."""
        if not key.is_limited:
            return None
        use = self.use_of(key, now)
        use.requests += 1
        use.active += 1
        use.tokens += estimate
        use.day_tokens += estimate
        return Charge(use, use.window, use.day, estimate)

    def keep(self, lease_id: str, charge: Charge, expires_at: float, now: float) -> None:
        """Keep the charge until its lease is reported, given back, or over."""
        self._kept[lease_id] = (expires_at, charge)
        if len(self._kept) > self._many:
            self._end_overdue(now)
            self._many = max(LEAST_KEPT, 2 * len(self._kept))

    def renew(self, lease_id: str, expires_at: float) -> None:
        kept = self._kept.get(lease_id)
        if kept is not None:
            self._kept[lease_id] = (expires_at, kept[1])

    def end(self, lease_id: str, tokens: int | None) -> None:
        """The lease is over; ``tokens`` None keeps what was held, 0 gives it back."""
        kept = self._kept.pop(lease_id, None)
        if kept is not None:
            kept[1].settle(kept[1].held if tokens is None else tokens)

    def _end_overdue(self, now: float) -> None:
        over = [lease_id for lease_id, (expires_at, _) in self._kept.items() if expires_at <= now]
        for lease_id in over:
            self.end(lease_id, None)

    def headers(self, key: Key, now: float) -> list[tuple[bytes, bytes]]:
        """``x-ratelimit-*`` of the minute's limits that the key has."""
        if key.rpm_limit is None and key.tpm_limit is None:
            return []
        use = self.use_of(key, now)
        reset = b"%ds" % max(1, -int(-(ends(window(now)) - now) // 1))
        pairs: list[tuple[bytes, bytes]] = []
        for word, limit, used in (
            (b"requests", key.rpm_limit, use.requests),
            (b"tokens", key.tpm_limit, use.tokens),
        ):
            if limit is not None:
                pairs.append((b"x-ratelimit-limit-" + word, b"%d" % limit))
                pairs.append((b"x-ratelimit-remaining-" + word, b"%d" % max(0, limit - used)))
                pairs.append((b"x-ratelimit-reset-" + word, reset))
        return pairs


def _full(used: int, estimate: int, limit: int) -> bool:
    """As for deployments: an estimate above the whole limit enters an empty window only."""
    return used >= limit or (used > 0 and used + estimate > limit)


def _refused(name: str, limit: int, what: str, retry_after_s: float) -> Refusal:
    message = f"This API key has reached its limit of {limit} {what} ({name})."
    return Refusal(name, message, retry_after_s)
