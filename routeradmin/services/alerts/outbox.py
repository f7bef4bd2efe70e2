"""Messages on their way: retried with growing pauses, bounded, at most so many in ten minutes."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Coroutine, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from routeradmin.services.alerts import messages
from routeradmin.services.alerts.messages import Message
from routeradmin.services.alerts.sending import GONE, Sent, send
from routeradmin.services.alerts.targets import Target, Targets

if TYPE_CHECKING:
    from routeradmin.services.runtime import Runtime

log = logging.getLogger(__name__)

RETRY_AFTER_S = (5.0, 30.0, 120.0, 600.0, 1800.0)
MOST_WAITING = 100  # for one target; the oldest goes
MOST_SETTLED = 1000  # of all targets, while the database is away; the oldest goes
RATE_WINDOW_S = 600.0
MOST_IN_WINDOW = 20
SUPPRESSED = "alerts.suppressed"


class Attempted(NamedTuple):
    """The webhook's id; ``attempt`` counts from 1; ``wait_s``: until the next one, None where there
    is none."""

    webhook: str
    message: Message
    sent: Sent
    attempt: int
    wait_s: float | None


Told = Callable[[Attempted], Coroutine[Any, Any, None]]
Ours = Callable[[str, Message], Coroutine[Any, Any, bool]]


@dataclass(slots=True)
class Waiting:
    """A message with the attempts it has had, due at ``due_at``. ``is_kept``: written down, so that
    another process may have gone on with it."""

    message: Message
    due_at: float
    attempts: int = 0
    is_kept: bool = False


@dataclass(slots=True)
class Queue:
    """What one target has to get. ``accepted_at``: when messages were taken, for the rate."""

    waiting: list[Waiting] = field(default_factory=list)
    accepted_at: deque[float] = field(default_factory=deque)
    suppressed: int = 0
    is_sending: bool = False


async def _always(webhook: str, message: Message) -> bool:
    return True


class Outbox:
    """``told`` hears how every attempt went; ``ours`` is asked before one, whether a message that
    was written down is still this process's. One message at a time for each target, so that a
    slow one neither gets a crowd nor holds up the others. ``settled``, by webhook and message id,
    waits no more but may be written down still: whether for whomever, as it had its attempts, or
    dropped by this process alone."""

    def __init__(self, targets: Targets, told: Told, ours: Ours = _always) -> None:
        self._targets = targets
        self._told = told
        self._ours = ours
        self._queues: dict[str, Queue] = {}
        self.settled: dict[tuple[str, str], bool] = {}
        self._sending: set[asyncio.Task[None]] = set()

    def post(self, message: Message, now: float) -> None:
        """To everyone who wants it and has not had too many lately."""
        for target in self._targets:
            if target.wants(message.type):
                self._accept(target.id, message, now)

    def _accept(self, webhook: str, message: Message, now: float) -> None:
        queue = self._queues.setdefault(webhook, Queue())
        while queue.accepted_at and queue.accepted_at[0] <= now - RATE_WINDOW_S:
            queue.accepted_at.popleft()
        if len(queue.accepted_at) >= MOST_IN_WINDOW:
            queue.suppressed += 1
            return
        if queue.suppressed:
            count = {"count": queue.suppressed}
            self._put(webhook, queue, messages.made(SUPPRESSED, count, now), now)
            queue.suppressed = 0
        self._put(webhook, queue, message, now)

    def _put(self, webhook: str, queue: Queue, message: Message, now: float) -> None:
        queue.accepted_at.append(now)
        queue.waiting.append(Waiting(message, now))
        for dropped in queue.waiting[:-MOST_WAITING]:
            self._settle(webhook, dropped, for_all=False)
        del queue.waiting[:-MOST_WAITING]

    def _settle(self, webhook: str, waiting: Waiting, *, for_all: bool) -> None:
        self.settled[webhook, waiting.message.id] = for_all
        while len(self.settled) > MOST_SETTLED:
            del self.settled[next(iter(self.settled))]

    def forget(self, settled: Iterable[tuple[str, str]]) -> None:
        """These are written down no more."""
        for key in settled:
            self.settled.pop(key, None)

    def resume(self, webhook: str, waiting: Waiting) -> None:
        """Go on with what another process, or this one before a restart, could not deliver."""
        if (webhook, waiting.message.id) in self.settled:
            return
        queue = self._queues.setdefault(webhook, Queue())
        if all(one.message.id != waiting.message.id for one in queue.waiting):
            queue.waiting.append(waiting)

    def unkept(self) -> list[tuple[str, Waiting]]:
        """By webhook, what waits and is not written down yet."""
        return [
            (id, one)
            for id, queue in self._queues.items()
            for one in queue.waiting
            if not one.is_kept
        ]

    @property
    def waiting(self) -> int:
        return sum(len(queue.waiting) for queue in self._queues.values())

    def start_due(self, runtime: Runtime) -> None:
        """Begin what is due; comes back at once."""
        now = runtime.clock()
        for id, queue in list(self._queues.items()):
            target = self._targets.get(id)
            if target is None or not target.is_enabled:
                del self._queues[id]
            elif not queue.is_sending:
                due = min(
                    (one for one in queue.waiting if one.due_at <= now), key=_due_at, default=None
                )
                if due is not None:
                    queue.is_sending = True
                    self._begin(self._attempt(runtime, target, queue, due))

    def _begin(self, attempt: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(attempt, name="webhook")
        self._sending.add(task)
        task.add_done_callback(self._sending.discard)

    async def _attempt(self, runtime: Runtime, target: Target, queue: Queue, due: Waiting) -> None:
        try:
            if due.is_kept and not await self._ours(target.id, due.message):
                queue.waiting = [one for one in queue.waiting if one is not due]
                return
            sent = await send(runtime, target, due.message)
            due.attempts += 1
            wait_s = _wait_s(sent, due.attempts)
            if wait_s is None:
                self._settle(target.id, due, for_all=True)
                queue.waiting = [one for one in queue.waiting if one is not due]
            else:
                due.due_at = runtime.clock() + wait_s
            if not sent.ok:
                level = logging.ERROR if wait_s is None else logging.WARNING
                text = "alert %s was not delivered (attempt %d): %s"
                args = (due.message.type, due.attempts, sent.detail)
                log.log(level, text, *args, extra={"webhook": target.id})
            await self._told(Attempted(target.id, due.message, sent, due.attempts, wait_s))
        finally:
            queue.is_sending = False

    async def settle(self) -> None:
        """Until everything that was begun is over."""
        await asyncio.gather(*self._sending, return_exceptions=True)

    async def close(self) -> None:
        for task in self._sending:
            task.cancel()
        await self.settle()


def _wait_s(sent: Sent, attempts: int) -> float | None:
    """Until the next attempt; None where it arrived, is not wanted, or was tried often enough."""
    if sent.ok or sent.status == GONE or attempts > len(RETRY_AFTER_S):
        return None
    return RETRY_AFTER_S[attempts - 1]


def _due_at(waiting: Waiting) -> float:
    return waiting.due_at
