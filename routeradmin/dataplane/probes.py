"""Liveness and readiness. Neither calls a provider; both are open."""

from __future__ import annotations

from typing import TYPE_CHECKING

import orjson

if TYPE_CHECKING:
    from routeradmin.dataplane.app import Exchange


async def healthz(exchange: Exchange) -> None:
    """200 for as long as the process answers at all."""
    await exchange.reply(200, b'{"status":"ok"}')


async def readyz(exchange: Exchange) -> None:
    """200 once a snapshot is in force, be it an empty one; 503 before that and while stopping.

    ``degraded`` names what is out of reach while the process goes on from its last snapshot.
    """
    runtime = exchange.runtime
    ready = runtime.accepting
    content = {
        "status": "ready" if ready else "stopping",
        "revision": runtime.current.snapshot.revision,
        "degraded": sorted(runtime.degraded),
    }
    await exchange.reply(200 if ready else 503, orjson.dumps(content))
