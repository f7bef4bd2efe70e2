"""The reading end of a connection: what came on it unasked is never an answer.

Connections are used for one call after another, and HTTP/1.1 gives answers no names: whatever an
upstream says too much would be the answer to the next call, somebody else's. So a connection rests
between two calls only if nothing but one whole answer came on it, and is woken only if nothing has
come since.
"""

from __future__ import annotations

import asyncio
import re
import select
from collections.abc import Callable

import aiohttp
from aiohttp.client_proto import ResponseHandler
from aiohttp.http import HttpProcessingError, RawResponseMessage
from aiohttp.streams import StreamReader

_END_OF_HEAD = re.compile(rb"\n\r?\n")
_LONGEST_CUT = 2  # bytes of the pattern that may stand at the end of a piece


class Wire(ResponseHandler):
    """aiohttp's, which would keep what follows an answer for whoever asks next."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(loop=loop)
        self._resting = False
        self._heading = False  # asked, and the head of the answer has not come
        self._spoke_early = False
        self._cut = b""
        self._parsing = False
        self._lost = False
        self._then: Callable[[], None] | None = None
        self._poll: select.poll | None = None

    def wake(self) -> bool:
        """Before it is asked: whether it may be."""
        rested, self._resting = self._resting, False
        if not rested:
            # Just opened. Who speaks first there has nobody else's answer, but will not be trusted
            # with another call.
            self._spoke_early = bool(self._tail)
            return True
        return self.is_connected() and not self._has_news()

    def ask(self) -> None:
        """From now on an answer is waited for."""
        self._heading = True
        self._cut = b""

    def when_parsed(self, then: Callable[[], None]) -> None:
        """Calls it once all that has arrived was looked at: now, or after the piece in hand."""
        if self._parsing:
            self._then = then
        else:
            then()

    def rest(self) -> bool:
        """After the answer's end: whether the connection is clean, and rests for another call."""
        self._resting = self._is_clean()
        return self._resting

    def _is_clean(self) -> bool:
        transport, parser = self.transport, self._parser
        if (
            self._lost
            or self._spoke_early
            or self.should_close
            or self._reading_paused
            or self._buffer_paused
            or transport is None
            or transport.is_closing()
            or transport.get_write_buffer_size()
            or parser is None
        ):
            return False
        try:
            # The only way to learn whether the parser holds the beginning of another answer.
            return parser.feed_eof() is None
        except HttpProcessingError:
            return False

    def _has_news(self) -> bool:
        """Whether something waits in the socket that the event loop has not come to yet."""
        if self.transport is None:
            return True
        if self._poll is None:
            self._poll = select.poll()
            socket = self.transport.get_extra_info("socket")
            self._poll.register(socket.fileno(), select.POLLIN | select.POLLPRI)
        return bool(self._poll.poll(0))

    def data_received(self, data: bytes) -> None:
        if self._resting:
            if data:
                self.abort()
            return
        if not self._heading:
            self._parse(data)
            return
        if self.transport is not None and self.transport.get_write_buffer_size():
            self._spoke_early = True
        # The head apart from what follows: a fault in one piece takes all of the piece away, and
        # an answer shall not depend on how the network cut it.
        while self._heading and (end := self._end_of_head(data)):
            self._parse(data[:end])
            data = data[end:]
            if self.exception() is not None:
                return
        if data:
            self._parse(data)

    def _end_of_head(self, data: bytes) -> int:
        """Where it stands in the data, 0 if it does not."""
        before = len(self._cut)
        seen = self._cut + data
        found = _END_OF_HEAD.search(seen)
        self._cut = b"" if found else seen[-_LONGEST_CUT:]
        return found.end() - before if found else 0

    def _parse(self, data: bytes) -> None:
        self._parsing = True
        try:
            super().data_received(data)
        finally:
            self._parsing = False
        fault = self.exception()
        if fault is not None and self._payload is not None and not self._payload.is_eof():
            # aiohttp tells only those who wait for a head. Soon, because a reader that was woken
            # for the end of a chunk goes back to waiting without a look at what has come since.
            self._loop.call_soon(self._payload.set_exception, fault)
        then, self._then = self._then, None
        if then is not None:
            then()

    def feed_data(self, data: tuple[RawResponseMessage, StreamReader], size: int = 0) -> None:
        if data[0].code >= 200:
            self._heading = False
        super().feed_data(data, size)

    def connection_lost(self, exc: BaseException | None) -> None:
        self._lost = True
        payload = self._payload
        if exc is not None and payload is not None and not payload.is_eof():
            # Else a body whose end is that of its connection would seem to have ended well.
            payload.set_exception(aiohttp.ClientConnectionError())
        super().connection_lost(exc)
