"""What this process is carrying out, so that it can be told when the process waits no longer."""

from __future__ import annotations

from typing import Protocol

from routeradmin.engine.outcome import Ending


class Stoppable(Protocol):
    """Something that waits; ``fire`` ends that."""

    def fire(self, reason: Ending) -> None: ...


class UnderWay:
    """Everything that waits for others. Once ``end`` was called, whatever comes is told at once."""

    def __init__(self) -> None:
        self._waiting: set[Stoppable] = set()
        self._is_over = False

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, one: Stoppable) -> None:
        self._waiting.add(one)
        if self._is_over:
            one.fire(Ending.STOPPED)

    def remove(self, one: Stoppable) -> None:
        self._waiting.discard(one)

    def end(self) -> None:
        """The process stops: nobody waits from here on."""
        self._is_over = True
        for one in list(self._waiting):
            one.fire(Ending.STOPPED)
