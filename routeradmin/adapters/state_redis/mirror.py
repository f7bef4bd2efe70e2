"""This process's picture of the shared candidates: what Redis told, and own steps under way.

Counters are always the last ones told, with the own grants that are still unanswered on top.
Health records carry a version. A verdict is reached here on the version at hand and counts at
once in the picture; Redis keeps it if that version is still the newest, and otherwise sends the
newer record, which then takes the place of ours.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from operator import add, neg
from threading import RLock
from typing import Any, NamedTuple

from routeradmin.adapters.local_states import LocalStates
from routeradmin.adapters.state_redis import wire
from routeradmin.adapters.state_redis.wire import Counts
from routeradmin.engine import durable
from routeradmin.engine.state import CandidateKey, CandidateState, Change, Health
from routeradmin.engine.windows import window

Judge = Callable[[CandidateState], Sequence[Change]]


class Under(NamedTuple):
    """What own steps that are under way add to a candidate's counters."""

    active: int
    requests: int
    tokens: int


NOTHING = Under(0, 0, 0)
GONE_KEPT_S = 10.0  # by then no frame of before is left, and every process has the catalog


@dataclass(eq=False, slots=True)
class Gone:
    """A candidate that Redis forgot: at which sequence and when; ``is_here``: another process saw
    to that while this one's catalog still had it."""

    seq: int
    at: float
    is_here: bool


class Way(NamedTuple):
    """One step under way; ``era`` tells it from those before Redis was lost, ``gone`` from those
    before the candidate was forgotten."""

    key: CandidateKey
    adds: Under
    era: int
    gone: Gone | None


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a judgement changed, and how Redis is told: version seen, record, counters."""

    changes: tuple[Change, ...]
    expected: int
    record: str
    deltas: list[Any] | int


NO_VERDICT = Verdict((), wire.UNSEEN, "", wire.NOTHING)


class Mirror:
    """``taken`` is called whenever another process's health record took its place here."""

    def __init__(self, local: LocalStates, lock: RLock) -> None:
        self._local = local
        self._lock = lock
        self._under_way: dict[CandidateKey, Under] = {}
        self._era = 0
        self._gone: dict[CandidateKey, Gone] = {}  # the longest gone first
        self.taken: Callable[[], None] = lambda: None

    def start(self, key: CandidateKey, tokens: int) -> Way:
        """An own grant is on its way: the next choice must see it. Give the answer to ``ended``."""
        return self._go(key, Under(1, 1, tokens))

    def leave(self, key: CandidateKey, tokens: int) -> Way:
        """An own lease is about to end: who decides meanwhile counts its slot as free, and
        ``tokens`` more (or less) as used. Give the answer to ``ended``."""
        return self._go(key, Under(-1, 0, tokens))

    def ended(self, way: Way) -> None:
        """The step was answered, one way or the other."""
        gone = self._gone.get(way.key)
        if way.era == self._era and (gone is None or gone is way.gone):
            self._add(way.key, Under(*map(neg, way.adds)))

    def _go(self, key: CandidateKey, adds: Under) -> Way:
        self._add(key, adds)
        return Way(key, adds, self._era, self._gone.get(key))

    def _add(self, key: CandidateKey, more: Under) -> None:
        own = Under(*map(add, self._under_way.get(key, NOTHING), more))
        if own == NOTHING:
            self._under_way.pop(key, None)
        else:
            self._under_way[key] = own
        state = self._local.get(key)
        if state is not None:
            state.active = max(0, state.active + more.active)
            state.rpm_used = max(0, state.rpm_used + more.requests)
            state.tpm_used = max(0, state.tpm_used + more.tokens)

    def drop_under_way(self) -> None:
        self._under_way.clear()
        self._era += 1

    def forget_steps(self) -> None:
        """Before Redis is joined anew: it may have lost its count."""
        self._gone.clear()
        for state in self._local:
            state.counted_at = 0

    def forget(self, key: CandidateKey, seq: int, now: float, *, by_us: bool) -> None:
        """Redis forgot it: what is here of it starts anew, and what was told before is not
        listened to any more."""
        known = self._gone.get(key)
        if known is not None and known.seq >= seq:
            return
        self._gone.pop(key, None)
        while self._gone:
            longest, one = next(iter(self._gone.items()))
            if now - one.at < GONE_KEPT_S:
                break
            del self._gone[longest]
        is_here = self._local.get(key) is not None
        self._gone[key] = Gone(seq, now, is_here and not by_us)
        self._under_way.pop(key, None)
        if is_here:
            self._local.renew(key)
            self.taken()

    def is_gone(self, key: CandidateKey, seq: int) -> bool:
        """Whether what was told at ``seq`` is of a candidate that was forgotten since."""
        one = self._gone.get(key)
        return one is not None and seq <= one.seq

    def is_seen_to(self, key: CandidateKey, now: float) -> bool:
        """Whether another process had it forgotten while it was still here, a moment ago. Says so
        once: when it leaves the next time, that is another matter."""
        one = self._gone.get(key)
        if one is None or not one.is_here or now - one.at >= GONE_KEPT_S:
            return False
        one.is_here = False
        return True

    def count(self, key: CandidateKey, counts: Counts, now: float) -> CandidateState | None:
        """Take the counters over unless they are older than what is here (a frame may be behind
        an own step's answer); None for a candidate that this catalog does not have."""
        state = self._local.get(key)
        if state is None:
            if not self._local.names(key):
                return None
            state = self._local.at(key)
        if counts.seq < state.counted_at:
            return state
        state.counted_at = counts.seq
        own = self._under_way.get(key, NOTHING)
        state.active = max(0, counts.active + own.active)
        if counts.window >= state.window or counts.window >= window(now):
            state.window = counts.window
            state.rpm_used = counts.rpm_used + own.requests
            state.tpm_used = max(0, counts.tpm_used + own.tokens)
            state.minute_successes = counts.minute_successes
            state.minute_failures = counts.minute_failures
        state.successes, state.failures = counts.successes, counts.failures
        if counts.latency_ema_ms is not False:
            state.latency_ema_ms = counts.latency_ema_ms
        self._local.review(state, now)
        return state

    def take(
        self, key: CandidateKey, version: int, record: str, now: float, *, force: bool = False
    ) -> None:
        """Another's health record, if it is newer than what is here (or in any case)."""
        state = self._local.get(key)
        if state is None and self._local.names(key):
            state = self._local.at(key)
        if state is None or (version <= state.version and not force):
            return
        wire.put_record(state, record or wire.record_text(CandidateState(key)))
        state.version = version
        self._local.review(state, now)
        self.taken()

    def weigh(
        self,
        key: CandidateKey,
        judge: Judge,
        now: float,
        latency_ms: float | None = None,
        *,
        anyway: bool = False,
    ) -> Verdict:
        """Let ``judge`` change the picture, and put down what it did; ``anyway``: the record
        is sent even where it left it as it was."""
        state = self._local.at(key)
        before = replace(state)
        changes = tuple(judge(state))
        record = wire.record_text(state)
        untold = before.version == 0 and durable.record(state) is not None
        if record == wire.record_text(before) and not (untold or anyway):
            record = ""
        else:
            state.version = before.version + 1
        self._local.review(state, now)
        found = wire.deltas(before, state, latency_ms, window(now))
        return Verdict(changes, before.version, record, found)


def in_order(state: CandidateState) -> bool:
    """Nothing that a success could mend: counting it needs no look at its health."""
    return (
        state.health is Health.HEALTHY
        and state.cooldown is None
        and not (
            state.recovering
            or state.needs_attention
            or state.consecutive_failures
            or state.probe_failures
            or state.probe_unhealthy
            or state.rate_level
            or state.transient_level
        )
    )
