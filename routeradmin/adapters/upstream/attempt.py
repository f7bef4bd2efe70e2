"""How far one call has got: the evidence for its dispatch, and the handle to cut it off.

aiohttp says neither when a request begins to be written nor which connection it took, until the
answer's head has arrived. `NotingRequest.send` is the point in between; the running attempt is
found through a context variable, as the library makes the request objects.
"""

from __future__ import annotations

import asyncio
from contextvars import ContextVar

import aiohttp
from aiohttp.connector import Connection

from routeradmin.adapters.upstream.failures import Dispatch


class Attempt:
    """Starts the head's clock when the request is about to be written on its connection."""

    __slots__ = ("_clock", "_header_timeout_s", "_transport", "answered", "head_expired")

    def __init__(self, header_timeout_s: float) -> None:
        self._header_timeout_s = header_timeout_s
        self._clock: asyncio.TimerHandle | None = None
        self._transport: asyncio.Transport | None = None
        self.answered = False
        self.head_expired = False

    @property
    def dispatch(self) -> Dispatch:
        if self.answered:
            return "accepted"
        return "unknown" if self._transport is not None else "not-sent"

    def begin(self, transport: asyncio.Transport | None) -> None:
        self._transport = transport
        loop = asyncio.get_running_loop()
        self._clock = loop.call_later(self._header_timeout_s, self._expire)

    def head_arrived(self) -> None:
        self.answered = True
        self._stop_clock()

    def abort(self) -> None:
        """Cuts the connection without goodbye: a TLS shutdown would wait for the other side."""
        self._stop_clock()
        if self._transport is not None:
            self._transport.abort()

    def _expire(self) -> None:
        self.head_expired = True
        self.abort()

    def _stop_clock(self) -> None:
        if self._clock is not None:
            self._clock.cancel()
            self._clock = None


running: ContextVar[Attempt] = ContextVar("running")


class NotingRequest(aiohttp.ClientRequest):
    """A request that tells the running attempt when it is about to be written."""

    async def send(self, conn: Connection) -> aiohttp.ClientResponse:
        running.get().begin(conn.transport)
        return await super().send(conn)
