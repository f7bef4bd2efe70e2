"""One pool of connections per distinct endpoint settings; bounded."""

from __future__ import annotations

import asyncio
import functools
import os
import ssl
from collections import OrderedDict
from typing import Any

import aiohttp
from aiohttp.client_proto import ResponseHandler
from aiohttp.resolver import ThreadedResolver

from routeradmin.adapters.addresses import Policy
from routeradmin.adapters.alarms import after
from routeradmin.adapters.guard import GuardedResolver, GuardedSockets
from routeradmin.adapters.upstream.call import EndpointSettings
from routeradmin.adapters.upstream.failures import UpstreamFailure
from routeradmin.adapters.upstream.way import Way
from routeradmin.adapters.upstream.wire import Wire

_MAX_POOLS = 256
_MAX_WAYS = 4096


class Pool:
    """Connections, the number of calls that are using them, and their clocks.

    The connections are aiohttp's, with its parser of answers. Its session, which stands in front
    of them for browsers' needs (cookies, redirects, a task for each body, three timers a call),
    costs several times what they do, and does nothing that is wanted here.
    """

    __slots__ = ("_ways", "connector", "head", "idle", "in_flight", "settings", "timeout", "total")

    def __init__(self, connector: aiohttp.TCPConnector, settings: EndpointSettings) -> None:
        self.connector = connector
        self.settings = settings
        self.in_flight = 0
        self.timeout = aiohttp.ClientTimeout(
            connect=min(settings.connect_timeout_s, settings.total_timeout_s)
        )
        self.head = after(settings.header_timeout_s)
        self.idle = after(settings.idle_timeout_s)
        self.total = after(settings.total_timeout_s)
        self._ways: dict[tuple[str, str], Way] = {}

    def way(self, method: str, url: str, policy: Policy) -> Way:
        """Raises UrlRefused, ValueError for a URL that cannot be asked."""
        way = self._ways.get((method, url))
        if way is None:
            if len(self._ways) >= _MAX_WAYS:
                self._ways.clear()
            loop = asyncio.get_running_loop()
            way = self._ways[method, url] = Way.to(method, url, self.settings.proxy, policy, loop)
        return way


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
            pool = self._pools[key] = Pool(self._connector(settings), settings)
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
            await pool.connector.close()

    async def _close_idle(self) -> None:
        surplus = len(self._pools) - _MAX_POOLS
        idle = [key for key, pool in self._pools.items() if not pool.in_flight][: max(0, surplus)]
        for pool in [self._pools.pop(key) for key in idle]:
            await pool.connector.close()

    def _connector(self, settings: EndpointSettings) -> aiohttp.TCPConnector:
        trust: ssl.SSLContext | bool = authorities(settings.ca_file) if settings.ca_file else True
        return Connector(
            resolver=GuardedResolver(ThreadedResolver(), self._policy),
            socket_factory=GuardedSockets(self._policy),
            ssl=trust,
            limit=0,  # how many calls may run at once is decided by leases, not by a queue here
        )


def _wire(loop: asyncio.AbstractEventLoop) -> ResponseHandler:
    return Wire(loop)


class Connector(aiohttp.TCPConnector):
    """Its connections end in wires."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self._factory = functools.partial(_wire, self._loop)


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
