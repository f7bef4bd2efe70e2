"""Answers as they come through: bodies, headers, streams, and connections given back or cut."""

from __future__ import annotations

import asyncio
import gzip
import zlib
from dataclasses import replace

import pytest

from routeradmin.adapters.upstream import UpstreamCall, UpstreamClient
from tests.adapters.upstream.servers import (
    PATIENT,
    Peer,
    Script,
    Upstream,
    beside,
    fetch,
    plain,
)

BODY = b'{"choices": []}' * 20


def call(upstream: Upstream, **headers: str) -> UpstreamCall:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return UpstreamCall(upstream.url, named, b"{}", settings=PATIENT)


def answering(*answers: bytes) -> Script:
    async def script(peer: Peer) -> None:
        for answer in answers:
            await peer.request()
            await peer.write(answer)
        await peer.gone()

    return script


@pytest.mark.parametrize(
    ("encoding", "packed"),
    [("gzip", gzip.compress(BODY)), ("deflate", zlib.compress(BODY))],
    ids=["gzip", "deflate"],
)
def test_a_compressed_body_is_read_plain(encoding: str, packed: bytes) -> None:
    async def test(client: UpstreamClient, upstream: Upstream) -> None:
        _, body = await fetch(client, call(upstream))
        assert body == BODY

    head = (f"Content-Encoding: {encoding}", "Content-Type: application/json")
    beside(answering(plain(packed, *head)), test)


def test_an_encoding_that_is_not_undone_is_passed_through() -> None:
    async def test(client: UpstreamClient, upstream: Upstream) -> None:
        answer, body = await fetch(client, call(upstream))
        assert (answer.headers["content-encoding"], body) == ("compress", b"packed")

    beside(answering(plain(b"packed", "Content-Encoding: compress")), test)


def test_a_compressed_stream_comes_through_piece_by_piece() -> None:
    arrived = asyncio.Event()

    async def script(peer: Peer) -> None:
        await peer.request()
        await peer.write(b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nConnection: close\r\n\r\n")
        packer = zlib.compressobj(wbits=31)
        await peer.write(packer.compress(b"data: one\n\n") + packer.flush(zlib.Z_SYNC_FLUSH))
        await arrived.wait()
        await peer.write(packer.compress(b"data: two\n\n") + packer.flush())

    async def test(client: UpstreamClient, upstream: Upstream) -> None:
        async with client.send(call(upstream)) as answer:
            assert await answer.chunk() == b"data: one\n\n"
            arrived.set()
            assert [part async for part in answer.chunks()] == [b"data: two\n\n"]

    beside(script, test)


def test_headers_are_found_by_names_in_any_case() -> None:
    async def test(client: UpstreamClient, upstream: Upstream) -> None:
        answer, _ = await fetch(client, call(upstream))
        assert answer.headers["x-KEPT"] == "1"

    beside(answering(plain(b"{}", "X-Kept: 1")), test)


@pytest.mark.parametrize("status", ["301 Moved", "302 Found", "307 Temporary", "308 Permanent"])
def test_a_redirect_is_an_answer_and_is_not_followed(status: str) -> None:
    async def test(client: UpstreamClient, upstream: Upstream) -> None:
        answer, _ = await fetch(client, call(upstream))
        assert answer.status == int(status[:3])
        assert len(upstream.requests) == 1

    beside(answering(plain(b"", "Location: /elsewhere", status=status)), test)


def test_the_request_arrives_as_it_was_given() -> None:
    async def test(client: UpstreamClient, upstream: Upstream) -> None:
        asked = call(upstream, idempotency_key="k-1", authorization="Bearer x", content_length="9")
        await fetch(client, asked)
        head, _, body = upstream.requests[0].decode().partition("\r\n\r\n")
        lines = head.lower().split("\r\n")
        assert body == "{}"
        assert lines[0] == "post /v1/chat/completions http/1.1"
        assert {"idempotency-key: k-1", "authorization: bearer x", "content-length: 2"} < {*lines}
        assert "accept-encoding: identity" in lines
        assert not any(line.startswith(("content-type", "cookie")) for line in lines)

    beside(answering(plain(b"{}")), test)


def test_an_escaped_path_reaches_the_upstream_unchanged() -> None:
    async def test(client: UpstreamClient, upstream: Upstream) -> None:
        url = upstream.url.replace("chat/completions", "models/a%2Fb%2e%2e?x=%2F")
        await fetch(client, UpstreamCall(url, method="GET", settings=PATIENT))
        assert upstream.requests[0].startswith(b"GET /v1/models/a%2Fb%2e%2e?x=%2F HTTP/1.1\r\n")

    beside(answering(plain(b"{}")), test)


def test_a_large_request_body_arrives_whole() -> None:
    async def test(client: UpstreamClient, upstream: Upstream) -> None:
        body = b"x" * 8_000_000
        await fetch(client, UpstreamCall(upstream.url, body=body, settings=PATIENT))
        assert upstream.requests[0].endswith(b"\r\n\r\n" + body)

    beside(answering(plain(b"{}")), test)


def test_connections_are_used_again_and_cookies_are_not_kept() -> None:
    async def test(client: UpstreamClient, upstream: Upstream) -> None:
        for _ in range(3):
            assert (await fetch(client, call(upstream)))[1] == b"{}"
        assert upstream.connections == 1
        assert not any(b"cookie" in request.lower() for request in upstream.requests)

    beside(answering(*[plain(b"{}", "Set-Cookie: a=b")] * 3), test)


def test_a_slow_drip_is_not_silence() -> None:
    settings = replace(PATIENT, idle_timeout_s=0.4)

    async def script(peer: Peer) -> None:
        await peer.request()
        await peer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\n")
        for _ in range(8):
            await asyncio.sleep(settings.idle_timeout_s / 4)
            await peer.write(b"x")

    async def test(client: UpstreamClient, upstream: Upstream) -> None:
        _, body = await fetch(client, UpstreamCall(upstream.url, settings=settings))
        assert body == b"x" * 8

    beside(script, test)


async def endless(peer: Peer) -> None:
    await peer.request()
    await peer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n")
    await peer.gone()


async def mute(peer: Peer) -> None:
    await peer.request()
    await peer.gone()


def test_leaving_a_stream_early_closes_the_upstream() -> None:
    async def test(client: UpstreamClient, upstream: Upstream) -> None:
        async with client.send(call(upstream)) as answer:
            assert await answer.chunk() == b"hi"
        await upstream.closed.wait()

    beside(endless, test)


@pytest.mark.parametrize("script", [endless, mute])
def test_cancelling_a_call_closes_the_upstream(script: Script) -> None:
    async def test(client: UpstreamClient, upstream: Upstream) -> None:
        task = asyncio.create_task(fetch(client, call(upstream)))
        await upstream.asked.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await upstream.closed.wait()

    beside(script, test)


def test_the_environment_s_proxies_are_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")

    async def test(client: UpstreamClient, upstream: Upstream) -> None:
        assert (await fetch(client, call(upstream)))[1] == b"{}"

    beside(answering(plain(b"{}")), test)
