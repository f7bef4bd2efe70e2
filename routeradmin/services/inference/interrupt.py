"""What may end a turn's waiting from outside: the client leaves, or the deadline comes."""

from __future__ import annotations

import asyncio
from types import TracebackType

from routeradmin.engine.outcome import Ending


class Interrupt:
    """``with interrupt:`` around what waits; the block ends early once ``fire`` was called.

    After the block ``reason`` says why. Cancellation from anywhere else passes through.
    """

    __slots__ = ("_cancelled", "_task", "_timer", "reason")

    def __init__(self) -> None:
        self.reason: Ending | None = None
        self._task: asyncio.Task[object] | None = None
        self._cancelled = False
        self._timer: asyncio.TimerHandle | None = None

    def fire(self, reason: Ending) -> None:
        """The first reason stays."""
        if self.reason is not None:
            return
        self.reason = reason
        self._cancel()

    def at(self, delay_s: float) -> None:
        """The deadline, so many seconds from now."""
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(max(0.0, delay_s), self.fire, Ending.DEADLINE)

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def __enter__(self) -> None:
        self._task = asyncio.current_task()
        if self.reason is not None:
            self._cancel()  # takes effect at the first wait inside the block

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> bool:
        task, self._task = self._task, None
        if not self._cancelled or task is None:
            return False
        self._cancelled = False
        # Where somebody else cancelled the task as well, that cancellation goes on.
        return task.uncancel() == 0 and kind is asyncio.CancelledError

    def _cancel(self) -> None:
        if self._task is not None and not self._cancelled:
            self._cancelled = True
            self._task.cancel()
