"""The ways to an upstream: guarded addresses, proxies, certificates."""

from __future__ import annotations

import asyncio
import datetime
import ipaddress
import ssl
from dataclasses import replace
from pathlib import Path
from urllib.parse import unquote

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from routeradmin.adapters.addresses import Policy
from routeradmin.adapters.upstream import UpstreamCall, UpstreamClient, path_segment
from tests.adapters.upstream.servers import (
    PATIENT,
    Peer,
    Upstream,
    beside,
    failure,
    fetch,
    plain,
    run,
)


def certificate(folder: Path) -> tuple[Path, Path]:
    """A self-signed certificate for 127.0.0.1, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.datetime.now(datetime.UTC)
    address = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([address]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    chain, private = folder / "chain.pem", folder / "key.pem"
    chain.write_bytes(made.public_bytes(serialization.Encoding.PEM))
    private.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    return chain, private


async def hello(peer: Peer) -> None:
    await peer.request()
    await peer.write(plain(b"hello"))
    await peer.gone()


def tls(folder: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificate(folder))
    return context


def test_a_private_authority_is_trusted_where_its_file_is_named(tmp_path: Path) -> None:
    async def test(client: UpstreamClient, upstream: Upstream) -> None:
        settings = replace(PATIENT, ca_file=str(tmp_path / "chain.pem"))
        _, body = await fetch(client, UpstreamCall(upstream.url, settings=settings))
        assert body == b"hello"

    beside(hello, test, tls=tls(tmp_path))


def test_an_unknown_authority_is_refused_before_anything_is_sent(tmp_path: Path) -> None:
    async def test(client: UpstreamClient, upstream: Upstream) -> None:
        found = await failure(client, UpstreamCall(upstream.url, settings=PATIENT))
        assert (found.kind, found.dispatch) == ("tls", "not-sent")
        assert found.message == "the upstream's certificate is self-signed"
        assert upstream.requests == []

    beside(hello, test, tls=tls(tmp_path))


def test_a_renewed_authority_file_is_read_again(tmp_path: Path) -> None:
    async def test(client: UpstreamClient, upstream: Upstream) -> None:
        file = tmp_path / "other.pem"
        other = tmp_path / "other"
        other.mkdir()
        file.write_bytes(certificate(other)[0].read_bytes())
        asked = UpstreamCall(upstream.url, settings=replace(PATIENT, ca_file=str(file)))
        assert (await failure(client, asked)).kind == "tls"
        (tmp_path / "chain.pem").replace(file)
        assert (await fetch(client, asked))[1] == b"hello"

    beside(hello, test, tls=tls(tmp_path))


def test_plain_http_where_tls_is_expected_is_a_tls_failure() -> None:
    async def test(client: UpstreamClient, upstream: Upstream) -> None:
        url = upstream.url.replace("http:", "https:")
        found = await failure(client, UpstreamCall(url, settings=PATIENT))
        assert (found.kind, found.dispatch) == ("tls", "not-sent")

    async def plain_text(peer: Peer) -> None:
        await peer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        await peer.gone()

    beside(plain_text, test)


def test_a_cancelled_call_over_tls_does_not_wait_for_a_goodbye(tmp_path: Path) -> None:
    async def mute(peer: Peer) -> None:
        await peer.request()
        await peer.gone()

    async def test(client: UpstreamClient, upstream: Upstream) -> None:
        settings = replace(PATIENT, ca_file=str(tmp_path / "chain.pem"))
        task = asyncio.create_task(fetch(client, UpstreamCall(upstream.url, settings=settings)))
        await upstream.asked.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await upstream.closed.wait()

    beside(mute, test, tls=tls(tmp_path))


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::ffff:127.0.0.1]", "2130706433"])
def test_an_address_outside_the_policy_is_not_connected_to(host: str) -> None:
    async def test(client: UpstreamClient, upstream: Upstream) -> None:
        url = upstream.url.replace("127.0.0.1", host)
        found = await failure(client, UpstreamCall(url, settings=PATIENT))
        assert (found.kind, found.dispatch) == ("refused-address", "not-sent")
        assert "ROUTERADMIN_ALLOW_PRIVATE_UPSTREAMS" in found.message
        assert upstream.connections == 0

    beside(hello, test, policy="none")


def test_a_name_for_an_allowed_address_is_connected_to() -> None:
    async def test(client: UpstreamClient, upstream: Upstream) -> None:
        url = upstream.url.replace("127.0.0.1", "localhost")
        assert (await fetch(client, UpstreamCall(url, settings=PATIENT)))[1] == b"hello"

    beside(hello, test)


@pytest.mark.parametrize("policy", ["none", "loopback", "private"])
@pytest.mark.parametrize("host", ["169.254.169.254", "Metadata.Google.Internal.", "[fe80::1]"])
def test_metadata_is_never_called_whatever_the_policy_and_the_proxy(
    policy: Policy, host: str
) -> None:
    async def test() -> None:
        client = UpstreamClient(policy)
        for proxy in (None, "http://127.0.0.1:1"):
            settings = replace(PATIENT, proxy=proxy)
            found = await failure(client, UpstreamCall(f"http://{host}/v1/", settings=settings))
            assert (found.kind, found.dispatch) == ("refused-address", "not-sent")
        await client.close()

    run(test())


def test_a_proxy_is_asked_with_its_own_credentials_and_never_quoted() -> None:
    async def test(client: UpstreamClient, upstream: Upstream) -> None:
        proxy = upstream.url.replace("//", "//user:proxy-password@").split("/v1")[0]
        settings = replace(PATIENT, proxy=proxy)
        asked = UpstreamCall("http://models.invalid/v1/", settings=settings)
        assert (await fetch(client, asked))[1] == b"hello"
        head = upstream.requests[0].decode()
        assert head.startswith("POST http://models.invalid/v1/ HTTP/1.1\r\n")
        assert "proxy-authorization: basic " in head.lower()
        assert "password" not in repr(asked)

    beside(hello, test)


def test_a_proxy_that_refuses_the_tunnel_leaves_the_call_unsent() -> None:
    async def refusing(peer: Peer) -> None:
        assert (await peer.request()).startswith(b"CONNECT models.invalid:443 ")
        await peer.write(plain(b"", status="403 Forbidden"))
        await peer.gone()

    async def test(client: UpstreamClient, upstream: Upstream) -> None:
        settings = replace(PATIENT, proxy=upstream.url.split("/v1")[0])
        asked = UpstreamCall("https://models.invalid/v1/", settings=settings)
        found = await failure(client, asked)
        assert (found.kind, found.dispatch) == ("connect", "not-sent")
        assert found.message == "the proxy refused the connection with status 403"

    beside(refusing, test)


def test_a_proxy_that_hangs_up_leaves_the_call_unsent() -> None:
    async def leaving(peer: Peer) -> None:
        await peer.request()

    async def test(client: UpstreamClient, upstream: Upstream) -> None:
        settings = replace(PATIENT, proxy=upstream.url.split("/v1")[0])
        asked = UpstreamCall("https://models.invalid/v1/", settings=settings)
        found = await failure(client, asked)
        assert (found.kind, found.dispatch) == ("connect", "not-sent")

    beside(leaving, test)


def test_endpoints_with_equal_settings_share_a_pool_and_idle_pools_are_bounded() -> None:
    async def test(client: UpstreamClient, upstream: Upstream) -> None:
        for n in range(300):
            settings = replace(PATIENT, total_timeout_s=20 + n % 290)
            await fetch(client, UpstreamCall(upstream.url, settings=settings))
        assert 250 < upstream.connections <= 300

    async def serving(peer: Peer) -> None:
        while True:
            await peer.request()
            await peer.write(plain(b"hello"))

    beside(serving, test)


@pytest.mark.parametrize("name", ["gpt-4o", "mistralai/mistral-7b", "a b?c#d", "é:1", "..a", "%2e"])
def test_a_model_name_is_one_path_segment(name: str) -> None:
    segment = path_segment(name)
    assert unquote(segment) == name
    assert not {*segment} & {*"/?# "}


@pytest.mark.parametrize("name", ["", ".", "..", "a/../b", "../x", "a\\..\\b"])
def test_a_model_name_that_would_change_the_path_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="cannot stand in a URL path"):
        path_segment(name)
