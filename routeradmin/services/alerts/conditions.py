"""What is wrong right now, as far as alerts go. Reads memory only; long catalogs in slices."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from routeradmin.alerting.models import AlertEvent
from routeradmin.engine.snapshot import Candidate, Route, Snapshot
from routeradmin.engine.state import MANUAL, CandidateKey, CandidateState, Change
from routeradmin.services.alerts.messages import Condition
from routeradmin.services.metering.standing import is_eligible

if TYPE_CHECKING:
    from routeradmin.services.runtime import Runtime

STORM_WINDOW_S = 60.0
STORM_LEAST = 5  # candidates
STORM_SHARE = 0.1  # of all candidates
DROPS_WINDOW_S = 60.0
LAGGARD_S = 5.0
CANDIDATES_PER_SLICE = 200


class Signals:
    """What has to be remembered between looks: cooldowns that began, records that were lost."""

    def __init__(self) -> None:
        self._cooldowns: deque[tuple[float, CandidateKey]] = deque(maxlen=100_000)
        self._dropped = 0
        self._dropped_at = float("-inf")

    def heard(self, changes: Sequence[Change]) -> None:
        """A state store's listener. What people set by hand is no storm."""
        for change in changes:
            if change.kind == "cooldown-set" and change.cls != MANUAL:
                self._cooldowns.append((change.at, change.key))

    def cooled(self, now: float) -> set[CandidateKey]:
        """Candidates whose cooldown began within the window."""
        while self._cooldowns and self._cooldowns[0][0] < now - STORM_WINDOW_S:
            self._cooldowns.popleft()
        return {key for _, key in self._cooldowns}

    def drops(self, dropped: int, now: float) -> bool:
        """Whether the count of lost records grew within the window."""
        if dropped > self._dropped:
            self._dropped, self._dropped_at = dropped, now
        return now - self._dropped_at < DROPS_WINDOW_S


async def present(runtime: Runtime, signals: Signals) -> list[Condition]:
    """Everything that is wrong, in no particular order."""
    now, snapshot = runtime.clock(), runtime.current.snapshot
    found = [*_storm(signals, snapshot, now), *_drops(runtime, signals, now), *_laggards(runtime)]
    looked = _candidates(snapshot, {state.key: state for state in runtime.store.states()}, now)
    for number, condition in enumerate(looked, 1):
        if condition is not None:
            found.append(condition)
        if number % CANDIDATES_PER_SLICE == 0:
            await asyncio.sleep(0)
    return found


def _storm(signals: Signals, snapshot: Snapshot, now: float) -> Iterator[Condition]:
    cooled = signals.cooled(now)
    total = sum(len(one.credentials) for one in snapshot.deployments.values())
    if len(cooled) < max(STORM_LEAST, STORM_SHARE * total):
        return
    names = sorted(map(str, cooled))[:20]
    facts = {
        "candidates": names,
        "cooled": len(cooled),
        "of": total,
        "window_s": int(STORM_WINDOW_S),
    }
    yield Condition(AlertEvent.COOLDOWN_STORM, "", facts)


def _drops(runtime: Runtime, signals: Signals, now: float) -> Iterator[Condition]:
    journal = runtime.journal
    if signals.drops(journal.dropped_changes + journal.dropped_turns, now):
        facts = {
            "changes": journal.dropped_changes,
            "turns": journal.dropped_turns,
            "waiting": journal.waiting,
        }
        yield Condition(AlertEvent.JOURNAL_DROPS, "", facts)


def _laggards(runtime: Runtime) -> Iterator[Condition]:
    for process in runtime.processes():
        if process["lag_ms"] >= LAGGARD_S * 1000:
            yield Condition(AlertEvent.LAGGARD_PROCESS, process["id"], process)


def _candidates(
    snapshot: Snapshot, states: Mapping[CandidateKey, CandidateState], now: float
) -> Iterator[Condition | None]:
    """None for each candidate looked at without a finding, so that the caller can pause."""
    for state in list(states.values()):
        yield _attention(state) if state.needs_attention else None
    for route in snapshot.routes.values():
        for candidate in _reachable(route):
            yield None
            state = states.get(candidate.key) or CandidateState(candidate.key)
            if is_eligible(candidate, state, now):
                break
        else:
            if "*" not in route.alias:  # a pattern has candidates only once a name matched
                facts = {"route": route.id, "alias": route.alias}
                yield Condition(AlertEvent.ROUTE_WITHOUT_TARGET, route.id, facts)


def _reachable(route: Route) -> Iterator[Candidate]:
    for tier in route.tiers if route.fallback_enabled else route.tiers[:1]:
        yield from tier.candidates


def _attention(state: CandidateState) -> Condition:
    key, error = state.key, state.last_error
    facts = {
        "candidate": str(key),
        "deployment": key.deployment,
        "credential": key.credential,
        "class": error.cls if error else None,
        "status": error.status if error else None,
    }
    return Condition(AlertEvent.NEEDS_ATTENTION, str(key), facts)
