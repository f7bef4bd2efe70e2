"""Slots that processes share: Redis grants them, the own book follows."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from routeradmin.adapters.state_memory import MemoryStore
from routeradmin.adapters.state_redis import wire
from routeradmin.adapters.state_redis.apart import Apart
from routeradmin.adapters.state_redis.link import LIMIT_S, Answer, Link, Unreachable
from routeradmin.adapters.state_redis.mirror import Mirror
from routeradmin.adapters.state_redis.recounts import Recounts
from routeradmin.adapters.state_redis.wire import counts_of
from routeradmin.engine.key_use import KeyRefused
from routeradmin.engine.snapshot import Candidate, Snapshot
from routeradmin.engine.state import CandidateKey, Grant, Lease, ReportState
from routeradmin.engine.turn_book import MARK_BITS, TurnMoved
from routeradmin.engine.windows import window

RINGS_KEPT = 1024
MOST_RECOUNTED = 64  # candidates of one refusal: the first tiers' first


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
        self._recounts = Recounts(self._count_anew)
        self._rings: dict[Any, tuple[list[Candidate], wire.Ring]] = {}

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
            return await self._reserve_alone(grant, now)
        self.expire(now)
        members = [grant.candidate] if grant.ring is None else grant.ring.members()
        while members:
            answer, sent, lease = await self._ask_for(grant, members, now)
            if answer is None:
                self.apart.ended(lease.id, ReportState.RELEASED)  # it may have been granted
                return await self._reserve_alone(grant, now)
            if answer[0] == "stale":
                raise TurnMoved
            if answer[0] == "limited":
                self._pay(lease.owner, answer[2])
                self._turn_is(grant.cursor, answer[3])
                raise KeyRefused(answer[1])
            if answer[0] == "moved":
                self._turn_is(grant.cursor, answer[1])
                continue
            taken, found = sent[answer[1]], counts_of(answer[2])
            with self._lock:
                self._turn_is(grant.cursor, answer[3])
                if answer[4]:
                    self._pay(lease.owner, answer[4])
                state = self.mirror.count(taken.key, found, now)
                self._seq += 1
                if answer[0] == "granted":
                    lease = lease._replace(
                        key=taken.key, secret_version=taken.credential.secret_version
                    )
                    if self._book.is_full:  # Redis knows them all, and which are reported elsewhere
                        self._book.forget_next()
                    self._book.add(lease, state or self._local.of(taken))
                    self._turns.begun(grant, lease, now)
                    return lease
            members = [one for one in members if one is not taken]
        return None

    async def recount(self, keys: Sequence[CandidateKey], now: float) -> bool:
        if not self.link.is_up:
            return False
        asked = keys[:MOST_RECOUNTED]
        if not self.link.is_of_this_loop:
            return await self._count_anew(asked, now)
        return await self._recounts.ask(asked, now)

    async def _count_anew(self, keys: Sequence[CandidateKey], now: float) -> bool:
        try:
            answer = await self.link.call(("recount", repr(now), [wire.key_text(k) for k in keys]))
        except Unreachable:
            return True  # others' slots count for nothing any more
        with self._lock:
            for key, sent in zip(keys, answer[1], strict=True):
                self.mirror.count(key, counts_of(sent), now)
            self._seq += 1
        return True

    async def _reserve_alone(self, grant: Grant, now: float) -> Lease | None:
        lease = await super().reserve(grant, now)
        turn_id = "" if lease is None else lease.turn_id or lease.id
        if turn_id in self._turns:  # whoever hears of the lease is to hear of its turn
            self.apart.turn_changed(turn_id)
        return lease

    async def _ask_for(
        self, grant: Grant, members: list[Candidate], now: float
    ) -> tuple[Answer | None, list[Candidate], Lease]:
        """One try at the member whose turn it is; no answer: Redis is out of reach."""
        tokens, current = grant.held_tokens, window(now)
        cursor, total = grant.cursor or "", len(members)
        at = self.cursor(cursor) % total if cursor else 0
        first = at - at % wire.RING_STEP if total > wire.RING_SENT else 0
        sent, ring = self._ring(grant, members, first)
        guess = sent[at - first]
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
            ring,
            wire.turn_step(grant, lease, self._turns.after(grant.turn_version)),
            wire.payer(grant.allowance),
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

    def _pay(self, uid: str, sent: Sequence[Any]) -> None:
        """What an API key has used by now."""
        with self._lock:
            wire.put_use(self._keys.at(uid), counts_of(sent))

    def forget_keys(self, uids: Iterable[str]) -> None:
        uids = list(uids)
        super().forget_keys(uids)
        for uid in uids:
            self.link.post(("forget", wire.key_text(wire.payer_key(uid))))

    def _ring(
        self, grant: Grant, members: list[Candidate], first: int
    ) -> tuple[list[Candidate], wire.Ring]:
        """The members from ``first`` on that travel, made once for grants that ask for the same."""
        sent = members if len(members) <= wire.RING_SENT else _around(members, first)
        name = grant.candidate if grant.ring is None else (grant.cursor, first, len(members))
        kept = self._rings.get(name)
        if kept is not None and kept[0] == sent:
            return kept
        if len(self._rings) >= RINGS_KEPT:
            self._rings.clear()
        made = self._rings[name] = sent, wire.Ring(sent)
        return made

    def bind(self, snapshot: Snapshot) -> None:
        self._rings.clear()
        super().bind(snapshot)

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


def _around(members: Sequence[Candidate], first: int) -> list[Candidate]:
    return [members[(first + i) % len(members)] for i in range(wire.RING_SENT)]
