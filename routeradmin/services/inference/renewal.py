"""A lease renewed for as long as its attempt lives, however long the upstream is silent."""

from __future__ import annotations

import asyncio
import logging

from routeradmin.engine.state import Lease, LeaseFenced, LeaseNotFound
from routeradmin.services.runtime import Runtime

log = logging.getLogger(__name__)


class Renewal:
    """Renews at every third of ``ttl_s`` until ``stop``; costs one timer while nothing is due."""

    __slots__ = ("_lease", "_runtime", "_task", "_timer", "_ttl_s")

    def __init__(self, runtime: Runtime, lease: Lease, ttl_s: float) -> None:
        self._runtime = runtime
        self._lease = lease
        self._ttl_s = ttl_s
        self._task: asyncio.Task[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._wind()

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _wind(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(self._ttl_s / 3, self._due)

    def _due(self) -> None:
        self._wind()
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._renew())

    async def _renew(self) -> None:
        lease, runtime = self._lease, self._runtime
        try:
            await runtime.store.renew(lease.id, self._ttl_s, runtime.clock(), lease.generation)
        except (LeaseFenced, LeaseNotFound) as problem:
            # The stream goes on: its client has part of the answer. Only its slot is another's.
            log.warning("a running attempt lost its lease: %s", problem)
            self.stop()
