"""The HTTP server of ``manage.py serve``: uvicorn, told how to start and how to stop."""

from __future__ import annotations

import gc
import logging
import socket
from collections.abc import Awaitable, Callable

import uvicorn

from routeradmin.services import runtime as runtimes

APPLICATION = "routeradmin.asgi:application"
GRACE_S = 10  # how long open requests may go on after the first Ctrl-C
BACKLOG = 2048

# After the start nearly everything allocated is short-lived and freed by reference counts. Young
# collections at the default of 700 allocations would only walk requests under way, over and over.
GC_THRESHOLDS = (20_000, 20, 50)


class CannotListen(Exception):
    """The address cannot be had; the text says why."""


def listen(host: str, port: int) -> socket.socket:
    """The bound socket, taken before anything else so that a taken port stops the start.

    Raises CannotListen.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
    except OSError as problem:
        listener.close()
        raise CannotListen(problem.strerror or str(problem)) from problem
    return listener


def config() -> uvicorn.Config:
    return uvicorn.Config(
        APPLICATION,
        loop="uvloop",
        http="httptools",
        ws="websockets-sansio",
        lifespan="on",
        access_log=False,
        log_config=None,
        log_level=logging.WARNING,
        server_header=False,
        date_header=False,
        timeout_graceful_shutdown=GRACE_S,
        proxy_headers=False,
        backlog=BACKLOG,
    )


class Server(uvicorn.Server):
    """Calls ``greet`` once it answers; stops readiness first and writes what is queued last."""

    def __init__(self, greet: Callable[[], Awaitable[None]]) -> None:
        super().__init__(config())
        self._greet = greet

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        settle_memory()
        await self._greet()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        runtimes.get().accepting = False
        await super().shutdown(sockets)
        if self.force_exit:  # a second Ctrl-C cuts off requests, never what is to be written
            await self.lifespan.shutdown()


def settle_memory() -> None:
    """What was loaded at the start stays for ever: the collector need not look at it again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*GC_THRESHOLDS)
