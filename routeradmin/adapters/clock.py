"""A clock that reads like the wall clock but never steps."""

from __future__ import annotations

import time

# CLOCK_BOOTTIME also counts the time a machine sleeps; not every system has it.
_STEADY = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


class SteadyClock:
    """Seconds since the epoch, as of construction, moved on by a clock that never steps.

    A correction of the wall clock can then neither lengthen nor shorten what is running:
    cooldowns, leases and windows.
    """

    def __init__(self) -> None:
        self._offset = time.time() - time.clock_gettime(_STEADY)

    def __call__(self) -> float:
        return self._offset + time.clock_gettime(_STEADY)

    def set_to(self, reference_s: float) -> None:
        """Agree with a reference, before anything is running on this clock."""
        self._offset += reference_s - self()

    def follow(self, reference_s: float, most_s: float = 0.001) -> None:
        """Move towards a reference by a step too small to matter."""
        self._offset += min(most_s, max(-most_s, reference_s - self()))

    def drift_s(self) -> float:
        """How far the wall clock has moved away since, in seconds; positive: it is ahead."""
        return time.time() - self()
