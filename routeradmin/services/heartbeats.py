"""The last 15 minutes of every candidate in 60 ticks of 15 s: the smallest useful history.

A tick says the worst of what happened in it. It is sampled, in memory, and lost with the process.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from routeradmin.engine.state import CandidateKey, CandidateState, FailureClass

if TYPE_CHECKING:
    from routeradmin.services.runtime import Runtime

TICK_S = 15.0
TICKS = 60
NOTHING, OK, ERROR, LIMITED, COOLING = ".oelc"
RATE = (FailureClass.RATE_LIMITED, FailureClass.QUOTA)


class Heartbeats:
    """Ticks by candidate, one letter each, oldest first; ``number`` counts them."""

    def __init__(self) -> None:
        self.number = 0
        self.latest: Mapping[CandidateKey, str] = {}
        self._ticks: dict[CandidateKey, deque[str]] = {}
        self._counted: dict[CandidateKey, tuple[int, int]] = {}

    def of(self, key: CandidateKey) -> str:
        """TICKS letters; quiet before the first one seen."""
        return "".join(self._ticks.get(key, ())).rjust(TICKS, NOTHING)

    def take(self, states: Iterable[CandidateState], now: float) -> None:
        """One more tick for all; candidates that are gone are forgotten."""
        latest, counted = {}, {}
        for state in states:
            latest[state.key] = self._tick(state, now)
            counted[state.key] = (state.successes, state.failures)
        self._ticks = {
            key: deque((*self._ticks.get(key, ()), tick), maxlen=TICKS)
            for key, tick in latest.items()
        }
        self._counted = counted
        self.latest = {key: tick for key, tick in latest.items() if tick != NOTHING}
        self.number += 1

    def _tick(self, state: CandidateState, now: float) -> str:
        successes, failures = self._counted.get(state.key, (0, 0))
        if state.failures > failures:
            limited = state.last_error is not None and state.last_error.cls in RATE
            return LIMITED if limited else ERROR
        if state.cooldown_until > now:
            return COOLING
        return OK if state.successes > successes else NOTHING


async def take(runtime: Runtime) -> None:
    """The worker's job."""
    runtime.heartbeats.take(runtime.store.states(), runtime.clock())
