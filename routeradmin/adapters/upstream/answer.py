"""An upstream's answer: status and headers at once, the body as it comes."""

from __future__ import annotations

from collections.abc import AsyncIterator

import aiohttp
from multidict import CIMultiDictProxy

from routeradmin.adapters.upstream.attempt import Attempt
from routeradmin.adapters.upstream.failures import UpstreamFailure, failure_of

MAX_BODY_BYTES = 64 * 1024 * 1024


class UpstreamAnswer:
    """`headers` are as received, names in any case. Redirects are answers like any other."""

    __slots__ = ("_attempt", "_content", "headers", "status")

    def __init__(self, response: aiohttp.ClientResponse, attempt: Attempt) -> None:
        self._attempt = attempt
        self._content = response.content
        self.status: int = response.status
        self.headers: CIMultiDictProxy[str] = response.headers

    async def read(self, max_bytes: int = MAX_BODY_BYTES) -> bytes:
        """The whole body, decompressed. Raises UpstreamFailure, `too-large` above the bound."""
        parts: list[bytes] = []
        size = 0
        while part := await self.chunk():
            size += len(part)
            if size > max_bytes:
                self._attempt.abort()
                text = f"the answer is larger than {max_bytes} bytes"
                raise UpstreamFailure("too-large", "accepted", text)
            parts.append(part)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    async def chunk(self) -> bytes:
        """What has arrived since the last time, waiting for some; empty at the end of the body.
        Raises UpstreamFailure."""
        content = self._content
        try:
            if content._buffer and content.exception() is not None:
                # The library would drop what arrived before the connection broke.
                return content._read_nowait(-1)
            return await content.readany()
        except (aiohttp.ClientError, OSError, aiohttp.http.HttpProcessingError) as problem:
            raise failure_of(problem, "accepted", head_expired=False) from None

    async def chunks(self) -> AsyncIterator[bytes]:
        """The body as it comes. Raises UpstreamFailure."""
        while part := await self.chunk():
            yield part
