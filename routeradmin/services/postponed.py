"""What was told of leases that this process could not know at that moment."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

from routeradmin.engine.state import LeaseFenced, LeaseNotFound

log = logging.getLogger(__name__)

MOST = 20_000
MOST_AT_ONCE = 500  # told in one go; the rest has its turn in the next
TRIED_S = 10.0  # an unknown lease is asked for again for so long, then it never was

Tell = Callable[[], Awaitable[Any]]


class Waiting(NamedTuple):
    since: float
    tell: Tell


class Postponed:
    """Kept in order; dropped, counted, beyond ``MOST`` and where its lease is never found."""

    def __init__(self) -> None:
        self._waiting: deque[Waiting] = deque()
        self.dropped = 0

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, tell: Tell, now: float) -> None:
        if len(self._waiting) >= MOST:
            self.dropped += 1
            return
        self._waiting.append(Waiting(now, tell))

    async def tell(self, sure_for_s: float, now: float, most: int = MOST_AT_ONCE) -> None:
        """Some, once each; what is unknown waits until that has been sure for ``TRIED_S``."""
        for _ in range(min(len(self._waiting), most)):
            one = self._waiting.popleft()
            # Carried through even where whoever asks for it is cut off: once Redis has kept what
            # it tells, nobody else would record it.
            telling, is_cut_off = asyncio.ensure_future(one.tell()), False
            while not telling.done():
                try:
                    await asyncio.wait({telling})
                except asyncio.CancelledError:  # by the job's limit, then by the stop
                    is_cut_off = True
            self._told(one, telling, sure_for_s, now)
            if is_cut_off:
                raise asyncio.CancelledError

    def _told(
        self, one: Waiting, telling: asyncio.Future[Any], sure_for_s: float, now: float
    ) -> None:
        try:
            telling.result()
        except LeaseNotFound as problem:
            if sure_for_s < TRIED_S:
                self._waiting.append(one)
            else:
                self.dropped += 1
                log.info("dropping a report of %.0f s ago: %s", now - one.since, problem)
        except LeaseFenced as problem:  # it ran out meanwhile; what was reported counted
            log.debug("a report was too late: %s", problem)
        except asyncio.CancelledError:  # the process ends: it still waits
            self._waiting.appendleft(one)
            raise
