"""Sending a test message because a person asks: now, once, and with the result on the spot."""

from __future__ import annotations

from asgiref.sync import async_to_sync

from routeradmin.services import publishing
from routeradmin.services import runtime as runtimes
from routeradmin.services.alerts import messages, record
from routeradmin.services.alerts.sending import Sent, send
from routeradmin.services.changes.commit import Actor, Reported, audit
from routeradmin.services.changes.errors import NotFound


def send_test(webhook_id: str, by: Actor, reason: str = "") -> Sent:
    """Also to one that is switched off. Raises NotFound."""
    runtime = runtimes.get()
    runtime.alerts.targets.catch_up(runtime.sealer)
    target = runtime.alerts.targets.get(webhook_id)
    if target is None:
        raise NotFound("webhooks", webhook_id)
    data = {"text": "A test message: alerts will come to this address.", "by": by.name}
    message = messages.made(messages.TEST, data, runtime.clock())

    async def on_the_loop() -> Sent:
        return await send(runtime, target, message)

    sent = async_to_sync(on_the_loop)()
    record.note(runtime, webhook_id, message, sent, 1, None)
    report = Reported("test", "webhooks", webhook_id)
    audit([report], by, publishing.moment(runtime), reason)
    return sent
