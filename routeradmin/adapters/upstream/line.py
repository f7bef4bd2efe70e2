"""One request on one connection: written, answered, timed; and how far it has got."""

from __future__ import annotations

import asyncio

import aiohttp
from aiohttp.connector import Connection
from aiohttp.http import HttpProcessingError, RawResponseMessage
from aiohttp.streams import StreamReader

from routeradmin.adapters.alarms import Alarm
from routeradmin.adapters.upstream.call import UpstreamCall
from routeradmin.adapters.upstream.failures import Dispatch, Expired
from routeradmin.adapters.upstream.head import CommonHeaders, added, lines_of
from routeradmin.adapters.upstream.pools import Pool
from routeradmin.adapters.upstream.way import Way
from routeradmin.adapters.upstream.wire import Wire

_MAX_HEAD_FIELD_BYTES = 64 * 1024
_MAX_HEAD_FIELDS = 512
_READ_BUFFER_BYTES = 256 * 1024
_MAX_ANNOUNCEMENTS = 32
_JOINED_BYTES = 64 * 1024  # up to here one write is cheaper than not to copy the body


class Line:
    """Takes a connection from the pool, and gives it back as soon as the answer has ended."""

    __slots__ = (
        "_connection",
        "_content",
        "_head_alarm",
        "_pool",
        "_total_alarm",
        "_way",
        "_wire",
        "dispatch",
        "expired",
    )

    def __init__(self, pool: Pool, way: Way) -> None:
        self._pool = pool
        self._way = way
        self._connection: Connection | None = None
        self._wire: Wire | None = None
        self._content: StreamReader | None = None
        self._head_alarm: Alarm | None = None
        self._total_alarm: Alarm | None = pool.total.set(self._total_over)
        self.dispatch: Dispatch = "not-sent"
        self.expired: Expired | None = None

    async def ask(self, call: UpstreamCall) -> tuple[RawResponseMessage, StreamReader]:
        """Send the call; the answer's head, and its body as it comes.

        Raises ValueError for a head that cannot be sent, and what aiohttp raises.
        """
        head = self._head(call)
        wire = await self._connected()
        transport = wire.transport
        if self.expired:
            raise TimeoutError
        if transport is None:
            raise aiohttp.ClientConnectionError
        wire.ask()
        wire.set_response_params(
            read_until_eof=True,
            read_bufsize=_READ_BUFFER_BYTES,
            max_line_size=_MAX_HEAD_FIELD_BYTES,
            max_field_size=_MAX_HEAD_FIELD_BYTES,
            max_headers=_MAX_HEAD_FIELDS,
        )
        self.dispatch = "unknown"
        self._head_alarm = self._pool.head.set(self._head_over)
        self._write(transport, head, call.body)
        message, content = await self._answered(wire)
        self._head_alarm.cancel()
        self.dispatch = "accepted"
        self._content = content
        content.on_eof(self._ended)
        return message, content

    def wait(self) -> Alarm:
        """The clock of a wait for the next piece of the body; to be cancelled when it has come."""
        return self._pool.idle.set(self._silent)

    def abort(self) -> None:
        """Cuts the connection, if the answer has not ended, without goodbye: a TLS shutdown would
        wait for the other side."""
        self._stop_clocks()
        connection, self._connection = self._connection, None
        self._wire = None
        if connection is not None:
            _cut_off(connection)

    async def _connected(self) -> Wire:
        while True:
            connection = await self._connection_at_hand()
            wire = connection.protocol
            assert isinstance(wire, Wire), "a connection of another pool"  # noqa: S101
            if wire.wake():
                self._connection, self._wire = connection, wire
                return wire
            _cut_off(connection)

    async def _connection_at_hand(self) -> Connection:
        pool = self._pool
        try:
            return await pool.connector.connect(self._way.request, [], pool.timeout)
        except TimeoutError:
            if pool.settings.total_timeout_s <= pool.settings.connect_timeout_s:
                raise
            raise aiohttp.ConnectionTimeoutError from None

    def _head(self, call: UpstreamCall) -> list[bytes]:
        headers = call.headers
        lines = headers.lines if isinstance(headers, CommonHeaders) else lines_of(headers)
        length = b"" if call.method == "GET" and not call.body else b"%d" % len(call.body)
        return [
            self._way.start,
            lines,
            added(call.more),
            b"Content-Length: %b\r\n" % length if length else b"",
        ]

    def _write(self, transport: asyncio.Transport, head: list[bytes], body: bytes) -> None:
        whole = [*head, self._way.to_proxy(), b"\r\n"]
        if len(body) <= _JOINED_BYTES:
            transport.write(b"".join([*whole, body]))
        else:
            transport.write(b"".join(whole))
            transport.write(body)

    async def _answered(self, wire: Wire) -> tuple[RawResponseMessage, StreamReader]:
        for _ in range(_MAX_ANNOUNCEMENTS + 1):
            message, content = await wire.read()
            if message.code >= 200:
                return message, content
            if message.code < 100 or message.code == 101:
                raise HttpProcessingError(message="no status that was asked for")
        raise HttpProcessingError(message="announcements without an answer")

    def _ended(self) -> None:
        """The body is complete."""
        self._stop_clocks()
        if self._wire is not None:
            self._wire.when_parsed(self._put_back)

    def _put_back(self) -> None:
        connection, self._connection = self._connection, None
        wire, self._wire = self._wire, None
        if connection is None or wire is None:
            return
        if wire.rest():
            connection.release()
        else:
            _cut_off(connection)

    def _stop_clocks(self) -> None:
        if self._total_alarm is not None:
            self._total_alarm.cancel()
            self._total_alarm = None
        if self._head_alarm is not None:
            self._head_alarm.cancel()
            self._head_alarm = None

    def _head_over(self) -> None:
        self._expire("timeout-header")

    def _silent(self) -> None:
        self._expire("timeout-idle")

    def _total_over(self) -> None:
        self._expire("timeout-total")

    def _expire(self, kind: Expired) -> None:
        self.expired = kind
        content, connection = self._content, self._connection
        if content is not None:
            # Without it a body that ends with its connection would seem to have ended well.
            content.set_exception(TimeoutError())
        if connection is not None and connection.transport is not None:
            connection.transport.abort()


def _cut_off(connection: Connection) -> None:
    if connection.transport is not None:
        connection.transport.abort()
    connection.close()
