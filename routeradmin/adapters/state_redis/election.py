"""Who leads: one process at a time, by a lock that runs out and a fence that only grows.

The leader believes in its lock for a second less than Redis keeps it, so it has stopped before
another begins; what it still has under way is refused by its fence.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from routeradmin.adapters.state_redis.link import Unreachable
from routeradmin.adapters.state_redis.store import RedisStore

LASTS_S = 5.0
RENEW_EVERY_S = 1.0
MARGIN_S = 1.0


class Election:
    """``tick`` every ``RENEW_EVERY_S``; ``leads`` is true from a won tick until the lock may be
    gone. Without Redis nobody can prove that it leads, so nobody does."""

    def __init__(
        self, store: RedisStore, name: str, steady: Callable[[], float] = time.monotonic
    ) -> None:
        self._store = store
        self._name = name
        self._steady = steady
        self._until = float("-inf")

    @property
    def leads(self) -> bool:
        return self._steady() < self._until

    async def tick(self) -> None:
        asked_at = self._steady()
        try:
            answer = await self._store.link.call(("lead", self._name, int(LASTS_S * 1000)))
        except Unreachable:
            return
        if answer[0]:
            self._store.fence = answer[0]
            self._until = asked_at + LASTS_S - MARGIN_S
        else:
            self._until = float("-inf")

    async def resign(self) -> None:
        """Let another take over at once."""
        if self.leads:
            self._until = float("-inf")
            self._store.link.post(("abdicate", self._store.fence))
