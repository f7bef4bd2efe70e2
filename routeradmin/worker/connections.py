"""A client's connection: uvicorn's, with two habits that cost less under load.

uvicorn writes the head of an answer by itself, a system call and a packet more than its body needs,
and winds a timer of the event loop after every answer.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Iterable
from typing import Any, cast

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from routeradmin.adapters.alarms import Alarm, Ring, after

JOINED_BYTES = 64 * 1024  # up to here one write is cheaper than not to copy the body


class Corked:
    """A transport that keeps the head of an answer until its body comes, or at the latest until
    the event loop's next turn. Everything else is the transport's own."""

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport = transport
        self._loop = loop
        self._head = b""

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._transport, name)
        setattr(self, name, found)  # bound once: the next time it is found without this
        return found

    def write(self, data: bytes) -> None:
        if self._head and len(data) <= JOINED_BYTES:
            data, self._head = self._head + data, b""
        elif self._head:
            self._flush()
        elif data.startswith(b"HTTP/1.1 "):
            self._head = data
            self._loop.call_soon(self._flush)
            return
        self._transport.write(data)

    def close(self) -> None:
        self._flush()
        self._transport.close()

    def _flush(self) -> None:
        if self._head:
            head, self._head = self._head, b""
            self._transport.write(head)


class Clock:
    """As much of an event loop as a connection uses; its timers are alarms."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.create_task = loop.create_task

    def call_later(self, delay_s: float, ring: Ring) -> Alarm:
        return after(delay_s).set(ring)


class Connection(HttpToolsProtocol):
    """What ``serve`` talks HTTP with."""

    @property
    def is_busy(self) -> bool:
        """Whether an answer is under way."""
        return self.cycle is not None and not self.cycle.response_complete

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        corked = Corked(transport, self.loop)
        self.loop = cast(asyncio.AbstractEventLoop, Clock(self.loop))
        super().connection_made(cast(asyncio.Transport, corked))


class Draining:
    """The connections of a process that stops: each is closed once nobody has asked anything on it
    for ``quiet_s``. Whoever had an answer just now, which may have been a long one, may be about to
    ask again, and would not know whether that arrived."""

    def __init__(self, quiet_s: float) -> None:
        self._quiet_s = quiet_s
        self._quiet_since: dict[Any, float] = {}

    def look(self, connections: Iterable[Any], now: float) -> None:
        before, self._quiet_since = self._quiet_since, {}
        for one in list(connections):
            if isinstance(one, Connection) and one.is_busy:
                continue
            since = self._quiet_since[one] = before.get(one, now)
            if now - since >= self._quiet_s:
                self._quiet_since[one] = math.inf  # once is enough
                one.shutdown()
