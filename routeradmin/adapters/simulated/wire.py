"""HTTP/1.1 on a bare transport, where every way of breaking an answer is possible.

An ASGI server protects its clients from half answers and resets; here they are the purpose.
"""

from __future__ import annotations

import asyncio
import socket
from collections import deque
from struct import pack
from typing import cast

import httptools

from routeradmin.adapters.simulated.calls import CallRecord
from routeradmin.adapters.simulated.provider import Request, SimulatedProvider
from routeradmin.adapters.simulated.reply import Ending, Reply, chunk

LINGER_NOT = pack("ii", 1, 0)
# A reset throws away what the kernel has not sent: give it the moment that loopback needs.
RESET_GRACE_S = 0.005
BAD_REQUEST = b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"


class Wire(asyncio.Protocol):
    """One connection. Requests are answered in their order, pipelined ones included."""

    transport: asyncio.Transport

    def __init__(self, provider: SimulatedProvider, connections: set[Wire]) -> None:
        self._provider = provider
        self._connections = connections
        self._parser = httptools.HttpRequestParser(self)
        self._waiting: deque[tuple[Request, bool]] = deque()
        self._task: asyncio.Task[None] | None = None
        self._closed = asyncio.Event()
        self._writable = asyncio.Event()
        self._writable.set()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        self._connections.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._connections.discard(self)
        self._closed.set()
        self._writable.set()
        if self._task is not None:
            self._task.cancel()

    async def abort(self) -> None:
        """Drop the connection and wait until whatever was being answered has stopped."""
        self.transport.abort()
        await self._closed.wait()
        if self._task is not None:
            await asyncio.wait([self._task])

    def pause_writing(self) -> None:
        self._writable.clear()

    def resume_writing(self) -> None:
        self._writable.set()

    def data_received(self, data: bytes) -> None:
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade):
            self.transport.write(BAD_REQUEST)
            self.transport.close()
        # Not in the parser's callback: there it would take an error of ours for bad HTTP.
        self._go_on()

    def on_message_begin(self) -> None:
        self._url = b""
        self._headers: dict[str, str] = {}
        self._body: list[bytes] = []

    def on_url(self, url: bytes) -> None:
        self._url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        self._headers[name.lower().decode("latin-1")] = value.decode("latin-1")

    def on_headers_complete(self) -> None:
        if self._headers.get("expect", "").lower() == "100-continue":
            self.transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")

    def on_body(self, body: bytes) -> None:
        self._body.append(body)

    def on_message_complete(self) -> None:
        path, _, query = self._url.decode("latin-1").partition("?")
        method = self._parser.get_method().decode("latin-1")
        request = Request(method, path, query, self._headers, b"".join(self._body))
        self._waiting.append((request, self._parser.should_keep_alive()))

    def _go_on(self) -> None:
        """Answer what has been read, unless an answer is still on its way."""
        while self._waiting and self._task is None and not self.transport.is_closing():
            self._answer(*self._waiting.popleft())

    def _answer(self, request: Request, keep_alive: bool) -> None:
        call, reply = self._provider.receive(request)
        if reply.instant:
            self.transport.write(reply.whole())
            self._finish(call, aborted=False)
            if not keep_alive:
                self.transport.close()
            return
        work = self._deliver(call, reply, keep_alive)
        self._task = asyncio.get_running_loop().create_task(work)

    def _finish(self, call: CallRecord | None, *, aborted: bool) -> None:
        if call is not None:
            self._provider.log.end(call, aborted=aborted)

    async def _deliver(self, call: CallRecord | None, reply: Reply, keep_alive: bool) -> None:
        """Write a reply that takes its time, then go on with what was pipelined behind it."""
        complete = False
        try:
            await self._write(reply)
            if reply.ending == "silence":
                await asyncio.Event().wait()
            complete = True
        finally:
            self._finish(call, aborted=not complete)
        await self._end(reply.ending)
        self._task = None
        if reply.ending == "done" and not keep_alive:
            self.transport.close()
        self._go_on()

    async def _write(self, reply: Reply) -> None:
        if reply.wait_s:
            await asyncio.sleep(reply.wait_s)
        if reply.head:
            self.transport.write(reply.head)
        for part in reply.parts:
            await asyncio.sleep(part.wait_s)
            await self._writable.wait()
            self.transport.write(chunk(part.payload) if reply.chunked else part.payload)
        if reply.chunked and reply.ending == "done":
            self.transport.write(b"0\r\n\r\n")

    async def _end(self, ending: Ending) -> None:
        if ending == "close":
            self.transport.close()
        elif ending == "reset":
            await asyncio.sleep(RESET_GRACE_S)
            reset(self.transport)


def reset(transport: asyncio.Transport) -> None:
    """Close with a TCP reset instead of an orderly end."""
    connection = transport.get_extra_info("socket")
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, LINGER_NOT)
    transport.abort()
