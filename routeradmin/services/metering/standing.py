"""How deployments stand at one moment, as gauges and alerts see it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import get_args

from routeradmin.engine.condition import EffectiveState, cooling, effective_state
from routeradmin.engine.snapshot import Candidate, Snapshot
from routeradmin.engine.state import CandidateState
from routeradmin.services import candidates

STATES: tuple[str, ...] = get_args(EffectiveState)
HEALTHY, PARTIAL, DOWN = 0, 1, 2
_LEVELS = {
    "disabled": DOWN,
    "draining": DOWN,
    "unhealthy": DOWN,
    "cooling": DOWN,
    "at-limit": PARTIAL,
    "recovering": PARTIAL,
    "degraded": PARTIAL,
    "healthy": HEALTHY,
}


@dataclass(slots=True)
class Standing:
    """One deployment: the words its candidates are described by, and its leases."""

    states: set[str] = field(default_factory=set)
    levels: set[int] = field(default_factory=set)
    leases: int = 0

    @property
    def level(self) -> int:
        """0: every candidate serves; 2: none takes a request; 1: anything between."""
        if self.levels <= {HEALTHY}:
            return HEALTHY if self.levels else DOWN
        return DOWN if self.levels == {DOWN} else PARTIAL


def standings(
    snapshot: Snapshot, states: Iterable[CandidateState], now: float
) -> Iterator[tuple[str, Standing]]:
    """By deployment id, every deployment of the catalog, in its order."""
    id, standing = "", Standing()
    for place, known in candidates.observed(snapshot, states):
        candidate = place.candidate
        if candidate.key.deployment != id:
            if id:
                yield id, standing
            id, standing = candidate.key.deployment, Standing()
        state = known or CandidateState(candidate.key)
        word = effective_state(candidate, state, now)
        standing.states.add(word)
        standing.levels.add(level_of(word, state, now))
        standing.leases += state.active
    if id:
        yield id, standing


def level_of(word: str, state: CandidateState, now: float) -> int:
    """Of one candidate in that effective state."""
    if word == "needs-attention":  # once its cooldown is over it may be chosen again
        return DOWN if cooling(state, now) else PARTIAL
    return _LEVELS[word]


def is_eligible(candidate: Candidate, state: CandidateState, now: float) -> bool:
    """Whether it serves, or would if it were not busy: a limit that is used up for the minute is
    nothing that a person has to look after."""
    return level_of(effective_state(candidate, state, now), state, now) < DOWN
