"""Refusals that come close together have their candidates counted anew together."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from contextvars import Context

from routeradmin.engine.state import CandidateKey

PAUSE_S = 0.0002  # after a count, for each of its candidates: many times what it costs Redis
MOST = 256  # candidates of one count, which so begins after 51 ms at most

Count = Callable[[Sequence[CandidateKey], float], Awaitable[bool]]


class Recounts:
    """Asked by whoever is about to be refused; ``count`` goes over the wire.

    Everybody's count begins after they asked, so that none is refused for a slot that was given
    back before. Who asks soon after a count waits with the others for the next one: where all of a
    pool is at its limits and everybody is refused, that is a few percent of Redis, not all of it.
    Where even one count would be of too many candidates, the rest is refused as things are known.
    """

    def __init__(
        self,
        count: Count,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._count = count
        self._clock = clock
        self._sleep = sleep
        self._keys: dict[CandidateKey, None] = {}  # of the next count
        self._now = 0.0
        self._next: asyncio.Task[bool] | None = None
        self._not_before = 0.0

    async def ask(self, keys: Sequence[CandidateKey], now: float) -> bool:
        """Whether these were counted, as ``StateStore.recount`` says."""
        together = self._keys | dict.fromkeys(keys)
        if len(together) > MOST:
            return False
        self._keys, self._now = together, now
        if self._next is None:
            running = asyncio.get_running_loop()
            self._next = running.create_task(self._together(), context=Context())
        return await asyncio.shield(self._next)

    async def _together(self) -> bool:
        early_s = self._not_before - self._clock()
        if early_s > 0:
            await self._sleep(early_s)
        keys, self._keys, self._next = list(self._keys), {}, None
        self._not_before = self._clock() + PAUSE_S * len(keys)
        return await self._count(keys, self._now)
