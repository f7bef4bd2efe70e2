"""The process's alerts: looks every few seconds, tells its webhooks, keeps note of how it went."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from django.db import DatabaseError

from routeradmin.alerting.models import Webhook
from routeradmin.services import publishing
from routeradmin.services.alerts.conditions import Drops, present
from routeradmin.services.alerts.incidents import Incidents
from routeradmin.services.alerts.outbox import Outbox
from routeradmin.services.alerts.sending import Sent
from routeradmin.services.alerts.targets import Target, Targets

if TYPE_CHECKING:
    from routeradmin.services.runtime import Runtime

log = logging.getLogger(__name__)


class Alerts:
    """``look`` and ``send`` are the worker's jobs."""

    def __init__(self) -> None:
        self.targets = Targets()
        self.drops = Drops()
        self._incidents = Incidents()
        self._runtime: Runtime | None = None
        self.outbox = Outbox(self.targets, self._note)

    async def look(self, runtime: Runtime) -> None:
        """Find what is wrong and put what is news into the outbox."""
        found = await present(runtime, self.drops)
        now = runtime.clock()
        for message in self._incidents.step(found, now, runtime.process_id):
            self.outbox.post(message, now)

    async def send(self, runtime: Runtime) -> None:
        """Begin the attempts that are due; does not wait for them."""
        self._runtime = runtime
        self.outbox.start_due(runtime)

    async def close(self) -> None:
        await self.outbox.close()

    async def _note(self, target: Target, sent: Sent) -> None:
        runtime = self._runtime
        if runtime is not None:
            loop = asyncio.get_running_loop()
            await loop.run_in_executor(runtime.writer, note, runtime, target.id, sent)


def note(runtime: Runtime, id: str, sent: Sent) -> None:
    """Write down how the last attempt went. A database that is gone is no reason to stop."""
    row = Webhook.objects.filter(uid=id)
    try:
        before = row.values_list("failures", flat=True).first() or 0
        row.update(
            last_attempt_at=publishing.moment(runtime),
            last_status=sent.status,
            last_error=sent.detail[:300],
            failures=0 if sent.ok else before + 1,
        )
    except DatabaseError as problem:
        log.warning("how a webhook went was not kept: %s", problem, extra={"webhook": id})
