"""A lease renewed for as long as its attempt lives, however long the upstream is silent."""

from __future__ import annotations

import asyncio
import logging

from routeradmin.adapters.alarms import Alarm, after
from routeradmin.engine.state import Lease, LeaseFenced, LeaseNotFound
from routeradmin.services.runtime import Runtime

log = logging.getLogger(__name__)


class Renewal:
    """Renews at every third of ``ttl_s`` until ``stop``; costs an alarm while nothing is due."""

    __slots__ = ("_alarm", "_lease", "_runtime", "_task", "_ttl_s")

    def __init__(self, runtime: Runtime, lease: Lease, ttl_s: float) -> None:
        self._runtime = runtime
        self._lease = lease
        self._ttl_s = ttl_s
        self._task: asyncio.Task[None] | None = None
        self._alarm: Alarm | None = None
        self._wind()

    def stop(self) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None

    def _wind(self) -> None:
        self._alarm = after(self._ttl_s / 3).set(self._due)

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
