"""Each way of failing: its kind, how far the call got, and a message that gives nothing away."""

from __future__ import annotations

import socket
from dataclasses import replace

import pytest

from routeradmin.adapters.upstream import EndpointSettings, UpstreamCall, UpstreamClient
from tests.adapters.upstream.servers import (
    PATIENT,
    Peer,
    Script,
    Upstream,
    beside,
    failure,
    plain,
    run,
)

SECRET = "sk-very-secret-value-123456"
STREAM_HEAD = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


async def hold(peer: Peer) -> None:
    await peer.gone()


async def silent(peer: Peer) -> None:
    await peer.request()
    await hold(peer)


async def silent_in_the_head(peer: Peer) -> None:
    await peer.request()
    await peer.write(b"HTTP/1.1 200 OK\r\nContent-")
    await hold(peer)


async def silent_in_the_body(peer: Peer) -> None:
    await peer.request()
    await peer.write(STREAM_HEAD + b"5\r\nhello\r\n")
    await hold(peer)


async def resets_unread(peer: Peer) -> None:
    peer.reset()


async def resets_before_answering(peer: Peer) -> None:
    await peer.request()
    peer.reset()


async def closes_before_answering(peer: Peer) -> None:
    await peer.request()


async def resets_in_the_body(peer: Peer) -> None:
    await peer.request()
    await peer.write(STREAM_HEAD + b"5\r\nhello\r\n")
    peer.reset()


async def closes_early(peer: Peer) -> None:
    await peer.request()
    await peer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort")


async def closes_inside_a_chunk(peer: Peer) -> None:
    await peer.request()
    await peer.write(STREAM_HEAD + b"50\r\nhello")


async def speaks_no_http(peer: Peer) -> None:
    await peer.request()
    await peer.write(b"SSH-2.0-OpenSSH_9.2\r\n\r\n")
    await hold(peer)


async def says_gzip_and_is_not(peer: Peer) -> None:
    await peer.request()
    await peer.write(plain(b"this is no gzip at all", "Content-Encoding: gzip"))
    await hold(peer)


async def endless_body(peer: Peer) -> None:
    await peer.request()
    await peer.write(STREAM_HEAD)
    while True:
        await peer.write(b"10000\r\n" + b"x" * 0x10000 + b"\r\n")


@pytest.mark.parametrize(
    ("script", "settings", "kind", "dispatch"),
    [
        (silent, replace(PATIENT, header_timeout_s=0.05), "timeout-header", "unknown"),
        (silent_in_the_head, replace(PATIENT, header_timeout_s=0.05), "timeout-header", "unknown"),
        (silent_in_the_body, replace(PATIENT, idle_timeout_s=0.05), "timeout-idle", "accepted"),
        (silent, replace(PATIENT, total_timeout_s=0.05), "timeout-total", "unknown"),
        (silent_in_the_body, replace(PATIENT, total_timeout_s=0.5), "timeout-total", "accepted"),
        (resets_unread, PATIENT, "reset", "unknown"),
        (resets_before_answering, PATIENT, "reset", "unknown"),
        (closes_before_answering, PATIENT, "reset", "unknown"),
        (resets_in_the_body, PATIENT, "reset", "accepted"),
        (closes_early, PATIENT, "reset", "accepted"),
        (closes_inside_a_chunk, PATIENT, "reset", "accepted"),
        (speaks_no_http, PATIENT, "protocol", "unknown"),
        (says_gzip_and_is_not, PATIENT, "protocol", "accepted"),
        (endless_body, PATIENT, "too-large", "accepted"),
    ],
)
@pytest.mark.parametrize("method", ["POST", "GET"])
def test_a_failure_says_what_happened_and_how_far_the_call_got(
    script: Script, settings: EndpointSettings, kind: str, dispatch: str, method: str
) -> None:
    async def test(client: UpstreamClient, upstream: Upstream) -> None:
        headers = {"authorization": f"Bearer {SECRET}"}
        body = b"{}" if method == "POST" else b""
        found = await failure(client, UpstreamCall(upstream.url, headers, body, method, settings))
        assert (found.kind, found.dispatch) == (kind, dispatch)
        assert upstream.connections == 1
        assert SECRET not in repr(found)
        assert "127.0.0.1" not in found.message

    beside(script, test)


def test_a_refused_connection_was_never_sent() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound and not listening: nobody else gets the port
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/v1/"

        async def test() -> None:
            client = UpstreamClient("loopback")
            found = await failure(client, UpstreamCall(url))
            await client.close()
            assert (found.kind, found.dispatch) == ("connect", "not-sent")
            assert found.message == "no connection: ECONNREFUSED"

        run(test())


def test_a_connection_that_is_never_accepted_times_out_unsent() -> None:
    with socket.socket() as full:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        address = full.getsockname()
        fillers = [socket.socket() for _ in range(4)]
        for filler in fillers:  # the backlog is full once these have begun to connect
            filler.setblocking(False)
            filler.connect_ex(address)

        async def test() -> None:
            client = UpstreamClient("loopback")
            settings = EndpointSettings(connect_timeout_s=0.05)
            url = f"http://127.0.0.1:{address[1]}/v1/"
            found = await failure(client, UpstreamCall(url, settings=settings))
            await client.close()
            assert (found.kind, found.dispatch) == ("timeout-connect", "not-sent")

        try:
            run(test())
        finally:
            for filler in fillers:
                filler.close()


def test_an_unknown_name_was_never_sent() -> None:
    async def test() -> None:
        client = UpstreamClient("loopback")
        found = await failure(client, UpstreamCall("http://nobody.invalid/v1/"))
        await client.close()
        assert (found.kind, found.dispatch) == ("dns", "not-sent")
        assert "nobody" not in found.message

    run(test())


@pytest.mark.parametrize(
    "call",
    [
        UpstreamCall("http://127.0.0.1:1/", {"authorization": f"Bearer {SECRET}\r\nx: y"}),
        UpstreamCall("ftp://127.0.0.1:1/"),
        UpstreamCall("http://127.0.0.1:1/", settings=EndpointSettings(proxy="socks5://x:1")),
        UpstreamCall("https://127.0.0.1:1/", settings=EndpointSettings(ca_file="/no/such/file")),
        UpstreamCall("https://127.0.0.1:1/", settings=EndpointSettings(ca_file="/dev/null")),
    ],
)
def test_what_cannot_be_sent_is_a_failure_like_any_other(call: UpstreamCall) -> None:
    async def test() -> None:
        client = UpstreamClient("loopback")
        found = await failure(client, call)
        await client.close()
        assert found.dispatch == "not-sent"
        assert SECRET not in repr(found)

    run(test())
