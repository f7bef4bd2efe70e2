"""What came unasked on a connection is never the answer to another call.

Every script is followed on the first connection alone; later ones are served honestly.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from routeradmin.adapters.upstream import UpstreamCall, UpstreamClient
from tests.adapters.upstream.servers import (
    PATIENT,
    Peer,
    Script,
    Upstream,
    beside,
    failure,
    fetch,
    plain,
)
from tests.adapters.upstream.test_ways import tls

SECOND = plain(b"not yours")
TAILS = {
    "a second answer": SECOND,
    "the first half of one": SECOND[:-4],
    "the head of one": SECOND[:-9],
    "one byte of one": SECOND[:1],
    "two of them": SECOND * 2,
    "an announcement": b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n",
    "an answer without a body": b"HTTP/1.1 204 No Content\r\n\r\n",
    "a switch of protocols": b"HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n",
    "something that is not HTTP": b"garbage",
}


def call(upstream: Upstream, body: bytes = b"{}") -> UpstreamCall:
    return UpstreamCall(upstream.url, body=body, settings=PATIENT)


def at_first(evil: Callable[[Peer], Awaitable[None]]) -> Script:
    """The script of the first connection; others serve every request."""
    connections = 0

    async def script(peer: Peer) -> None:
        nonlocal connections
        connections += 1
        if connections == 1:
            with suppress(ConnectionError):  # the client may cut it before all is written
                await evil(peer)
            await peer.gone()
        while True:
            await peer.request()
            await peer.write(plain(b"yours"))

    return script


def chunked(body: bytes, end: bytes = b"0\r\n\r\n") -> bytes:
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    return head + b"%x\r\n%b\r\n" % (len(body), body) + end


@pytest.mark.parametrize("tail", TAILS.values(), ids=TAILS)
@pytest.mark.parametrize(
    "answer",
    [
        plain(b"first"),
        chunked(b"first"),
        b"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 5\r\n\r\nfirst",
        plain(b"first", "Connection: close"),
    ],
    ids=["counted", "chunked", "1.0", "closing"],
)
@pytest.mark.parametrize("cut", ["together", "apart", "bytewise", "in the blank line"])
def test_what_follows_an_answer_harms_neither_it_nor_the_next(
    answer: bytes, tail: bytes, cut: str
) -> None:
    async def evil(peer: Peer) -> None:
        await peer.request()
        whole = answer + tail
        if cut == "bytewise":
            for at in range(len(whole)):
                await peer.write(whole[at : at + 1])
                await asyncio.sleep(0)
            return
        at = {"together": 0, "apart": len(answer)}.get(cut, answer.index(b"\r\n\r\n") + 3)
        await peer.write(whole[:at])
        await asyncio.sleep(0)
        await peer.write(whole[at:])

    async def test(client: UpstreamClient, upstream: Upstream) -> None:
        assert (await fetch(client, call(upstream)))[1] == b"first"
        await upstream.closed.wait()  # the client's doing: the upstream keeps its end open
        for _ in range(2):
            assert (await fetch(client, call(upstream)))[1] == b"yours"
        assert upstream.connections == 2

    beside(at_first(evil), test)


@pytest.mark.parametrize("tail", TAILS.values(), ids=TAILS)
@pytest.mark.parametrize("noticed", [True, False], ids=["in the pool", "as it is taken"])
def test_what_arrives_in_the_pool_ends_the_connection(tail: bytes, noticed: bool) -> None:
    resting, written = asyncio.Event(), asyncio.Event()

    async def evil(peer: Peer) -> None:
        await peer.request()
        await peer.write(plain(b"first"))
        await resting.wait()
        await peer.write(tail)
        written.set()

    async def test(client: UpstreamClient, upstream: Upstream) -> None:
        assert (await fetch(client, call(upstream)))[1] == b"first"
        resting.set()
        await (upstream.closed if noticed else written).wait()
        assert (await fetch(client, call(upstream)))[1] == b"yours"
        assert upstream.connections == 2

    beside(at_first(evil), test)


def test_a_connection_that_was_closed_in_the_pool_is_not_used() -> None:
    resting, closed = asyncio.Event(), asyncio.Event()

    async def evil(peer: Peer) -> None:
        await peer.request()
        await peer.write(plain(b"first"))
        await resting.wait()
        peer.reset()
        closed.set()

    async def test(client: UpstreamClient, upstream: Upstream) -> None:
        await fetch(client, call(upstream))
        resting.set()
        await closed.wait()
        assert (await fetch(client, call(upstream)))[1] == b"yours"

    beside(at_first(evil), test)


def test_over_tls_nothing_that_came_unasked_is_an_answer_either(tmp_path: Path) -> None:
    resting = asyncio.Event()

    async def evil(peer: Peer) -> None:
        await peer.request()
        await peer.write(plain(b"first"))
        await resting.wait()
        await peer.write(SECOND)

    async def test(client: UpstreamClient, upstream: Upstream) -> None:
        settings = replace(PATIENT, ca_file=str(tmp_path / "chain.pem"))
        asked = UpstreamCall(upstream.url, body=b"{}", settings=settings)
        assert (await fetch(client, asked))[1] == b"first"
        resting.set()
        await upstream.closed.wait()
        for _ in range(2):
            assert (await fetch(client, asked))[1] == b"yours"
        assert upstream.connections == 2

    beside(at_first(evil), test, tls=tls(tmp_path))


def test_through_a_tunnel_connections_are_used_again_while_they_are_clean(tmp_path: Path) -> None:
    resting, context = asyncio.Event(), tls(tmp_path)

    async def tunnel(peer: Peer) -> None:
        assert (await peer.request()).startswith(b"CONNECT ")
        await peer.write(b"HTTP/1.1 200 Connected\r\n\r\n")
        await peer.secure(context)

    async def script(peer: Peer) -> None:
        await tunnel(peer)
        for _ in range(2):
            await peer.request()
            await peer.write(plain(b"yours"))
        if not resting.is_set():
            await resting.wait()
            await peer.write(SECOND)
        await peer.gone()

    async def test(client: UpstreamClient, upstream: Upstream) -> None:
        proxy = upstream.url.split("/v1")[0]
        settings = replace(PATIENT, ca_file=str(tmp_path / "chain.pem"), proxy=proxy)
        asked = UpstreamCall(upstream.url.replace("http:", "https:"), settings=settings)
        for _ in range(2):
            assert (await fetch(client, asked))[1] == b"yours"
        assert upstream.connections == 1
        resting.set()
        await upstream.closed.wait()
        assert (await fetch(client, asked))[1] == b"yours"
        assert upstream.connections == 2

    beside(script, test)


def test_an_answer_that_began_before_the_request_was_sent_ends_the_connection() -> None:
    async def evil(peer: Peer) -> None:
        answer = plain(b"first")
        await peer.write(answer[:-1])
        await peer.request()
        await peer.write(answer[-1:])

    async def test(client: UpstreamClient, upstream: Upstream) -> None:
        assert (await fetch(client, call(upstream, b"x" * 30_000_000)))[1] == b"first"
        assert (await fetch(client, call(upstream)))[1] == b"yours"
        assert upstream.connections == 2

    beside(at_first(evil), test)


@pytest.mark.parametrize("status", ["204 No Content", "304 Not Modified"])
@pytest.mark.parametrize("header", ["X-None: 1", "Content-Length: 9", "Transfer-Encoding: chunked"])
def test_an_answer_without_a_body_is_not_waited_for(status: str, header: str) -> None:
    async def script(peer: Peer) -> None:
        for _ in range(2):
            await peer.request()
            await peer.write(f"HTTP/1.1 {status}\r\n{header}\r\n\r\n".encode())
        await peer.gone()

    async def test(client: UpstreamClient, upstream: Upstream) -> None:
        for _ in range(2):
            answer, body = await fetch(client, call(upstream))
            assert (answer.status, body) == (int(status[:3]), b"")
        assert upstream.connections == 1

    beside(script, test)


@pytest.mark.parametrize("status", [b"100 Continue", b"102 Processing", b"103 Hints", b"199 What"])
@pytest.mark.parametrize("together", [True, False])
def test_an_announcement_is_not_the_answer(status: bytes, together: bool) -> None:
    async def script(peer: Peer) -> None:
        for _ in range(2):
            await peer.request()
            announced = b"HTTP/1.1 " + status + b"\r\nLink: </x>\r\n\r\n"
            await peer.write(announced * 32 + (plain(b"ok") if together else b""))
            if not together:
                await asyncio.sleep(0)
                await peer.write(plain(b"ok"))
        await peer.gone()

    async def test(client: UpstreamClient, upstream: Upstream) -> None:
        for _ in range(2):
            answer, body = await fetch(client, call(upstream))
            assert (answer.status, body) == (200, b"ok")
        assert upstream.connections == 1

    beside(script, test)


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: upgrade\r\n\r\n",
        b"HTTP/1.1 101 Switching Protocols\r\n\r\n" + plain(b"not yours"),
        b"HTTP/1.1 100 Continue\r\n\r\n" * 33 + plain(b"not yours"),
        b"HTTP/1.1 100 Continue\r\n\r\n" * 1000 + plain(b"not yours"),
        b"HTTP/1.1 099 Early\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 000 Nothing\r\n\r\n",
    ],
    ids=["upgrade", "101", "33 announcements", "1000 announcements", "099", "000"],
)
def test_a_status_that_nobody_asked_for_is_a_fault_and_ends_the_connection(answer: bytes) -> None:
    async def evil(peer: Peer) -> None:
        await peer.request()
        await peer.write(answer)

    async def test(client: UpstreamClient, upstream: Upstream) -> None:
        found = await failure(client, call(upstream))
        assert (found.kind, found.dispatch) == ("protocol", "unknown")
        await upstream.closed.wait()
        assert (await fetch(client, call(upstream)))[1] == b"yours"

    beside(at_first(evil), test)
