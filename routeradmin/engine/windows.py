"""Fixed 60 s windows, numbered by absolute time, so that an old one never leaks into a new one."""

from __future__ import annotations

from routeradmin.engine.state import CandidateState

WINDOW_S = 60


def window(now: float) -> int:
    """The number of the window that ``now`` (epoch seconds) lies in."""
    return int(now // WINDOW_S)


def ends(number: int) -> float:
    """When window ``number`` ends, in epoch seconds."""
    return float((number + 1) * WINDOW_S)


def roll(state: CandidateState, now: float) -> None:
    """Move the state's counters to the window of ``now``; in another window they start at 0."""
    current = window(now)
    if state.window != current:
        state.window = current
        state.rpm_used = state.tpm_used = 0
        state.minute_successes = state.minute_failures = 0


def used(state: CandidateState, now: float) -> tuple[int, int]:
    """Requests and tokens charged in the window of ``now``, without changing the state."""
    if state.window != window(now):
        return 0, 0
    return state.rpm_used, state.tpm_used
