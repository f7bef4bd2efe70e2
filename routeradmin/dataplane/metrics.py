"""``GET /metrics`` for Prometheus: from memory alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from routeradmin.dataplane.auth import authorize
from routeradmin.services.metering import CONTENT_TYPE, exposition

if TYPE_CHECKING:
    from routeradmin.dataplane.app import Exchange

TEXT = (b"content-type", CONTENT_TYPE.encode())


async def metrics(exchange: Exchange) -> None:
    """For keys with ``read``; for everybody where the operator opened it."""
    if not exchange.runtime.open_metrics:
        authorize(exchange.runtime, exchange.scope, "read")
    text = await exposition(exchange.runtime)
    await exchange.reply(200, text, content_type=TEXT)
