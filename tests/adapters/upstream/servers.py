"""Small upstreams on loopback, each doing one thing; and a way to run a test beside one."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass, field

from routeradmin.adapters.addresses import Policy
from routeradmin.adapters.upstream import (
    EndpointSettings,
    UpstreamAnswer,
    UpstreamCall,
    UpstreamClient,
    UpstreamFailure,
)

PATIENT = EndpointSettings(
    connect_timeout_s=10, header_timeout_s=10, idle_timeout_s=10, total_timeout_s=20
)


@dataclass
class Upstream:
    """One listening server; `requests` are the heads and bodies it has read."""

    url: str = ""
    requests: list[bytes] = field(default_factory=list)
    connections: int = 0
    asked: asyncio.Event = field(default_factory=asyncio.Event)
    closed: asyncio.Event = field(default_factory=asyncio.Event)


class Peer:
    """The server's end of one connection."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, upstream: Upstream
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._upstream = upstream

    async def request(self) -> bytes:
        head = await self._reader.readuntil(b"\r\n\r\n")
        length = 0
        for line in head.split(b"\r\n"):
            if line.lower().startswith(b"content-length:"):
                length = int(line.split(b":")[1])
        body = await self._reader.readexactly(length)
        self._upstream.requests.append(head + body)
        self._upstream.asked.set()
        return head + body

    async def write(self, data: bytes) -> None:
        self._writer.write(data)
        await self._writer.drain()

    async def secure(self, context: ssl.SSLContext) -> None:
        await self._writer.start_tls(context)

    def reset(self) -> None:
        self._writer.transport.abort()

    async def gone(self) -> None:
        """Waits until the client has closed its side, however it did."""
        try:
            while await self._reader.read(65536):
                pass
        except ConnectionError:
            pass
        self._upstream.closed.set()


Script = Callable[[Peer], Awaitable[None]]
Test = Callable[[UpstreamClient, Upstream], Awaitable[None]]


new_event_loop = asyncio.new_event_loop


def run(main: Coroutine[object, object, None]) -> None:
    """Runs it to its end on the event loop of the current test."""
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        runner.run(main)


def beside(
    script: Script,
    test: Test,
    *,
    policy: Policy = "loopback",
    tls: ssl.SSLContext | None = None,
) -> None:
    """Runs the test with a client and an upstream that follows the script on each connection."""

    async def main() -> None:
        upstream = Upstream()
        writers: list[asyncio.StreamWriter] = []

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            upstream.connections += 1
            writers.append(writer)
            try:
                await script(Peer(reader, writer, upstream))
            except (asyncio.IncompleteReadError, ConnectionError):
                pass
            finally:
                writer.close()

        server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=tls)
        port = server.sockets[0].getsockname()[1]
        scheme = "https" if tls else "http"
        upstream.url = f"{scheme}://127.0.0.1:{port}/v1/chat/completions"
        client = UpstreamClient(policy)
        try:
            async with asyncio.timeout(20):
                await test(client, upstream)
        finally:
            await client.close()
            server.close()
            left = asyncio.all_tasks() - {asyncio.current_task()}
            for task in left:
                task.cancel()
            await asyncio.gather(*left, return_exceptions=True)
            for writer in writers:  # also those whose peer never read what was written
                writer.transport.abort()
            for _ in range(3):
                await asyncio.sleep(0)

    run(main())


async def failure(client: UpstreamClient, call: UpstreamCall) -> UpstreamFailure:
    """The failure of a call, whether it comes with the head or in the body."""
    try:
        async with client.send(call) as answer:
            body = await answer.read(1_000_000)
    except UpstreamFailure as problem:
        return problem
    raise AssertionError(f"no failure, but {answer.status} {body[:100]!r}")


async def fetch(client: UpstreamClient, call: UpstreamCall) -> tuple[UpstreamAnswer, bytes]:
    async with client.send(call) as answer:
        return answer, await answer.read()


def plain(body: bytes, *headers: str, status: str = "200 OK") -> bytes:
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *headers, "", ""]
    return "\r\n".join(lines).encode() + body
