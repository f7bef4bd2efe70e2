"""The processes of one system: who serves which revision, who leads, who is behind."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import orjson
from asgiref.sync import sync_to_async
from django.db import Error

from routeradmin.adapters.clock import SteadyClock
from routeradmin.adapters.state_redis import RedisStore
from routeradmin.adapters.state_redis.election import Election
from routeradmin.adapters.state_redis.link import Unreachable
from routeradmin.services import publishing

if TYPE_CHECKING:
    from routeradmin.services.runtime import Runtime

log = logging.getLogger(__name__)

SILENT_S = 2.5  # after some five beats that did not come
# A process that has not been heard of for this long is gone. Until then it is named: who stopped in
# order said so, and the others hang, were killed or cannot be reached, which people have to know.
STALE_S = 60.0
QUICK_S = 0.02  # answers slower than this say little about what time it is
PUBLISHED = "published"
LATE_S = 1.5  # a process that has not been heard of for this long may be cut off from Redis
LOST_S = 10.0  # and for this long: what it granted meanwhile is not waited for any more
GATHER_S = 2.0  # after Redis's return, until every process has told it what it knows


@dataclass(eq=False)
class Peers:
    """This process among the others that share its Redis. ``others`` are their last beats."""

    store: RedisStore
    election: Election
    others: dict[str, dict[str, Any]] = field(default_factory=dict)
    suspected: frozenset[str] = frozenset()
    steady: Callable[[], float] = time.monotonic  # the clock is set by Redis's
    _unsure_at: float = float("inf")
    _newest: tuple[int, float] = (0, 0.0)
    _catching_up: asyncio.Task[None] | None = None
    _again: bool = False

    async def open(self, runtime: Runtime) -> None:
        """Share state from here on, or go on alone until Redis answers."""
        self.store.on_reach = lambda reached: mark(runtime, reached)
        self.store.mirror.taken = runtime.journal.mark_state
        self.store.on_told.append(lambda message: self._told(runtime, message))
        await self.store.open()
        if self.store.is_shared and isinstance(runtime.clock, SteadyClock):
            with suppress(Unreachable):
                seconds, took_s = await self.store.link.time_s()
                runtime.clock.set_to(seconds + took_s / 2)

    async def close(self, runtime: Runtime) -> None:
        await self.election.resign()
        self.store.link.post(("gone", runtime.process_id))
        await self.store.close()

    @property
    def knows_all_for_s(self) -> float:
        """For how long Redis could have been asked for what every process granted; below 0 while
        it cannot."""
        return self.steady() - self._unsure_at - GATHER_S

    def unsure(self, *, for_ever: bool = False) -> None:
        """Some process goes on alone, or did until now."""
        self._unsure_at = float("inf") if for_ever else self.steady()

    async def beat(self, runtime: Runtime) -> None:
        """Tell where this process is, and hear where the others are."""
        now = runtime.clock()
        own = {
            "revision": runtime.current.revision,
            "plane": runtime.plane,
            "leads": runtime.leads,
            "degraded": sorted(runtime.degraded),
            "at": now,
        }
        step = ("beat", runtime.process_id, orjson.dumps(own).decode())
        try:
            answer = await self.store.link.call(step)
        except Unreachable:
            return
        found = answer[0] or []
        heard = {
            name: orjson.loads(text) for name, text in zip(found[::2], found[1::2], strict=True)
        }
        for name in [n for n, beat in heard.items() if beat["at"] < now - STALE_S]:
            del heard[name]
            self.store.link.post(("gone", name))
        heard.pop(runtime.process_id, None)
        self.others = heard
        silences_s = [now - beat["at"] for beat in heard.values()]
        if self.store.is_shared and any(LATE_S < one < LOST_S for one in silences_s):
            self.unsure()
        newest = max([runtime.current.revision, *(beat["revision"] for beat in heard.values())])
        if newest > self._newest[0]:
            self._newest = (newest, now)

    def lag_ms(self, revision: int, now: float) -> int:
        """For how long there has been a newer revision than this one."""
        newest, since = self._newest
        return 0 if revision >= newest else max(1, round((now - since) * 1000))

    def behind_ms(self, process: str, revision: int, now: float) -> int:
        """The longer of its lag and its silence."""
        return max(self.lag_ms(revision, now), self.silence_ms(process, now))

    def silence_ms(self, process: str, now: float) -> int:
        """For how long another process has said nothing; 0 while that is nothing special."""
        beat = self.others.get(process)
        silent_s = now - beat["at"] if beat else 0.0
        return round(silent_s * 1000) if silent_s > SILENT_S else 0

    async def follow_clock(self, runtime: Runtime) -> None:
        """Windows, cooldowns and leases of all machines go by Redis's clock."""
        if self.store.is_shared and isinstance(runtime.clock, SteadyClock):
            try:
                seconds, took_s = await self.store.link.time_s()
            except Unreachable:
                return
            if took_s < QUICK_S:
                runtime.clock.follow(seconds + took_s / 2)

    async def prune(self) -> None:
        """Keys of what left the catalog while no process that knew it was there."""
        try:
            self.suspected = await self.store.prune(self.suspected)
        except Unreachable:
            self.suspected = frozenset()

    def _told(self, runtime: Runtime, message: list[Any]) -> None:
        """Another process published: look now, not at the next poll."""
        if message[0] != PUBLISHED or message[1] == runtime.process_id:
            return
        if self._catching_up is not None and not self._catching_up.done():
            self._again = True
            return
        self._catching_up = asyncio.create_task(self._catch_up(runtime))

    async def _catch_up(self, runtime: Runtime) -> None:
        while True:
            self._again = False
            try:
                await sync_to_async(publishing.catch_up)(runtime)
            except Error as problem:
                log.warning("cannot look at what was published: %s", problem)
            if not self._again:
                return


def mark(runtime: Runtime, reached: bool) -> None:
    """The word in ``degraded`` for a store that only this process's state is in."""
    if runtime.peers is not None:
        runtime.peers.unsure(for_ever=not reached)
    if reached:
        runtime.degraded.discard("store")
    else:
        runtime.degraded.add("store")
