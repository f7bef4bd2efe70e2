"""What is wrong right now, as far as alerts go. Reads memory only; long catalogs in slices."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from routeradmin.alerting.models import AlertEvent
from routeradmin.engine.snapshot import Candidate, Route, Snapshot
from routeradmin.engine.state import MANUAL, CandidateKey, CandidateState
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


class Drops:
    """Remembers between looks whether the count of lost records grew."""

    def __init__(self) -> None:
        self._dropped = 0
        self._dropped_at = float("-inf")

    def lately(self, dropped: int, now: float) -> bool:
        """Whether it did within the window."""
        if dropped > self._dropped:
            self._dropped, self._dropped_at = dropped, now
        return now - self._dropped_at < DROPS_WINDOW_S


async def present(runtime: Runtime, drops: Drops) -> list[Condition]:
    """Everything that is wrong, in no particular order. What concerns all processes is looked at
    by the leading one alone."""
    now, snapshot = runtime.clock(), runtime.current.snapshot
    found = list(_drops(runtime, drops, now))
    if not runtime.leads:
        return found
    states = {state.key: state for state in runtime.store.states()}
    found += [*_laggards(runtime), *_storm(snapshot, states.values(), now)]
    for number, condition in enumerate(_candidates(snapshot, states, now), 1):
        if condition is not None:
            found.append(condition)
        if number % CANDIDATES_PER_SLICE == 0:
            await asyncio.sleep(0)
    return found


def _storm(snapshot: Snapshot, states: Iterable[CandidateState], now: float) -> Iterator[Condition]:
    """What people set by hand is no storm."""
    cooled = [
        state.key
        for state in states
        if state.cooldown is not None
        and state.cooldown.cls != MANUAL
        and state.cooldown.since > now - STORM_WINDOW_S
    ]
    total = sum(len(one.credentials) for one in snapshot.deployments.values())
    if len(cooled) < max(STORM_LEAST, STORM_SHARE * total):
        return
    facts = {
        "candidates": sorted(map(str, cooled))[:20],
        "cooled": len(cooled),
        "of": total,
        "window_s": int(STORM_WINDOW_S),
    }
    yield Condition(AlertEvent.COOLDOWN_STORM, "", facts)


def _drops(runtime: Runtime, drops: Drops, now: float) -> Iterator[Condition]:
    journal = runtime.journal
    if drops.lately(journal.dropped_changes + journal.dropped_turns, now):
        facts = {
            "changes": journal.dropped_changes,
            "turns": journal.dropped_turns,
            "waiting": journal.waiting,
        }
        yield Condition(AlertEvent.JOURNAL_DROPS, runtime.process_id, facts)


def _laggards(runtime: Runtime) -> Iterator[Condition]:
    for process in runtime.processes():
        if process["lag_ms"] >= LAGGARD_S * 1000:
            facts = process | {"silent_ms": runtime.silence_ms(process["id"])}
            yield Condition(AlertEvent.LAGGARD_PROCESS, process["id"], facts)


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
