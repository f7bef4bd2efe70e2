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
RECENT = 4  # ticks that make a minute
NOTHING, OK, ERROR, LIMITED, COOLING = ".oelc"
RATE = (FailureClass.RATE_LIMITED, FailureClass.QUOTA)


class Heartbeats:
    """Ticks by candidate, one letter each, oldest first; ``number`` counts them."""

    def __init__(self) -> None:
        self.number = 0
        self.latest: Mapping[CandidateKey, str] = {}
        self._recent: deque[tuple[int, int]] = deque(maxlen=RECENT)
        self._ticks: dict[CandidateKey, deque[str]] = {}
        self._counted: dict[CandidateKey, tuple[int, int]] = {}

    def of(self, key: CandidateKey) -> str:
        """TICKS letters; quiet before the first one seen."""
        return "".join(self._ticks.get(key, ())).rjust(TICKS, NOTHING)

    @property
    def error_share(self) -> float | None:
        """Failed attempts of all in the last minute, 0 to 1; None without any."""
        successes, failures = (sum(part) for part in zip((0, 0), *self._recent, strict=True))
        return failures / (successes + failures) if successes + failures else None

    def take(self, states: Iterable[CandidateState], now: float) -> None:
        """One more tick for all; candidates that are gone are forgotten."""
        latest, counted = {}, {}
        for state in states:
            latest[state.key] = self._tick(state, now)
            counted[state.key] = (state.successes, state.failures)
        if self.number:  # the first look counts what came before this process
            self._recent.append(_grown(self._counted, counted))
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


Counts = Mapping[CandidateKey, tuple[int, int]]


def _grown(before: Counts, after: Counts) -> tuple[int, int]:
    """Successes and failures of all since ``before``; a reset counter counts from 0."""
    grown = [
        (max(0, successes - old[0]), max(0, failures - old[1]))
        for key, (successes, failures) in after.items()
        for old in (before.get(key, (0, 0)),)
    ]
    return sum(pair[0] for pair in grown), sum(pair[1] for pair in grown)


async def take(runtime: Runtime) -> None:
    """The worker's job."""
    runtime.heartbeats.take(runtime.store.states(), runtime.clock())
