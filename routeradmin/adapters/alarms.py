"""Waits that nearly never come to their end, thousands of them on one timer of the event loop.

A timer of its own for every deadline of every request costs more than the request's routing. Waits
of one length end in the order in which they began, so that the first one alone needs a timer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

Ring = Callable[[], None]


class Alarm:
    """One wait: it rings, once, unless cancelled before."""

    __slots__ = ("_row", "due", "ring")

    def __init__(self, row: dict[Alarm, None], due: float, ring: Ring) -> None:
        self._row = row
        self.due = due
        self.ring = ring

    def cancel(self) -> None:
        """Harmless when it has rung already."""
        self._row.pop(self, None)


class Alarms:
    """All waits of one length, in seconds. Belongs to whichever event loop it is used on."""

    __slots__ = ("_delay_s", "_loop", "_row", "_timer")

    def __init__(self, delay_s: float) -> None:
        self._delay_s = delay_s
        self._row: dict[Alarm, None] = {}  # keeps the order of insertion, which is that of ``due``
        self._loop: asyncio.AbstractEventLoop | None = None
        self._timer: asyncio.TimerHandle | None = None

    def set(self, ring: Ring) -> Alarm:
        """Call ``ring`` when the time is over; never early."""
        loop = asyncio.get_running_loop()
        if loop is not self._loop:  # the one before is gone, and its timer with it
            self._loop, self._timer, self._row = loop, None, {}
        alarm = Alarm(self._row, loop.time() + self._delay_s, ring)
        self._row[alarm] = None
        if self._timer is None:
            self._timer = loop.call_at(alarm.due, self._look, loop)
        return alarm

    def _look(self, loop: asyncio.AbstractEventLoop) -> None:
        """Ring what is due; the timer goes on to the first of the others, if there are any."""
        now = loop.time()
        over = []
        self._timer = None
        for alarm in self._row:
            if alarm.due > now:
                self._timer = loop.call_at(alarm.due, self._look, loop)
                break
            over.append(alarm)
        for alarm in over:
            if alarm in self._row:  # one that rang before may have cancelled it
                del self._row[alarm]
                alarm.ring()
