"""The way to an endpoint in steps: each ends in what it found or in one plain failure."""

from __future__ import annotations

import socket
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from routeradmin.adapters.addresses import Policy
from routeradmin.adapters.upstream import UpstreamClient, UpstreamFailure
from routeradmin.adapters.upstream.reach import Line, look_up
from tests.adapters.upstream.servers import Peer, Upstream, beside, run
from tests.adapters.upstream.test_ways import hello, tls


def port_of(upstream: Upstream) -> int:
    return urlsplit(upstream.url).port or 0


@pytest.mark.parametrize(
    ("host", "policy", "kind"),
    [
        ("169.254.169.254", "private", "refused-address"),
        ("metadata.google.internal", "private", "refused-address"),
        ("localhost", "none", "refused-address"),
        ("nobody.invalid", "private", "dns"),
        ("a..b", "private", "dns"),
    ],
)
def test_a_name_without_an_address_that_may_be_called_is_refused(
    host: str, policy: Policy, kind: str
) -> None:
    async def test() -> None:
        with pytest.raises(UpstreamFailure) as caught:
            await look_up(host, 443, policy)
        assert (caught.value.kind, caught.value.dispatch) == (kind, "not-sent")

    run(test())


def test_a_trusted_endpoint_is_reached_all_the_way(tmp_path: Path) -> None:
    async def test(client: UpstreamClient, upstream: Upstream) -> None:
        port = port_of(upstream)
        addresses = await look_up("127.0.0.1", port, "loopback")
        async with Line() as line:
            assert await line.connect(addresses, port) == "127.0.0.1"
            agreed = await line.secure("127.0.0.1", str(tmp_path / "chain.pem"))
        assert agreed.startswith("TLSv1")
        assert upstream.requests == []

    beside(hello, test, tls=tls(tmp_path))


def test_an_unknown_authority_ends_at_tls(tmp_path: Path) -> None:
    async def test(client: UpstreamClient, upstream: Upstream) -> None:
        async with Line() as line:
            await line.connect(["127.0.0.1"], port_of(upstream))
            with pytest.raises(UpstreamFailure) as caught:
                await line.secure("127.0.0.1", None)
        assert caught.value.message == "the upstream's certificate is self-signed"

    beside(hello, test, tls=tls(tmp_path))


def test_a_server_that_speaks_no_tls_ends_there() -> None:
    async def plain_text(peer: Peer) -> None:
        await peer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        await peer.gone()

    async def test(client: UpstreamClient, upstream: Upstream) -> None:
        async with Line() as line:
            await line.connect(["127.0.0.1"], port_of(upstream))
            with pytest.raises(UpstreamFailure) as caught:
                await line.secure("127.0.0.1", None)
        assert caught.value.kind == "tls"

    beside(plain_text, test)


def test_a_port_where_nothing_listens_ends_at_the_connection() -> None:
    async def test() -> None:
        with socket.socket() as closed:
            closed.bind(("127.0.0.1", 0))
            port = closed.getsockname()[1]
        async with Line() as line:
            with pytest.raises(UpstreamFailure) as caught:
                await line.connect(["127.0.0.1"], port)
        assert (caught.value.kind, caught.value.message) == (
            "connect",
            "no connection: ECONNREFUSED",
        )

    run(test())
