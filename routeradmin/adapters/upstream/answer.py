"""An upstream's answer: status and headers at once, the body as it comes."""

from __future__ import annotations

from collections.abc import AsyncIterator

from aiohttp.streams import EMPTY_PAYLOAD, StreamReader
from multidict import CIMultiDictProxy

from routeradmin.adapters.upstream.failures import LIBRARY_ERRORS, UpstreamFailure, failure_of
from routeradmin.adapters.upstream.line import Line

MAX_BODY_BYTES = 64 * 1024 * 1024


class UpstreamAnswer:
    """`headers` are as received, names in any case. Redirects are answers like any other."""

    __slots__ = ("_content", "_line", "headers", "status")

    def __init__(
        self, status: int, headers: CIMultiDictProxy[str], content: StreamReader, line: Line
    ) -> None:
        self.status = status
        self.headers = headers
        self._content = content
        self._line = line

    async def read(self, max_bytes: int = MAX_BODY_BYTES) -> bytes:
        """The whole body, decompressed. Raises UpstreamFailure, `too-large` above the bound."""
        parts: list[bytes] = []
        size = 0
        while part := await self.chunk():
            size += len(part)
            if size > max_bytes:
                self._line.abort()
                text = f"the answer is larger than {max_bytes} bytes"
                raise UpstreamFailure("too-large", "accepted", text)
            parts.append(part)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    async def chunk(self) -> bytes:
        """What has arrived since the last time, waiting for some; empty at the end of the body.
        Raises UpstreamFailure."""
        content = self._content
        if content is EMPTY_PAYLOAD:
            return b""
        # Asked for directly, because the library would drop what arrived before the connection
        # broke, and because what is there already needs neither a wait nor its clock.
        if content._buffer:
            return content._read_nowait(-1)
        if content._eof and content.exception() is None:
            return b""
        silence = self._line.wait()
        try:
            return await content.readany()
        except LIBRARY_ERRORS as problem:
            raise failure_of(problem, "accepted", expired=self._line.expired) from None
        finally:
            silence.cancel()

    async def chunks(self) -> AsyncIterator[bytes]:
        """The body as it comes. Raises UpstreamFailure."""
        while part := await self.chunk():
            yield part
