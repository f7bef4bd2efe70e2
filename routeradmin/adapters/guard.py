"""The address rule at connect time, for aiohttp.

A name is judged by the addresses it resolves to, and those very addresses are connected to, so an
answer that changes between check and use (DNS rebinding) gains nothing. aiohttp asks no resolver
for literal addresses; the socket factory sees every address just before it is used.
"""

from __future__ import annotations

import socket

from aiohttp.abc import AbstractResolver, ResolveResult
from aiohttp.connector import AddrInfoType

from routeradmin.adapters.addresses import AddressRefused, Policy, check_address, check_host


class ConnectionRefusedByPolicy(OSError):
    """Raised inside the connector, which passes OSErrors on; the cause is an AddressRefused."""


class GuardedResolver(AbstractResolver):
    """Resolves names and keeps the addresses that the policy allows."""

    def __init__(self, inner: AbstractResolver, policy: Policy) -> None:
        self._inner = inner
        self._policy = policy

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        """Raises ConnectionRefusedByPolicy where no address is left, OSError where none was."""
        try:
            check_host(host, self._policy)
        except AddressRefused as refused:
            raise ConnectionRefusedByPolicy from refused
        refusal: AddressRefused | None = None
        kept: list[ResolveResult] = []
        for answer in await self._inner.resolve(host, port, family):
            try:
                check_address(answer["host"], self._policy)
                kept.append(answer)
            except AddressRefused as refused:
                refusal = refused
        if kept:
            return kept
        if refusal is not None:
            raise ConnectionRefusedByPolicy from refusal
        raise OSError("the name has no address")

    async def close(self) -> None:
        await self._inner.close()


class GuardedSockets:
    """A socket factory for aiohttp's connector that refuses addresses outside the policy."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy

    def __call__(self, addr_info: AddrInfoType) -> socket.socket:
        family, kind, proto, _, address = addr_info
        try:
            check_address(str(address[0]), self._policy)
        except AddressRefused as refused:
            raise ConnectionRefusedByPolicy from refused
        return socket.socket(family=family, type=kind, proto=proto)
