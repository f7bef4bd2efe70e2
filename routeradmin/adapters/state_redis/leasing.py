"""Leases that processes share: Redis grants and ends them, the own book follows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import orjson

from routeradmin.adapters.state_memory import OVER
from routeradmin.adapters.state_redis import wire
from routeradmin.adapters.state_redis.ending import Decided, Ending
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
from routeradmin.engine.turn_book import TURN_KEPT_S, Kept, Tell
from routeradmin.engine.windows import window

OPEN = ReportState.OPEN


class SharedLeases(SharedGrants):
    """Renewals and ends, each one step in Redis; alone, those of the memory store."""

    async def renew(
        self, lease_id: str, ttl_s: float, now: float, generation: int | None = None
    ) -> Lease:
        self.expire(now)
        try:
            lease, _, _ = await self._find(lease_id, generation)
            ends, granter = repr(now + ttl_s), self._granter(lease_id)
            step = ("renew", repr(now), lease_id, _text(generation), ends, granter)
            answer = await self._ask_of(lease_id, step)
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
            granter = self._granter(lease_id)
            step = wire.close_step(now, lease_id, phase, generation=generation, granter=granter)
            answer = await self._ask_of(lease_id, step)
        except Unreachable:
            released = await super().release(lease_id, now, generation)
            self.apart.ended(lease_id, phase)
            return released
        self._raise_if_lost(answer[0], lease_id)
        with self._lock:
            record = self._book.known(lease_id)
            self._closed_here(lease_id, phase, now)
            paying = record.lease if record is not None and answer[0] == "open" else None
            self._count(answer, paying, now)
        return bool(answer[0] == "open")

    async def settle(
        self,
        lease_id: str,
        outcome: Outcome,
        policy: Policy,
        now: float,
        generation: int | None = None,
        tell: Tell | None = None,
    ) -> Settlement:
        self.expire(now)
        try:
            lease, phase, answered = await self._find(lease_id, generation)
            kept = await self._turn_to_tell(lease, now) if tell is not None else None
        except Unreachable:
            return await self._settle_alone(lease_id, outcome, policy, now, generation, tell)
        if phase in OVER and (answered is not None or tell is None):
            return self._repeated(phase, lease, answered)
        granter = self._granter(lease_id)
        ending = Ending(lease, generation, outcome, policy, now, tell, granter)
        while True:
            report = self._decide(ending, phase, kept)
            try:
                answer = await self._send(ending, report)
                if answer[0] not in ("conflict", "moved"):
                    break
                self._learn(answer[1], answer[2], answer[3], now)
                if answer[0] == "moved":
                    phase = wire.phase_of(answer[4])
                    kept = await self._load_turn(lease.turn_id or "", now)
            except Unreachable:
                return self._settled_alone(ending, report)
        self._raise_if_lost(answer[0], lease_id)
        return self._ended(answer, ending, report)

    def _decide(self, ending: Ending, phase: ReportState, kept: Kept | None) -> Decided:
        """What the report comes to if the lease and its turn are as they seem."""
        lease, tell = ending.lease, ending.tell
        with self._lock:
            verdict, way = NO_VERDICT, None
            if phase not in OVER:
                verdict = self._judge_lease(ending)
                way = self.mirror.leave(lease.key, ending.tokens) if phase is OPEN else None
            told = None
            if tell is not None:
                state = self._local.get(lease.key)
                cooldown = None if state is None else state.cooldown
                told = tell(Settlement(phase, lease, cooldown, verdict.changes), kept)
        version = 0 if kept is None else kept.version
        return Decided(phase, verdict, told, version, self._turns.after(version), way)

    async def _send(self, ending: Ending, decided: Decided) -> Answer:
        try:
            return await self._ask_of(ending.lease.id, ending.step(decided))
        finally:
            if decided.way is not None:
                with self._lock:
                    self.mirror.ended(decided.way)

    async def _ask_of(self, lease_id: str, step: Sequence[Any]) -> Answer:
        """The answer of a step about a lease. Raises Unreachable also where Redis does not know
        one that was granted here: it lost its data, which the next look finds out."""
        answer = await self.link.call(step)
        if answer[0] == "missing" and self._book.known(lease_id) is not None:
            raise Unreachable(f"Redis lost lease {lease_id}")
        return answer

    def _ended(self, answer: Answer, ending: Ending, decided: Decided) -> Settlement:
        met, lease, now = wire.phase_of(answer[0]), ending.lease, ending.now
        with self._lock:
            self._closed_here(lease.id, ReportState.REPEATED, now)
            paying = None if met in OVER else lease
            state = self._count(answer, paying, now) or self._local.get(lease.key)
        cooldown = None if state is None else state.cooldown
        if met in OVER and (answer[4] or decided.told is None):  # another process was first
            self._learn(answer[1], answer[2], answer[3], now)
            kept = orjson.loads(answer[4]) if answer[4] else None
            return Settlement(met, lease, cooldown, (), kept, is_first=False)
        with self._lock:
            self._keep_told(lease, decided, now)
        self._tell(decided.verdict.changes)
        return Settlement(met, lease, cooldown, decided.verdict.changes, decided.answer)

    def _repeated(
        self, phase: ReportState, lease: Lease, answer: dict[str, Any] | None
    ) -> Settlement:
        state = self._local.get(lease.key)
        cooldown = None if state is None else state.cooldown
        return Settlement(phase, lease, cooldown, (), answer, is_first=False)

    def _keep_told(self, lease: Lease, decided: Decided, now: float) -> None:
        told, record = decided.told, self._book.known(lease.id)
        if told is None:
            return
        if told.turn is not None:
            self._turns.put(Kept(told.turn, decided.next_version), now)
        if record is not None:
            record.answer = told.answer

    async def _turn_to_tell(self, lease: Lease, now: float) -> Kept | None:
        """From here where it is known: if it has moved on elsewhere, Redis will say so."""
        turn_id = lease.turn_id or ""
        return self._turns.load(turn_id, now) or await self._load_turn(turn_id, now)

    async def _load_turn(self, turn_id: str, now: float) -> Kept | None:
        """The newest that Redis has, noted here. Raises Unreachable."""
        found = wire.kept_of(await self.link.call(("load_turn", turn_id)))
        if found is None:
            return self._turns.load(turn_id, now)
        saved_at, kept = found
        if now - saved_at >= TURN_KEPT_S:
            return None
        with self._lock:
            if self._turns.has_moved(turn_id, kept.version) or turn_id not in self._turns:
                self._turns.put(kept, saved_at)
        return kept.copied()

    def _judge_lease(self, ending: Ending) -> Verdict:
        lease, outcome, policy, now = ending.lease, ending.outcome, ending.policy, ending.now
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
            if not ending.is_sampled:
                accounting.sample(state, outcome)
                ending.is_sampled = True
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

    def _granter(self, lease_id: str) -> str:
        """Who granted it; nothing where that was this process."""
        granter = lease_id[: len(self._prefix)]
        return "" if granter == self._prefix else granter

    def _done_elsewhere(self, texts: Sequence[str]) -> None:
        """What others did to leases granted here: ``<id>``, ended; ``<id>=<end>``, renewed. So this
        process counts what is open when it is on its own, and tells of that where Redis has lost
        what it had."""
        for text in texts:
            lease_id, _, ends = text.partition("=")
            record = self._book.known(lease_id)
            if record is None or record.phase is not ReportState.OPEN:
                continue
            if not ends:
                self._book.close(record, ReportState.REPEATED, self.clock())
            elif float(ends) > record.lease.expires_at:  # else it was renewed here since
                self._book.extend(record, float(ends))

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
        tell: Tell | None,
    ) -> Settlement:
        settlement = await super().settle(lease_id, outcome, policy, now, generation, tell)
        if settlement.is_first:
            used = accounting.tokens_used(outcome, settlement.lease.held_tokens)
            self._ended_apart(settlement.lease, used, settlement.answer)
        return settlement

    def _settled_alone(self, ending: Ending, decided: Decided) -> Settlement:
        """Judged already, then Redis went: what is left is to give the slot back here."""
        lease, now = ending.lease, ending.now
        with self._lock:
            record = self._book.known(lease.id)
            if record is not None and record.phase is ReportState.OPEN:
                self._free(record, now)
                accounting.settle_tokens(record.state, lease, ending.used)
            self._closed_here(lease.id, ReportState.REPEATED, now)
            state = self._local.get(lease.key)
            cooldown = None if state is None else state.cooldown
            settlement = Settlement(decided.phase, lease, cooldown, decided.verdict.changes)
            if ending.tell is not None:
                settlement = self._answered(record, settlement, ending.tell, now)
        self._ended_apart(lease, ending.used, settlement.answer)
        self._tell(decided.verdict.changes)
        return settlement

    def _ended_apart(self, lease: Lease, used: int, answer: dict[str, Any] | None) -> None:
        self.apart.ended(lease.id, ReportState.REPEATED, used, answer)
        turn_id = lease.turn_id or ""
        if answer is not None and turn_id in self._turns:
            self.apart.turn_changed(turn_id)

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

    def _learn(self, key: str, counts: Sequence[Any], record: Any, now: float) -> None:
        """Redis knows better."""
        told, found = wire.key_of(key), counts_of(counts)
        with self._lock:
            self.mirror.count(told, found, now)
            self.mirror.take(told, found.version, record or "", now, force=True)
            self._seq += 1

    def _count(self, answer: Answer, lease: Lease | None, now: float) -> CandidateState | None:
        if lease is not None and lease.is_charged and answer[4]:
            self._pay(lease.owner, answer[4])
        return self.mirror.count(wire.key_of(answer[1]), counts_of(answer[2]), now)


def _text(generation: int | None) -> str:
    return "" if generation is None else str(generation)


def _not_found(lease_id: str) -> LeaseNotFound:
    return LeaseNotFound(f"No lease {lease_id!r}: it was never issued, or is long over.")
