"""Waits that nearly never come to their end, thousands of them on one timer of the event loop.

A timer of its own for every deadline of every request costs more than the request's routing. Waits
of one length end in the order in which they began, so that the first one alone needs a timer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import lru_cache

Ring = Callable[[], None]


class Alarm:
    """One wait: it rings, once, unless cancelled before."""

    __slots__ = ("_among", "due", "ring")

    def __init__(self, among: dict[Alarm, None], due: float, ring: Ring) -> None:
        self._among = among
        self.due = due
        self.ring = ring

    def cancel(self) -> None:
        """Harmless when it has rung already."""
        self._among.pop(self, None)


class Row:
    """The waits of one event loop. A dict keeps the order of insertion: that of ``due``."""

    __slots__ = ("_delay_s", "_loop", "_timer", "_waiting")

    def __init__(self, loop: asyncio.AbstractEventLoop, delay_s: float) -> None:
        self._loop = loop
        self._delay_s = delay_s
        self._waiting: dict[Alarm, None] = {}
        self._timer: asyncio.TimerHandle | None = None

    def add(self, ring: Ring) -> Alarm:
        alarm = Alarm(self._waiting, self._loop.time() + self._delay_s, ring)
        self._waiting[alarm] = None
        if self._timer is None:
            self._timer = self._loop.call_at(alarm.due, self._look)
        return alarm

    def _look(self) -> None:
        """Ring what is due; the timer goes on to the first of the others, if there are any."""
        now, over = self._loop.time(), []
        self._timer = None
        for alarm in self._waiting:
            if alarm.due > now:
                self._timer = self._loop.call_at(alarm.due, self._look)
                break
            over.append(alarm)
        for alarm in over:
            if alarm in self._waiting:  # one that rang before may have cancelled it
                del self._waiting[alarm]
                alarm.ring()


class Alarms:
    """All waits of one length, in seconds."""

    def __init__(self, delay_s: float) -> None:
        self._delay_s = delay_s
        self._rows: dict[asyncio.AbstractEventLoop, Row] = {}

    def set(self, ring: Ring) -> Alarm:
        """Call ``ring`` when the time is over; never early."""
        loop = asyncio.get_running_loop()
        row = self._rows.get(loop)
        return (self._begin(loop) if row is None else row).add(ring)

    def _begin(self, loop: asyncio.AbstractEventLoop) -> Row:
        for gone in [one for one in self._rows if one.is_closed()]:
            del self._rows[gone]
        row = self._rows[loop] = Row(loop, self._delay_s)
        return row


@lru_cache(maxsize=256)
def after(delay_s: float) -> Alarms:
    """Those of this length, shared by whoever waits so long."""
    return Alarms(delay_s)
