"""The process's alerts: looks every few seconds, tells its webhooks, keeps note of how it went."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import TYPE_CHECKING

from django.db import Error

from routeradmin.services.alerts import record
from routeradmin.services.alerts.conditions import Drops, present
from routeradmin.services.alerts.incidents import Incidents
from routeradmin.services.alerts.messages import Condition, Message
from routeradmin.services.alerts.outbox import Attempted, Outbox, Waiting
from routeradmin.services.alerts.targets import Targets

if TYPE_CHECKING:
    from routeradmin.services.runtime import Runtime

log = logging.getLogger(__name__)

CLAIM_EVERY_S = 60.0  # about as long as a process that was killed counts as one that lives


class Alerts:
    """``look`` and ``send`` are the worker's jobs. What was written down may be behind while the
    database is gone; alerts go out all the same."""

    def __init__(self) -> None:
        self.targets = Targets()
        self.drops = Drops()
        self.incidents = Incidents()
        self._written: set[record.Key] = set()
        self._led = self._has_read = False
        self._claimed_at = 0.0
        self._runtime: Runtime | None = None
        self.outbox = Outbox(self.targets, self._note, self._is_ours)

    async def look(self, runtime: Runtime) -> None:
        """Find what is wrong and put what is news into the outbox."""
        await self._follow_lead(runtime)
        found = await present(runtime, self.drops)
        now = runtime.clock()
        for message in self.incidents.step(found, now, runtime.process_id):
            self.outbox.post(message, now)
        await self._write(runtime)

    async def _follow_lead(self, runtime: Runtime) -> None:
        """Who comes to lead goes on with what was told, and with what has not arrived, as soon as
        it can be read; who does no more leaves it to the next."""
        if not runtime.leads:
            if self._led:
                self._led = self._has_read = False
                self.incidents.let_go(record.COMMON)
                self._written = {key for key in self._written if key[0] in record.OWN}
            return
        self._led = True
        if not self._has_read:
            await self._take_over(runtime)
        elif runtime.clock() - self._claimed_at >= CLAIM_EVERY_S:
            await self._claim_left(runtime)

    async def _take_over(self, runtime: Runtime) -> None:
        kept: list[tuple[Condition, float]] = []
        on_its_way: list[tuple[str, Waiting]] = []
        living = _living(runtime)

        def read() -> None:
            kept.extend(record.open_ones())
            on_its_way.extend(record.claim(runtime, living))

        if not await _on_writer(runtime, read):
            return
        self._has_read = True
        self._claimed_at = runtime.clock()
        for webhook, waiting in on_its_way:
            self.outbox.resume(webhook, waiting)
        for condition, began_at in kept:
            self.incidents.adopt(condition, began_at, runtime.clock())
            self._written.add(condition.key)

    async def _claim_left(self, runtime: Runtime) -> None:
        """What a process told of itself and had on its way when it was killed: nobody else looks,
        and at the takeover it may still have counted as living."""
        left: list[tuple[str, Waiting]] = []
        living = _living(runtime)
        if await _on_writer(runtime, lambda: left.extend(record.claim_left(runtime, living))):
            self._claimed_at = runtime.clock()
            for webhook, waiting in left:
                self.outbox.resume(webhook, waiting)

    async def _write(self, runtime: Runtime) -> None:
        """Tried again at the next look where it fails."""
        going_on = dict(self.incidents.open)
        begun = {key: one for key, one in going_on.items() if key not in self._written}
        ended = self._written - going_on.keys()
        posted = self.outbox.unkept()
        settled = dict(self.outbox.settled)
        if begun or ended or posted or settled:
            living = _living(runtime) if runtime.leads else None
            if await _on_writer(
                runtime, lambda: record.write(runtime, begun, ended, living, posted, settled)
            ):
                self.outbox.forget(settled)
                self._written = set(going_on)
                for _, waiting in posted:
                    waiting.is_kept = True

    async def send(self, runtime: Runtime) -> None:
        """Begin the attempts that are due; does not wait for them."""
        self._runtime = runtime
        self.outbox.start_due(runtime)

    async def close(self) -> None:
        await self.outbox.close()

    async def _note(self, made: Attempted) -> None:
        if (runtime := self._runtime) is not None:
            is_noted = await _on_writer(runtime, lambda: record.note(runtime, *made))
            if is_noted and made.wait_s is None:
                self.outbox.forget([(made.webhook, made.message.id)])

    async def _is_ours(self, webhook: str, message: Message) -> bool:
        """Nobody else can have gone on with it where there is nobody else, or no database."""
        runtime = self._runtime
        if runtime is None or runtime.peers is None:
            return True
        found: list[bool] = []
        asked = runtime
        await _on_writer(runtime, lambda: found.append(record.is_ours(asked, webhook, message)))
        return all(found)


def _living(runtime: Runtime) -> set[str]:
    return {one["id"] for one in runtime.processes()}


async def _on_writer(runtime: Runtime, work: Callable[[], None]) -> bool:
    """Whether it could be done; a database that is gone is no reason to stop."""
    try:
        await asyncio.get_running_loop().run_in_executor(runtime.writer, work)
    except Error as problem:
        log.warning("alerts go on, but were not written down: %s", problem)
        return False
    return True
