"""Slots that processes share: Redis grants them, the own book follows."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Sequence

from routeradmin.adapters.state_memory import MemoryStore
from routeradmin.adapters.state_redis import wire
from routeradmin.adapters.state_redis.apart import Apart
from routeradmin.adapters.state_redis.link import LIMIT_S, Answer, Link, Unreachable
from routeradmin.adapters.state_redis.mirror import Mirror
from routeradmin.adapters.state_redis.wire import Counts
from routeradmin.engine.snapshot import Candidate
from routeradmin.engine.state import (
    Grant,
    Lease,
    ReportState,
)
from routeradmin.engine.turn_book import MARK_BITS, TurnMoved
from routeradmin.engine.windows import window


class SharedGrants(MemoryStore):
    """Grants, each one step in Redis; alone, those of the memory store."""

    def __init__(
        self,
        url: str,
        prefix: str,
        clock: Callable[[], float],
        epoch: str | None = None,
        limit_s: float = LIMIT_S,
    ) -> None:
        super().__init__(epoch, secrets.randbits(MARK_BITS))
        self.clock = clock
        self.link = Link(url, prefix, self._join, self._part, limit_s)
        self.mirror = Mirror(self._local, self._lock)
        self.apart = Apart()

    @property
    def is_shared(self) -> bool:
        return self.link.is_up

    async def _join(self) -> None:
        raise NotImplementedError

    def _part(self) -> None:
        raise NotImplementedError

    # grants

    async def reserve(self, grant: Grant, now: float) -> Lease | None:
        if not self.link.is_up:
            return await super().reserve(grant, now)
        self.expire(now)
        members = [grant.candidate] if grant.ring is None else grant.ring.members()
        while members:
            answer, sent, lease = await self._ask_for(grant, members, now)
            if answer is None:
                self.apart.ended(lease.id, ReportState.RELEASED)  # it may have been granted
                return await super().reserve(grant, now)
            if answer[0] == "stale":
                raise TurnMoved
            if answer[0] == "moved":
                self._turn_is(grant.cursor, answer[1])
                continue
            taken, found = sent[answer[1]], Counts.of(answer[2])
            with self._lock:
                self._turn_is(grant.cursor, answer[3])
                state = self.mirror.count(taken.key, found, now)
                self._seq += 1
                if answer[0] == "granted":
                    lease = lease._replace(
                        key=taken.key, secret_version=taken.credential.secret_version
                    )
                    self._book.add(lease, state or self._local.of(taken))
                    self._turns.begun(grant, lease, now)
                    return lease
            members.remove(taken)
        return None

    async def _ask_for(
        self, grant: Grant, members: list[Candidate], now: float
    ) -> tuple[Answer | None, list[Candidate], Lease]:
        """One try at the member whose turn it is; no answer: Redis is out of reach."""
        tokens, current = grant.held_tokens, window(now)
        cursor, total = grant.cursor or "", len(members)
        first = self.cursor(cursor) % total if total > wire.RING_SENT else 0
        sent = [members[(first + i) % total] for i in range(min(total, wire.RING_SENT))]
        guess = sent[(self.cursor(cursor) % total - first) % total if cursor else 0]
        with self._lock:
            lease = self._new_lease(grant, now, current)
            way = self.mirror.start(guess.key, tokens)
            if cursor:
                self._advance(cursor)
        step = (
            "reserve",
            repr(now),
            repr(lease.expires_at),
            current,
            tokens,
            lease.id,
            wire.facts(lease),
            cursor,
            first,
            total,
            [wire.limits(one) for one in sent],
            wire.turn_step(grant, lease, self._turns.after(grant.turn_version)),
        )
        try:
            return await self.link.call(step), sent, lease
        except Unreachable:
            return None, sent, lease
        except asyncio.CancelledError:  # nobody is there any more to give it back
            self.link.post(wire.close_step(now, lease.id, ReportState.RELEASED))
            raise
        finally:
            with self._lock:
                self.mirror.ended(way)

    def _turn_is(self, cursor: str | None, turn: int) -> None:
        if cursor:
            self._set_cursor(cursor, turn)

    def expire(self, now: float) -> Sequence[Lease]:
        over = super().expire(now)
        if over and self.link.is_up:
            self.link.post(("sweep", repr(now)))
        return over

    def _give_back_due(self, now: float) -> list[Lease]:
        over = super()._give_back_due(now)
        if not self.link.is_up:
            for lease in over:
                self.apart.ended(lease.id, ReportState.EXPIRED)
        return over
