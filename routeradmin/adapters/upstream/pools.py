"""One session with its connection pool per distinct endpoint settings; bounded."""

from __future__ import annotations

import os
import ssl
from collections import OrderedDict

import aiohttp
from aiohttp.resolver import ThreadedResolver

from routeradmin.adapters.addresses import Policy
from routeradmin.adapters.guard import GuardedResolver, GuardedSockets
from routeradmin.adapters.upstream.attempt import NotingRequest
from routeradmin.adapters.upstream.call import EndpointSettings
from routeradmin.adapters.upstream.failures import UpstreamFailure

_MAX_POOLS = 256
_MAX_HEAD_FIELD_BYTES = 64 * 1024
_MAX_HEAD_FIELDS = 512
_READ_BUFFER_BYTES = 256 * 1024

# Decompression costs the event loop more than it saves, and can hold back a stream's first frame.
# An upstream that compresses all the same is understood.
_DEFAULT_HEADERS = {"user-agent": "routeradmin", "accept": "*/*", "accept-encoding": "identity"}


class Pool:
    """A session and the number of calls that are using it."""

    __slots__ = ("in_flight", "session", "timeout")

    def __init__(self, session: aiohttp.ClientSession, settings: EndpointSettings) -> None:
        self.session = session
        self.in_flight = 0
        self.timeout = aiohttp.ClientTimeout(
            total=settings.total_timeout_s, connect=settings.connect_timeout_s
        )


class Pools:
    """Makes pools as they are asked for; the least recently used idle ones go beyond the bound."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._pools: OrderedDict[tuple[EndpointSettings, object], Pool] = OrderedDict()

    async def take(self, settings: EndpointSettings) -> Pool:
        """The pool for these settings, with one more call in flight: give it back by counting
        `in_flight` down. Raises UpstreamFailure where the CA file cannot be used."""
        key = (settings, _file_version(settings.ca_file) if settings.ca_file else None)
        pool = self._pools.get(key)
        known = pool is not None
        if pool is None:
            pool = self._pools[key] = Pool(self._session(settings), settings)
        self._pools.move_to_end(key)
        pool.in_flight += 1
        if not known:
            try:
                await self._close_idle()
            except BaseException:
                pool.in_flight -= 1
                raise
        return pool

    async def close(self) -> None:
        pools, self._pools = self._pools, OrderedDict()
        for pool in pools.values():
            await pool.session.close()

    async def _close_idle(self) -> None:
        surplus = len(self._pools) - _MAX_POOLS
        idle = [key for key, pool in self._pools.items() if not pool.in_flight][: max(0, surplus)]
        for pool in [self._pools.pop(key) for key in idle]:
            await pool.session.close()

    def _session(self, settings: EndpointSettings) -> aiohttp.ClientSession:
        trust: ssl.SSLContext | bool = authorities(settings.ca_file) if settings.ca_file else True
        connector = aiohttp.TCPConnector(
            resolver=GuardedResolver(ThreadedResolver(), self._policy),
            socket_factory=GuardedSockets(self._policy),
            ssl=trust,
            limit=0,  # how many calls may run at once is decided by leases, not by a queue here
        )
        session = aiohttp.ClientSession(
            connector=connector,
            request_class=NotingRequest,
            cookie_jar=aiohttp.DummyCookieJar(),
            headers=_DEFAULT_HEADERS,
            skip_auto_headers=("content-type",),
            trust_env=False,
            proxy=settings.proxy,
            max_line_size=_MAX_HEAD_FIELD_BYTES,
            max_field_size=_MAX_HEAD_FIELD_BYTES,
            max_headers=_MAX_HEAD_FIELDS,
            read_bufsize=_READ_BUFFER_BYTES,
        )
        # aiohttp repeats a GET whose connection breaks; here one call is one request on the wire.
        session._retry_connection = False
        return session


def _file_version(path: str) -> object:
    """Changes when the file does, so that a renewed authority is read without a restart."""
    try:
        found = os.stat(path)
    except OSError as problem:
        raise UpstreamFailure("tls", "not-sent", "the CA file cannot be read") from problem
    return found.st_mtime_ns, found.st_ino, found.st_size


def authorities(path: str) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=path)
    except OSError as problem:
        raise UpstreamFailure("tls", "not-sent", "the CA file holds no certificate") from problem
