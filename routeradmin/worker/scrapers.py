"""A port of its own for ``/metrics``, for processes that have no other or where others may ask for
nothing else. Workers of one ``serve`` share it as they share the main one."""

from __future__ import annotations

import logging
import socket
from collections.abc import Callable
from typing import TYPE_CHECKING

from aiohttp import web

from routeradmin.services.metering import CONTENT_TYPE, exposition

if TYPE_CHECKING:
    from routeradmin.services.runtime import Runtime

log = logging.getLogger(__name__)

MOST_PROCESSES = 64  # on one machine: each takes the first port that is free


class Scrapers:
    """``tick`` begins to answer where that was not done yet, on what ``listen`` gives; ``stop``
    ends it."""

    def __init__(self, listen: Callable[[], socket.socket]) -> None:
        self._listen = listen
        self._runner: web.AppRunner | None = None
        self.port = 0

    async def tick(self, runtime: Runtime) -> None:
        """Raises OSError where no port can be had."""
        if self._runner is not None:
            return

        async def metrics(request: web.Request) -> web.Response:
            return await answer(runtime, request)

        application = web.Application()
        application.router.add_get("/metrics", metrics)
        listener = self._listen()
        runner = web.AppRunner(application, access_log=None)
        await runner.setup()
        await web.SockSite(runner, listener).start()
        self._runner = runner
        host, self.port = listener.getsockname()[:2]
        log.info("metrics on http://%s:%d/metrics", host, self.port)

    async def stop(self) -> None:
        if self._runner is not None:
            runner, self._runner = self._runner, None
            await runner.cleanup()


def listening(host: str, port: int) -> socket.socket:
    """On the port, or on the first after it that is free: a machine may have several processes.

    Raises OSError.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    ports = range(port, min(port + MOST_PROCESSES, 65_536)) if port else range(1)
    refusal = OSError(f"no port from {port} on is free for metrics")
    for candidate in ports:
        listener = socket.socket(family, socket.SOCK_STREAM)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((host, candidate))
            listener.listen()  # only listening shows that another process was first
        except OSError as problem:
            listener.close()
            refusal = problem
        else:
            return listener
    raise refusal


async def answer(runtime: Runtime, request: web.Request) -> web.Response:
    """As the main port answers: for keys with ``read``, or for everybody where that is open."""
    if not runtime.open_metrics:
        kind, _, token = request.headers.get("authorization", "").partition(" ")
        given = token.strip() if kind.lower() == "bearer" else request.headers.get("x-api-key", "")
        key = runtime.keys.find(given, runtime.clock())
        if key is None:
            return web.Response(status=401, headers={"WWW-Authenticate": "Bearer"})
        if "read" not in key.scopes:
            return web.Response(status=403)
    page = await exposition(runtime)
    return web.Response(body=page, headers={"Content-Type": CONTENT_TYPE})
