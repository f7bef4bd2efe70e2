"""Leases that processes share: Redis grants and ends them, the own book follows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import orjson

from routeradmin.adapters.state_redis import wire
from routeradmin.adapters.state_redis.granting import SharedGrants
from routeradmin.adapters.state_redis.link import Answer, Unreachable
from routeradmin.adapters.state_redis.mirror import NO_VERDICT, Verdict, in_order
from routeradmin.adapters.state_redis.wire import counts_of
from routeradmin.engine import accounting, health
from routeradmin.engine.policy import Policy
from routeradmin.engine.state import (
    CandidateState,
    Lease,
    LeaseFenced,
    LeaseNotFound,
    Outcome,
    ReportState,
    Settlement,
)
from routeradmin.engine.windows import window

OVER = (ReportState.REPEATED, ReportState.RELEASED)


class SharedLeases(SharedGrants):
    """Renewals and ends, each one step in Redis; alone, those of the memory store."""

    async def renew(
        self, lease_id: str, ttl_s: float, now: float, generation: int | None = None
    ) -> Lease:
        self.expire(now)
        try:
            lease, _, _ = await self._find(lease_id, generation)
            step = ("renew", repr(now), lease_id, _text(generation), repr(now + ttl_s))
            answer = await self.link.call(step)
        except Unreachable:
            return await super().renew(lease_id, ttl_s, now, generation)
        self._raise_if_lost(answer[0], lease_id)
        with self._lock:
            record = self._book.known(lease_id)
            if record is not None and record.phase is ReportState.OPEN:
                return self._book.extend(record, now + ttl_s)
        return lease._replace(expires_at=now + ttl_s)

    async def release(self, lease_id: str, now: float, generation: int | None = None) -> bool:
        self.expire(now)
        phase = ReportState.RELEASED
        try:
            answer = await self._close(lease_id, generation, phase, 0, NO_VERDICT, now)
        except Unreachable:
            released = await super().release(lease_id, now, generation)
            self.apart.ended(lease_id, phase)
            return released
        self._raise_if_lost(answer[0], lease_id)
        with self._lock:
            self._closed_here(lease_id, phase, now)
            self._count(answer, now)
        return bool(answer[0] == "open")

    async def settle(
        self,
        lease_id: str,
        outcome: Outcome,
        policy: Policy,
        now: float,
        generation: int | None = None,
    ) -> Settlement:
        self.expire(now)
        try:
            lease, phase, answer_kept = await self._find(lease_id, generation)
        except Unreachable:
            return await self._settle_alone(lease_id, outcome, policy, now, generation)
        if phase in OVER:
            cooldown = self._local.at(lease.key).cooldown
            return Settlement(phase, lease, cooldown, (), answer_kept)
        used = accounting.tokens_used(outcome, lease.held_tokens)
        while True:
            with self._lock:
                verdict = self._judge_lease(lease, outcome, policy, now)
            try:
                answer = await self._close(
                    lease_id, generation, ReportState.REPEATED, used, verdict, now
                )
            except Unreachable:
                return self._settled_alone(lease, phase, used, verdict, now)
            if answer[0] != "conflict":
                break
            self._learn(answer[1], answer[2], answer[3], now)
        self._raise_if_lost(answer[0], lease_id)
        return self._settled(answer, lease, verdict, now)

    def _settled(self, answer: Answer, lease: Lease, verdict: Verdict, now: float) -> Settlement:
        met = wire.phase_of(answer[0])
        with self._lock:
            self._closed_here(lease.id, ReportState.REPEATED, now)
            state = self._count(answer, now) or self._local.get(lease.key)
        cooldown = None if state is None else state.cooldown
        if met in OVER:  # another process was first
            self._learn(answer[1], answer[2], answer[3], now)
            kept = orjson.loads(answer[4]) if answer[4] else None
            return Settlement(met, lease, cooldown, (), kept)
        self._tell(verdict.changes)
        return Settlement(met, lease, cooldown, verdict.changes)

    def _judge_lease(self, lease: Lease, outcome: Outcome, policy: Policy, now: float) -> Verdict:
        state, record = self._local.get(lease.key), self._book.known(lease.id)
        if state is None and record is None and self._local.names(lease.key):
            state = self._local.at(lease.key)
        # The key left the catalog, or its secret was rotated: nobody's health is at stake.
        if (
            state is None
            or (record is not None and record.state is not state)
            or lease.secret_version != state.secret_version
        ):
            return NO_VERDICT
        if outcome.failure is None:
            accounting.sample(state, outcome)
            if in_order(state):
                counted = wire.success(outcome.latency_ms, window(now))
                return Verdict((), state.version, "", counted)
            return self.mirror.weigh(
                lease.key,
                lambda s: health.succeeded(s, outcome, policy, lease.granted_at, now),
                now,
                outcome.latency_ms,
            )
        if outcome.failure in health.NOT_THE_DEPLOYMENTS:
            return NO_VERDICT
        return self.mirror.weigh(lease.key, lambda s: health.failed(s, outcome, policy, now), now)

    async def _close(
        self,
        lease_id: str,
        generation: int | None,
        phase: ReportState,
        used: int,
        verdict: Verdict,
        now: float,
    ) -> Answer:
        return await self.link.call(
            (
                "close",
                repr(now),
                lease_id,
                _text(generation),
                phase.value,
                used,
                verdict.expected,
                verdict.record,
                verdict.deltas,
            )
        )

    def _closed_here(self, lease_id: str, phase: ReportState, now: float) -> None:
        record = self._book.known(lease_id)
        if record is not None:
            if record.phase is ReportState.OPEN:
                self._book.close(record, phase, now)
            record.phase = phase
        self._seq += 1

    async def _settle_alone(
        self,
        lease_id: str,
        outcome: Outcome,
        policy: Policy,
        now: float,
        generation: int | None,
    ) -> Settlement:
        used = 0
        record = self._book.known(lease_id)
        if record is not None:
            used = accounting.tokens_used(outcome, record.lease.held_tokens)
        settlement = await super().settle(lease_id, outcome, policy, now, generation)
        self.apart.ended(lease_id, ReportState.REPEATED, used)
        return settlement

    def _settled_alone(
        self, lease: Lease, phase: ReportState, used: int, verdict: Verdict, now: float
    ) -> Settlement:
        """Judged already, then Redis went: what is left is to give the slot back here."""
        with self._lock:
            record = self._book.known(lease.id)
            if record is not None and record.phase is ReportState.OPEN:
                self._free(record, now)
                accounting.settle_tokens(record.state, lease, used)
            self._closed_here(lease.id, ReportState.REPEATED, now)
            state = self._local.get(lease.key)
        self.apart.ended(lease.id, ReportState.REPEATED, used)
        self._tell(verdict.changes)
        cooldown = None if state is None else state.cooldown
        return Settlement(phase, lease, cooldown, verdict.changes)

    # leases looked up

    async def _find(
        self, lease_id: str, generation: int | None = None
    ) -> tuple[Lease, ReportState, dict[str, Any] | None]:
        """From the own book where that settles it.

        Raises LeaseNotFound, LeaseFenced, Unreachable.
        """
        record = self._book.known(lease_id)
        if record is not None and record.phase in (ReportState.OPEN, ReportState.EXPIRED):
            self._fence(record.lease, generation)
            return record.lease, record.phase, None
        answer = await self.link.call(("lease", lease_id))
        if answer[0] == "missing":
            if record is None:
                raise _not_found(lease_id)
            return record.lease, record.phase, record.answer
        _, key, secret_version, ends, kept, phase, text = answer
        lease = wire.lease_of(lease_id, key, secret_version, ends, kept)
        self._fence(lease, generation)
        return lease, wire.phase_of(phase), orjson.loads(text) if text else None

    def _fence(self, lease: Lease, generation: int | None) -> None:
        if generation is not None and generation != lease.generation:
            raise LeaseFenced(
                f"Lease {lease.id!r} is not of generation {generation}: select again."
            )

    def _raise_if_lost(self, word: str, lease_id: str) -> None:
        if word == "missing":
            raise _not_found(lease_id)
        if word == "fenced":
            raise LeaseFenced(f"Lease {lease_id!r} is over or not yours: select again.")

    async def lease(self, lease_id: str) -> Lease:
        try:
            return (await self._find(lease_id))[0]
        except Unreachable:
            return await super().lease(lease_id)

    async def phase(self, lease_id: str) -> ReportState:
        record = self._book.known(lease_id)
        if record is not None and record.phase in OVER:
            return record.phase
        try:
            answer = await self.link.call(("lease", lease_id))
        except Unreachable:
            return await super().phase(lease_id)
        if answer[0] == "missing":
            return await super().phase(lease_id)
        return wire.phase_of(answer[5])

    async def keep_answer(self, lease_id: str, answer: dict[str, Any], now: float) -> None:
        record = self._book.known(lease_id)
        if record is not None and record.answer is None:
            record.answer = answer
        try:
            kept = await self.link.call(("answer", lease_id, wire.Text(answer)))
        except Unreachable:
            self.apart.answered(lease_id, answer)
            return
        if record is None:
            self._raise_if_lost(kept[0], lease_id)

    def _learn(self, key: str, counts: Sequence[Any], record: Any, now: float) -> None:
        """Redis knows better."""
        told, found = wire.key_of(key), counts_of(counts)
        with self._lock:
            self.mirror.count(told, found, now)
            self.mirror.take(told, found.version, record or "", now, force=True)
            self._seq += 1

    def _count(self, answer: Answer, now: float) -> CandidateState | None:
        return self.mirror.count(wire.key_of(answer[1]), counts_of(answer[2]), now)


def _text(generation: int | None) -> str:
    return "" if generation is None else str(generation)


def _not_found(lease_id: str) -> LeaseNotFound:
    return LeaseNotFound(f"No lease {lease_id!r}: it was never issued, or is long over.")
