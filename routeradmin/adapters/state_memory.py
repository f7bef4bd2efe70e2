"""Runtime state of one process, in memory: the embedded default.

Guarantee: every change is one atomic step, whichever thread makes it (a lock is held; no method
waits for anything). Reads take no lock and may come from any thread; the loop's own reads always
see its own changes. Listeners are called on the thread that made the change, after it is visible.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Sequence
from threading import RLock
from typing import Any

from routeradmin.adapters.local_states import LocalStates
from routeradmin.engine import accounting, durable, health
from routeradmin.engine.eligibility import usable
from routeradmin.engine.key_use import KeyBook, KeyRefused, KeyUse
from routeradmin.engine.leases import LeaseBook, Record
from routeradmin.engine.policy import Policy
from routeradmin.engine.snapshot import Snapshot
from routeradmin.engine.state import (
    Binding,
    CandidateKey,
    CandidateState,
    Change,
    Grant,
    Lease,
    LeaseFenced,
    Listener,
    Outcome,
    ReportState,
    Settlement,
)
from routeradmin.engine.turn_book import Kept, Tell, TurnBook, TurnMoved
from routeradmin.engine.turn_state import Opening, TurnState
from routeradmin.engine.windows import roll, window

REVIEW_EVERY_S = 0.2
CURSORS_KEPT = 16_384
OVER = (ReportState.REPEATED, ReportState.RELEASED)


class MemoryStore:
    """A StateStore whose async methods never suspend. ``mark``: see ``TurnBook``."""

    def __init__(self, epoch: str | None = None, mark: int = 0) -> None:
        self.epoch = epoch or secrets.token_hex(8)
        self._seq = 0
        self._lock = RLock()
        self._local = LocalStates()
        self._book = LeaseBook()
        self._cursors: dict[str, int] = {}
        self._turns = TurnBook(mark)
        self._keys = KeyBook()
        self._listeners: list[Listener] = []
        self._issued = 0
        self._bound = False
        self._latest = 0.0  # the newest ``now`` seen: bind has none of its own
        self._next_review = 0.0
        self.of = self._local.of
        self.row = self._local.row
        self.suspects = self._local.suspects
        # Lease ids must not be guessable from one another's count alone.
        self._prefix = secrets.token_hex(8)

    @property
    def seq(self) -> int:
        return self._seq

    def cursor(self, name: str) -> int:
        return self._cursors.get(name, 0)

    def states(self) -> Iterable[CandidateState]:
        return list(self._local)

    def listen(self, listener: Listener) -> None:
        self._listeners.append(listener)

    def bind(self, snapshot: Snapshot) -> None:
        changes: list[Change] = []
        with self._lock:
            now = self._latest
            for state in self._local.bind(snapshot, now):
                changes += self._renew_secret(state, now)
            self._bound = True
            self._seq += 1
        self._tell(changes)

    def _renew_secret(self, state: CandidateState, now: float) -> list[Change]:
        version = self._local.secret_version(state.key)
        change = health.renew_secret(state, version, now)
        self._local.review(state, now)
        return [] if change is None else [change]

    def expire(self, now: float) -> Sequence[Lease]:
        """Give back leases whose time is over; now and then, write down cooldowns that ended."""
        if now < self._book.next_end and now < self._next_review:
            return ()
        with self._lock:
            over = self._give_back_due(now)
            changes = self._review_suspects(now)
        self._tell(changes)
        return over

    def _give_back_due(self, now: float) -> list[Lease]:
        self._latest = max(self._latest, now)
        due = self._book.due(now)
        for record in due:
            self._book.close(record, ReportState.EXPIRED, now)
            self._free(record, now)
        return [record.lease for record in due]

    def _review_suspects(self, now: float) -> list[Change]:
        if now < self._next_review:
            return []
        self._next_review = now + REVIEW_EVERY_S
        changes: list[Change] = []
        for state in self._local.suspected():
            roll(state, now)
            changes += health.settle_elapsed(state, now)
            self._local.review(state, now)
        self._seq += bool(changes)
        return changes

    def _free(self, record: Record, now: float) -> None:
        accounting.free_slot(record.state)
        self._keys.free(record.lease)
        self._local.review(record.state, now)
        self._seq += 1

    def _use(self, record: Record, tokens: int) -> None:
        accounting.settle_tokens(record.state, record.lease, tokens)
        self._keys.settle(record.lease, tokens)

    async def reserve(self, grant: Grant, now: float) -> Lease | None:
        candidate, tokens = grant.candidate, grant.held_tokens
        with self._lock:
            if now >= self._book.next_end:
                self._give_back_due(now)
            self._raise_if_barred(grant, now)
            state = self._local.of(candidate)
            current = window(now)
            if self._book.is_full or not usable(candidate, state, tokens, now, current, True):
                return None
            accounting.take(state, tokens, now, current)
            lease = self._new_lease(grant, now, current)
            if lease.is_charged:
                self._keys.take(lease, now)
            self._book.add(lease, state)
            self._turns.begun(grant, lease, now)
            self._local.review(state, now)
            if grant.cursor is not None:
                self._advance(grant.cursor)
            self._seq += 1
        return lease

    async def recount(self, keys: Sequence[CandidateKey], now: float) -> bool:
        return False

    def _raise_if_barred(self, grant: Grant, now: float) -> None:
        if grant.turn_version and self._turns.has_moved(grant.turn_id or "", grant.turn_version):
            raise TurnMoved
        if grant.allowance is not None:
            limit = self._keys.refusal(grant.allowance, grant.held_tokens, now)
            if limit is not None:
                raise KeyRefused(limit)

    def _new_lease(self, grant: Grant, now: float, current: int) -> Lease:
        self._issued += 1
        lease_id = f"{self._prefix}{self._issued:x}"
        candidate = grant.candidate
        return Lease(
            lease_id,
            candidate.key,
            self._issued,
            grant.owner,
            now,
            now + grant.ttl_s,
            grant.held_tokens,
            current,
            candidate.credential.secret_version,
            grant.route_id,
            grant.turn_id or lease_id,
            grant.policy_id,
            grant.allowance is not None,
        )

    def _advance(self, name: str) -> None:
        self._set_cursor(name, self._cursors.get(name, 0) + 1)

    def _set_cursor(self, name: str, turn: int) -> None:
        cursors = self._cursors
        if name not in cursors and len(cursors) >= CURSORS_KEPT:
            del cursors[next(iter(cursors))]
        cursors[name] = turn

    async def renew(
        self, lease_id: str, ttl_s: float, now: float, generation: int | None = None
    ) -> Lease:
        with self._lock:
            self._give_back_due(now)
            record = self._book.find(lease_id, generation)
            if record.phase is not ReportState.OPEN:
                raise LeaseFenced(f"Lease {lease_id!r} is over: select again.")
            return self._book.extend(record, now + ttl_s)

    async def release(self, lease_id: str, now: float, generation: int | None = None) -> bool:
        with self._lock:
            self._give_back_due(now)
            record = self._book.find(lease_id, generation)
            if record.phase is ReportState.EXPIRED:
                raise LeaseFenced(f"Lease {lease_id!r} is over: its slot was given back.")
            if record.phase is not ReportState.OPEN:
                return False
            self._book.close(record, ReportState.RELEASED, now)
            self._use(record, 0)
            self._free(record, now)
            return True

    async def settle(
        self,
        lease_id: str,
        outcome: Outcome,
        policy: Policy,
        now: float,
        generation: int | None = None,
        tell: Tell | None = None,
    ) -> Settlement:
        with self._lock:
            self._give_back_due(now)
            record = self._book.find(lease_id, generation)
            phase, lease, cooldown = record.phase, record.lease, record.state.cooldown
            changes: tuple[Change, ...] = ()
            if phase in OVER:
                if record.answer is not None or tell is None:
                    return Settlement(phase, lease, cooldown, (), record.answer, is_first=False)
            else:
                changes = self._end(record, outcome, policy, now)
            settlement = Settlement(phase, lease, record.state.cooldown, changes)
            if tell is not None:
                settlement = self._answered(record, settlement, tell, now)
        self._tell(changes)
        return settlement

    def _end(
        self, record: Record, outcome: Outcome, policy: Policy, now: float
    ) -> tuple[Change, ...]:
        if record.phase is ReportState.OPEN:
            self._book.close(record, ReportState.REPEATED, now)
            accounting.free_slot(record.state)
            self._keys.free(record.lease)
        record.phase = ReportState.REPEATED
        changes = self._judge(record, outcome, policy, now)
        self._local.review(record.state, now)
        self._seq += 1
        return changes

    def _answered(
        self, record: Record | None, settlement: Settlement, tell: Tell, now: float
    ) -> Settlement:
        """The settlement with its answer, and the turn moved on; all under one lock."""
        turn_id = settlement.lease.turn_id or ""
        kept = self._turns.load(turn_id, now)
        told = tell(settlement, kept)
        if told.turn is not None and kept is not None:
            self._turns.save(told.turn, now, kept.version)
        if record is not None:
            record.answer = told.answer
        return settlement._replace(answer=told.answer)

    def _judge(
        self, record: Record, outcome: Outcome, policy: Policy, now: float
    ) -> tuple[Change, ...]:
        lease, state = record.lease, record.state
        used = accounting.tokens_used(outcome, lease.held_tokens)
        self._use(record, used)
        # The key left the catalog, or its secret was rotated: nobody's health is at stake.
        if self._local.get(lease.key) is not state or lease.secret_version != state.secret_version:
            return ()
        if outcome.failure is not None:
            return health.failed(state, outcome, policy, now)
        accounting.sample(state, outcome)
        return health.succeeded(state, outcome, policy, lease.granted_at, now)

    async def lease(self, lease_id: str) -> Lease:
        return self._book.find(lease_id).lease

    async def set_cooldown(
        self, key: CandidateKey, seconds: float, set_by: str, message: str, now: float
    ) -> Change:
        with self._lock:
            state = self._local.at(key)
            change = health.set_manual(state, seconds, set_by, message, now)
            self._changed(state, now)
        self._tell([change])
        return change

    async def clear(self, key: CandidateKey, set_by: str, now: float) -> Change | None:
        with self._lock:
            state = self._local.at(key)
            change = health.clear(state, set_by, now)
            self._changed(state, now)
        self._tell([] if change is None else [change])
        return change

    async def probed(
        self,
        key: CandidateKey,
        ok: bool,
        threshold: int,
        policy: Policy,
        outcome: Outcome,
        now: float,
    ) -> Sequence[Change]:
        with self._lock:
            state = self._local.at(key)
            changes = health.probed(state, ok, threshold, policy, outcome, now)
            self._changed(state, now)
        self._tell(changes)
        return changes

    def _changed(self, state: CandidateState, now: float) -> None:
        self._latest = max(self._latest, now)
        self._local.review(state, now)
        self._seq += 1

    async def phase(self, lease_id: str) -> ReportState:
        return self._book.find(lease_id).phase

    async def load_turn(self, turn_id: str, now: float) -> Kept | None:
        with self._lock:
            return self._turns.load(turn_id, now)

    async def save_turn(self, turn: TurnState | Opening, now: float, version: int) -> bool:
        with self._lock:
            return self._turns.save(turn, now, version)

    def note_turn(self, turn: TurnState, now: float, version: int) -> None:
        with self._lock:
            self._turns.save(turn, now, self._turns.after(version))

    async def binding(self, names: Sequence[str], now: float) -> Binding | None:
        return None

    def bind_session(self, name: str, binding: Binding, now: float) -> None:
        """There is no other process."""

    def key_use(self, uid: str, now: float) -> KeyUse:
        with self._lock:
            return self._keys.of(uid, now)

    def forget_keys(self, uids: Iterable[str]) -> None:
        with self._lock:
            self._keys.forget(uids)

    def export(self, now: float) -> Sequence[dict[str, Any]]:
        with self._lock:
            records = [durable.record(state) for state in self._local]
        return [record for record in records if record is not None]

    def restore(self, records: Iterable[dict[str, Any]], now: float) -> None:
        with self._lock:
            for kept in records:
                state = self._local.at(durable.key_of(kept))
                durable.restore(state, kept, now)
                if self._bound and self._local.outdated(state):
                    self._renew_secret(state, now)
                self._changed(state, now)

    def _tell(self, changes: Sequence[Change]) -> None:
        if changes:
            for listener in self._listeners:
                listener(changes)
