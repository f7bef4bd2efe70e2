"""The HTTP server of ``manage.py serve``: uvicorn, told how to start and how to stop."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import signal
import socket
import time
from collections.abc import Awaitable, Callable
from types import FrameType

import uvicorn

from routeradmin.services import runtime as runtimes
from routeradmin.worker.connections import Connection, Draining

log = logging.getLogger(__name__)

APPLICATION = "routeradmin.asgi:application"
GRACE_S = 10  # how long open requests may go on after the first Ctrl-C
SHARED_GRACE_S = 30  # the same where other processes serve meanwhile: nobody waits for the end
# How long a process that others can stand in for goes on as before but for its readiness: a proxy
# that asks every two seconds has turned away by then, so that nobody finds the door shut.
LEAVE_S = 5.0
# How long a connection may be quiet and is answered once more, that answer being the last on it, so
# that its owner comes again to a process that stays.
DRAIN_S = 2.0
DRAIN_LOOK_S = 0.05
# What still runs when its time is over ends in words; they, and its record, take a moment.
LAST_WORDS_S = 2
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


def config(grace_s: int) -> uvicorn.Config:
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

    ``has_others``: other processes can take its requests. SIGTERM then lets proxies turn away
    before the listener is closed, Ctrl-C does not. ``supervised``: it shares its socket with
    processes that another one watches, which says by SIGHUP that a successor answers already.
    """

    def __init__(
        self,
        greet: Callable[[], Awaitable[None]],
        *,
        has_others: bool = False,
        supervised: bool = False,
    ) -> None:
        self._grace_s = SHARED_GRACE_S if has_others else GRACE_S
        # Where others take over, all connections but those of the last moment are closed before.
        super().__init__(config(LAST_WORDS_S if has_others else GRACE_S + LAST_WORDS_S))
        self._greet = greet
        self._has_others = has_others
        self._supervised = supervised
        self._is_leaving = False
        self._parent = os.getppid()
        self._watch: asyncio.Task[None] | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        settle_memory()
        await self._greet()
        if self._supervised:
            loop = asyncio.get_running_loop()
            loop.add_signal_handler(signal.SIGHUP, self._hand_over)
            self._watch = asyncio.create_task(self._end_with_parent())

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self._is_leaving = sig == signal.SIGTERM and not self.should_exit
        super().handle_exit(sig, frame)

    def _hand_over(self) -> None:
        self.should_exit = True

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        runtimes.get().accepting = False
        if self._watch is not None:
            self._watch.cancel()
        if self._has_others:
            await self._leave()
        limit = asyncio.create_task(self._end_what_runs())
        if self._has_others:
            await self._drain()
        await super().shutdown(sockets)
        limit.cancel()
        if self.force_exit:  # a second Ctrl-C cuts off requests, never what is to be written
            await self._end_now()
            await self.lifespan.shutdown()

    async def _leave(self) -> None:
        ends = time.monotonic() + LEAVE_S
        # a second signal ends the wait; signals set nothing that could be awaited
        while self._is_leaving and not self.force_exit and time.monotonic() < ends:  # noqa: ASYNC110
            await asyncio.sleep(DRAIN_LOOK_S)

    async def _drain(self) -> None:
        for server in self.servers:
            server.close()
        connections, draining = self.server_state.connections, Draining(DRAIN_S)
        ends = time.monotonic() + self._grace_s
        # uvicorn tells nobody when a connection ends
        while connections and (now := time.monotonic()) < ends and not self.force_exit:
            draining.look(connections, now)
            await asyncio.sleep(DRAIN_LOOK_S)

    async def _end_what_runs(self) -> None:
        """In words, instead of cutting it off, once it has had its time."""
        await asyncio.sleep(self._grace_s)
        under_way = runtimes.get().under_way
        log.warning("%d requests are not over: they are ended", len(under_way))
        under_way.end()

    async def _end_now(self) -> None:
        under_way = runtimes.get().under_way
        under_way.end()
        ends = time.monotonic() + LAST_WORDS_S
        while len(under_way) and time.monotonic() < ends:  # noqa: ASYNC110
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
