"""A Redis behind a password, and one that speaks TLS only."""

from __future__ import annotations

import asyncio
import datetime
import ipaddress
import time
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from routeradmin.adapters.state_redis import RedisStore
from routeradmin.engine.state import Grant
from tests.engine.world import catalog, deployment
from tests.scaleout.servers import RedisServer, speaks_tls

pytestmark = pytest.mark.services

SNAPSHOT = catalog([deployment("a")])
PASSWORD = "a-long-enough-password"


async def shares(url: str) -> bool:
    store = RedisStore(url, "guarded", time.time, limit_s=2.0)
    store.bind(SNAPSHOT)
    await store.open()
    try:
        candidate = SNAPSHOT.routes["r"].candidates[0]
        assert await store.reserve(Grant(candidate, "me", 60, 0, "r"), time.time()) is not None
        return store.is_shared
    finally:
        await store.close()


def test_a_password_opens_it_and_a_wrong_one_leaves_the_process_alone(
    caplog: pytest.LogCaptureFixture,
) -> None:
    server = RedisServer("--requirepass", PASSWORD)
    try:
        server.start()
        address = f"127.0.0.1:{server.port}/0"
        assert asyncio.run(shares(f"redis://:{PASSWORD}@{address}"))
        assert not asyncio.run(shares(f"redis://:another-password@{address}"))
    finally:
        server.close()
    assert "another-password" not in caplog.text


def test_tls_with_an_authority_of_ones_own(tmp_path: Path) -> None:
    if not speaks_tls():
        pytest.skip("this server was compiled without TLS")
    certificate, key = certify(tmp_path)
    tls = ("--tls-cert-file", str(certificate), "--tls-key-file", str(key))
    server = RedisServer(*tls, "--tls-ca-cert-file", str(certificate), "--tls-auth-clients", "no")
    server.options += ("--tls-port", str(server.port), "--port", "0")
    try:
        server.start()
        url = f"rediss://127.0.0.1:{server.port}/0"
        assert asyncio.run(shares(f"{url}?ssl_ca_certs={certificate}"))
        assert not asyncio.run(shares(url)), "an unknown authority is not trusted"
    finally:
        server.close()


def certify(directory: Path) -> tuple[Path, Path]:
    """A certificate that vouches for itself, for 127.0.0.1."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "test")])
    now = datetime.datetime.now(datetime.UTC)
    here = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(hours=1))
        .add_extension(here, critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    paths = directory / "cert.pem", directory / "key.pem"
    paths[0].write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    paths[1].write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.TraditionalOpenSSL,
            serialization.NoEncryption(),
        )
    )
    return paths
