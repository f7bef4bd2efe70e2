"""The HTTP server of ``manage.py serve``: uvicorn, told how to start and how to stop."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import socket
import time
from collections.abc import Awaitable, Callable

import uvicorn

from routeradmin.services import runtime as runtimes
from routeradmin.worker.connections import Connection

APPLICATION = "routeradmin.asgi:application"
GRACE_S = 10  # how long open requests may go on after the first Ctrl-C
SHARED_GRACE_S = 30  # the same where other processes serve meanwhile: nobody waits for the end
# How long connections that are open go on being answered, each answer being the last on its
# connection, so that their owners come again to a process that stays.
DRAIN_S = 2.0
DRAIN_LOOK_S = 0.05
PARENT_LOOK_S = 1.0
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


def config(grace_s: int = GRACE_S) -> uvicorn.Config:
    return uvicorn.Config(
        APPLICATION,
        loop="uvloop",
        http=Connection,
        ws="websockets-sansio",
        lifespan="on",
        access_log=False,
        log_config=None,
        log_level=logging.WARNING,
        server_header=False,
        date_header=False,
        timeout_graceful_shutdown=grace_s,
        proxy_headers=False,
        backlog=BACKLOG,
    )


class Server(uvicorn.Server):
    """Calls ``greet`` once it answers; stops readiness first and writes what is queued last.

    ``among_others``: other processes serve the same socket; connections are handed to them.
    """

    def __init__(self, greet: Callable[[], Awaitable[None]], *, among_others: bool = False) -> None:
        super().__init__(config(SHARED_GRACE_S if among_others else GRACE_S))
        self._greet = greet
        self._among_others = among_others
        self._parent = os.getppid()
        self._watch: asyncio.Task[None] | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        settle_memory()
        await self._greet()
        if self._among_others:
            self._watch = asyncio.create_task(self._end_with_parent())

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        runtimes.get().accepting = False
        if self._watch is not None:
            self._watch.cancel()
        if self._among_others:
            await self._drain()
        await super().shutdown(sockets)
        if self.force_exit:  # a second Ctrl-C cuts off requests, never what is to be written
            await self.lifespan.shutdown()

    async def _drain(self) -> None:
        for server in self.servers:
            server.close()
        ends = time.monotonic() + DRAIN_S
        connections = self.server_state.connections
        # uvicorn tells nobody when a connection ends
        while connections and time.monotonic() < ends and not self.force_exit:  # noqa: ASYNC110
            await asyncio.sleep(DRAIN_LOOK_S)

    async def _end_with_parent(self) -> None:
        """A supervisor that was killed leaves nobody behind who serves on and on."""
        while os.getppid() == self._parent:  # noqa: ASYNC110
            await asyncio.sleep(PARENT_LOOK_S)
        self.should_exit = True


def settle_memory() -> None:
    """What was loaded at the start stays for ever: the collector need not look at it again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*GC_THRESHOLDS)
