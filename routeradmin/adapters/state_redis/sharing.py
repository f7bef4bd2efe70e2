"""Health that processes share, and how a process comes to share state and goes on alone."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Sequence
from typing import Any

from routeradmin.adapters.state_memory import REVIEW_EVERY_S
from routeradmin.adapters.state_redis import wire
from routeradmin.adapters.state_redis.leasing import SharedLeases
from routeradmin.adapters.state_redis.link import LIMIT_S, Answer, Unreachable
from routeradmin.adapters.state_redis.mirror import Judge, Verdict
from routeradmin.adapters.state_redis.wire import Counts, counts_of, key_text
from routeradmin.engine import durable, health
from routeradmin.engine.leases import Record
from routeradmin.engine.state import CandidateKey, CandidateState, Change
from routeradmin.engine.windows import roll, window

FRAME_S = 0.05  # a newer one is made when somebody looks
FEW = 100  # steps that may stand before a request's own


class SharedHealth(SharedLeases):
    """Every verdict is kept by Redis if it was reached on the newest record, else reached again.

    ``on_reach`` is called with False when Redis goes out of reach and with True when it is back.
    """

    def __init__(
        self,
        url: str,
        prefix: str,
        clock: Callable[[], float],
        epoch: str | None = None,
        limit_s: float = LIMIT_S,
    ) -> None:
        super().__init__(url, prefix, clock, epoch, limit_s)
        self.on_reach: Callable[[bool], None] = lambda reached: None
        self.since = "0"  # the sequence up to which others' changes are known here
        self.frame = 0  # the number of the last frame heard
        self._heard = 0  # of what others did to leases granted here, how much is known already
        self.shared_epoch = ""

    async def _commit(
        self, key: CandidateKey, judge: Judge, now: float, fence: str = ""
    ) -> tuple[Change, ...]:
        """Judge until Redis keeps it; the changes, told."""
        answer: Answer | None = None
        while True:
            with self._lock:
                verdict = self.mirror.weigh(key, judge, now)
                self._changed(self._local.at(key), now)
            try:
                answer = await self.link.call(_commit_step(key, verdict, fence))
            except Unreachable:
                answer = None
                break
            if not self._refused(key, answer, now):
                break
        if answer is not None and answer[0] == "deposed":
            self._learn(key_text(key), answer[1], answer[2], now)
            return ()
        self._tell(verdict.changes)
        return verdict.changes

    def _commit_later(
        self, key: CandidateKey, judge: Judge, now: float, *, anyway: bool = False
    ) -> None:
        """The same without waiting, from wherever; told once Redis has kept it.

        ``anyway``: the record is sent even if the judge leaves it as it is.
        """
        with self._lock:
            verdict = self.mirror.weigh(key, judge, now, anyway=anyway)

        def then(answer: Answer | None) -> None:
            if answer is not None and self._refused(key, answer, now):
                self._commit_later(key, judge, now)
            elif answer is None or answer[0] == "kept":
                self._tell(verdict.changes)

        if self.link.is_up:
            self.link.post(_commit_step(key, verdict, ""), then)
        else:
            self._tell(verdict.changes)

    def _refused(self, key: CandidateKey, answer: Answer, now: float) -> bool:
        """Whether another's record came first (it is taken over)."""
        if answer[0] == "conflict":
            self._learn(key_text(key), answer[1], answer[2], now)
            return True
        if answer[0] == "kept":
            with self._lock:
                self.mirror.count(key, counts_of(answer[1]), now)
        return False

    def _review_suspects(self, now: float) -> list[Change]:
        """Whichever process writes down first that a cooldown ended tells of it."""
        if not self.link.is_up:
            return super()._review_suspects(now)
        if now < self._next_review:
            return []
        self._next_review = now + REVIEW_EVERY_S
        for state in self._local.suspected():
            roll(state, now)
            cooldown = state.cooldown
            if cooldown is not None and cooldown.until <= now and not state.recovering:
                self._commit_later(state.key, lambda s: health.settle_elapsed(s, now), now)
            else:
                self._local.review(state, now)
        return []

    # coming and going

    async def _join(self) -> None:
        """Learn everything, put what happened apart beside it, and share from here on.

        The bulk is told while requests still go on alone, so that none waits behind it. Turns go
        before their leases: whoever reports a lease finds its turn.
        """
        was = self.shared_epoch
        self.mirror.forget_steps()
        entries = await self._everything()
        told: set[str] = set()
        if was not in ("", self.shared_epoch):  # Redis lost what it had
            for turn_id in self._turns.ids():
                self.apart.turn_changed(turn_id)
        await self._tell_turns()
        while len(steps := self._leases_to_tell(told)) > FEW:
            await self._ask_of_leases(steps)
            await self._tell_turns()
        now = self.clock()
        with self._lock:
            charges = self.apart.charges(self._local, window(now))
            met = {wire.key_of(key): (counts_of(sent), record) for key, sent, record in entries}
            # Before the first catalog is bound nobody knows which of these it has.
            for key, (counts, _) in met.items():
                if key.deployment:
                    self.mirror.count(key, counts, now)
            key_charges = self.apart.key_charges(self._keys, window(now))
            for _, use in self._keys:
                use.seq = 0
            self.link.rise()
            for turn_id in self.apart.take_turns():
                self._post_turn(turn_id)
            for step in (*steps, *self._leases_to_tell(told)):
                self._post_of_lease(step)
            for key, charge in charges.items():
                self.link.post(("charge", key_text(key), *charge))
            for step in key_charges:
                self.link.post(step)
            for state in list(self._local):
                self._reconcile(state, met.get(state.key), now)
            self.apart.clear()
            self._seq += 1
        self._heard = 0
        self.link.post(self._look_step(0), self._looked)
        self.on_reach(True)

    def _leases_to_tell(self, told: set[str]) -> list[tuple[Any, ...]]:
        """Leases that were not told yet (telling twice does no harm), then ends. Those that were
        granted and ended apart are told too: whoever took them may report to another process."""
        now = self.clock()
        ended = filter(None, map(self._book.known, self.apart.ended_ids))
        fresh = [one for one in (*self._book.open_records(), *ended) if one.lease.id not in told]
        told.update(one.lease.id for one in fresh)
        untold = self.apart.take_untold()
        return [*map(_adopt_step, fresh), *untold, *self.apart.take_ends(now)]

    async def _ask_of_leases(self, steps: list[tuple[Any, ...]]) -> None:
        try:
            await self.link.ask(*steps)
        except BaseException:
            for step in steps:
                self.apart.lost(step)
            raise

    def _post_of_lease(self, step: tuple[Any, ...]) -> None:
        def then(answer: Answer | None) -> None:
            if answer is None:
                self.apart.lost(step)

        self.link.post(step, then)

    async def _tell_turns(self) -> None:
        """Until none is left that changed; one that changes again meanwhile is told again."""
        while turn_ids := self.apart.take_turns(FEW):
            offers = map(self._offer, turn_ids)
            try:
                await self.link.ask(*(offer for offer in offers if offer is not None))
            except BaseException:
                for turn_id in turn_ids:
                    self.apart.turn_changed(turn_id)
                raise

    def _post_turn(self, turn_id: str) -> None:
        def then(answer: Answer | None) -> None:
            if answer is None:
                self.apart.turn_changed(turn_id)

        offer = self._offer(turn_id)
        if offer is not None:
            self.link.post(offer, then)

    async def _everything(self) -> list[Any]:
        entries: list[Any] = []
        since, epoch, frame = "0", secrets.token_hex(8), None
        while True:
            ((_, found_epoch, newest, since, more, (found,)),) = await self.link.ask(
                ("poll", repr(self.clock()), since, epoch)
            )
            entries += found
            frame = newest if frame is None else frame  # later ones may tell of later changes
            if not more:
                self.since, self.frame, self.shared_epoch = since, frame, found_epoch
                return entries

    def _reconcile(self, state: CandidateState, met: tuple[Counts, Any] | None, now: float) -> None:
        """The newer secret, then the later end of a cooldown wins; else what Redis has."""
        told = met[1] if met is not None else None
        version = met[0].version if met is not None else 0
        mine = wire.record_text(state)
        state.version = version
        if told:
            theirs = CandidateState(state.key)
            wire.put_record(theirs, told)
            ours_stands = self.apart.began and (state.secret_version, state.cooldown_until) > (
                theirs.secret_version,
                theirs.cooldown_until,
            )
            if not ours_stands:
                self.mirror.take(state.key, version, told, now, force=True)
                return
        if (told or durable.record(state) is not None) and mine != told:
            self._commit_later(state.key, lambda s: (), now, anyway=True)

    def _offer(self, turn_id: str) -> tuple[Any, ...] | None:
        found = self._turns.at(turn_id)
        if found is None:
            return None
        saved_at, (turn, version, claim) = found
        key = "" if claim is None else key_text(claim.key)
        text = wire.turn_text(turn, saved_at)
        return ("offer_turn", turn_id, version, text, wire.claim_text(claim), key)

    def _part(self) -> None:
        """From here on limits are this process's own; others' leases count for nothing."""
        now = self.clock()
        with self._lock:
            self.mirror.drop_under_way()
            own = self._book.open_by_key()
            self._keys.hold_only(record.lease for record in self._book.open_records())
            self.apart.begin(self._local, self._keys)
            for state in self._local:
                state.active = own[state.key]
                self._local.review(state, now)
            self._seq += 1
        self.on_reach(False)

    async def look(self, old_s: float = FRAME_S) -> None:
        """Hear what others did, up to ``old_s`` ago. Raises Unreachable."""
        step, self._heard = self._look_step(round(old_s * 1000)), 0
        answer = await self.link.call(step)
        if self._lost_data(answer[1]):
            return
        if answer[0] != "frames":
            await self._catch_up()
            return
        _, _, frame, since, done, frames = answer
        self._hear_of(done)
        for entries in frames:
            self._take_entries(entries)
            await asyncio.sleep(0)  # thousands of candidates: requests may go between
        self.frame, self.since = frame, since

    async def _catch_up(self) -> None:
        """After having been away for longer than frames are kept."""
        more, frame = True, None
        while more:
            step = ("poll", repr(self.clock()), self.since, "")
            _, epoch, newest, since, more, (entries,) = await self.link.call(step)
            if self._lost_data(epoch):
                return
            self._take_entries(entries)
            self.since = since
            frame = newest if frame is None else frame
        self.frame = frame or 0

    def _looked(self, answer: Answer | None) -> None:
        if answer is not None and answer[0] == "frames" and not self._lost_data(answer[1]):
            _, _, self.frame, self.since, done, frames = answer
            self._hear_of(done)
            for entries in frames:
                self._take_entries(entries)

    def _look_step(self, old_ms: int) -> tuple[Any, ...]:
        return ("look", repr(self.clock()), self.frame, old_ms, self._prefix, self._heard)

    def _hear_of(self, done: str) -> None:
        texts = done.split()
        with self._lock:
            self._done_elsewhere(texts)
        self._heard = len(texts)

    def _take_entries(self, entries: Sequence[Any]) -> None:
        """Others' counters, and records whose push was missed."""
        now = self.clock()
        with self._lock:
            for text, sent, record in entries:
                key, counts = wire.key_of(text), counts_of(sent)
                if self.mirror.is_gone(key, counts.seq):
                    continue
                if not key.deployment:
                    if key.credential in self._keys:
                        wire.put_use(self._keys.at(key.credential), counts)
                    continue
                self.mirror.count(key, counts, now)
                if record:
                    self.mirror.take(key, counts.version, record, now)
            self._seq += bool(entries)

    def _lost_data(self, epoch: str) -> bool:
        if epoch == self.shared_epoch:
            return False
        self.link.fall("Redis lost its data")
        return True

    def _forget(self, key: CandidateKey) -> None:
        def then(answer: Answer | None) -> None:
            if answer is not None:
                self.forgotten(key_text(key), answer[1], by_us=True)

        self.link.post(("forget", key_text(key)), then)

    def forgotten(self, key: str, seq: int, *, by_us: bool = False) -> None:
        """Redis has nothing of this candidate any more, whoever asked for that."""
        with self._lock:
            self.mirror.forget(wire.key_of(key), seq, self.clock(), by_us=by_us)
            self._seq += 1

    def pushed(self, key: str, version: int, record: str) -> None:
        """Another process's verdict, the moment it was kept."""
        with self._lock:
            self.mirror.take(wire.key_of(key), version, record, self.clock())
            self._seq += 1


def _adopt_step(record: Record) -> tuple[Any, ...]:
    lease = record.lease
    return (
        "adopt",
        lease.id,
        repr(lease.expires_at),
        key_text(lease.key),
        lease.secret_version,
        wire.facts(lease),
        lease.window,
        lease.held_tokens,
        lease.owner if lease.is_charged else "",
    )


def _commit_step(key: CandidateKey, verdict: Verdict, fence: str) -> tuple[Any, ...]:
    return ("commit", key_text(key), verdict.expected, verdict.record, verdict.deltas, fence)
