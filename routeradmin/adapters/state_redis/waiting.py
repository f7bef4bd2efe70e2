"""How long Redis has let the steps under way wait, as opposed to how long they have waited."""

from __future__ import annotations

TICK_S = 0.004


class Waiting:
    """Looked at every ``TICK_S`` while an answer is out.

    A look that comes late by more than a tick counts as one tick: this process was busy or had no
    core meanwhile, so that the answer may be in with nobody to take it. A burst of requests that
    keeps the loop busy for longer than Redis may take is thus not held against Redis.

    ``waited_s`` are seconds; what is given at the start are those of the call before, behind which
    the steps stood in line.
    """

    def __init__(self, now: float, waited_s: float = 0.0) -> None:
        self.waited_s = waited_s
        self.look_at = now + TICK_S

    def look(self, now: float) -> None:
        """Count what went by since; ``look_at`` is when to look again."""
        self.waited_s += TICK_S
        stood_still = now > self.look_at + TICK_S
        self.look_at = (now if stood_still else self.look_at) + TICK_S
