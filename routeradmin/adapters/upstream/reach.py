"""The way to an endpoint, walked step by step: name, connection, TLS. For tests of connections;
calls go through the client, which does the same and keeps what it opened."""

from __future__ import annotations

import asyncio
import socket
import ssl
from contextlib import suppress

from routeradmin.adapters.addresses import AddressRefused, Policy, check_address, check_host
from routeradmin.adapters.upstream.failures import UpstreamFailure, errno_text, tls_fault
from routeradmin.adapters.upstream.pools import authorities


async def look_up(host: str, port: int, policy: Policy) -> list[str]:
    """The addresses a call would use, the first one first.

    Raises UpstreamFailure: ``dns``, or ``refused-address`` where the policy leaves none.
    """
    try:
        check_host(host, policy)
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except AddressRefused as refused:
        raise UpstreamFailure("refused-address", "not-sent", str(refused)) from None
    except (OSError, UnicodeError):
        text = "the upstream's host name was not found: check the base URL"
        raise UpstreamFailure("dns", "not-sent", text) from None
    allowed: list[str] = []
    refusal = "the name has no address"
    for address in dict.fromkeys(str(entry[4][0]) for entry in found):
        try:
            check_address(address, policy)
            allowed.append(address)
        except AddressRefused as refused:
            refusal = str(refused)
    if not allowed:
        raise UpstreamFailure("refused-address", "not-sent", refusal)
    return allowed


class Line:
    """One connection that carries nothing. Use as ``async with Line() as line``."""

    def __init__(self) -> None:
        self._writer: asyncio.StreamWriter | None = None

    async def __aenter__(self) -> Line:
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._writer is not None:
            self._writer.transport.abort()

    async def connect(self, addresses: list[str], port: int) -> str:
        """The first address that answers. Raises UpstreamFailure ``connect``."""
        fault = "no answer"
        for address in addresses:
            try:
                _, self._writer = await asyncio.open_connection(address, port)
                return address
            except OSError as problem:
                fault = errno_text(problem)
        raise UpstreamFailure("connect", "not-sent", f"no connection: {fault}")

    async def secure(self, host: str, ca_file: str | None) -> str:
        """The TLS version agreed on. Raises UpstreamFailure ``tls``."""
        assert self._writer is not None, "secured before it was connected"  # noqa: S101
        context = authorities(ca_file) if ca_file else ssl.create_default_context()
        try:
            await self._writer.start_tls(context, server_hostname=host)
        except ssl.SSLError as problem:
            raise UpstreamFailure("tls", "not-sent", tls_fault(problem)) from None
        except OSError as problem:
            text = f"the connection broke during the TLS handshake: {errno_text(problem)}"
            raise UpstreamFailure("tls", "not-sent", text) from None
        agreed = self._writer.get_extra_info("ssl_object")
        with suppress(AttributeError):
            return str(agreed.version())
        return ""
