"""The way to one address: what opens a connection to it, and how a request on one begins."""

from __future__ import annotations

import asyncio
from typing import NamedTuple

import aiohttp
from aiohttp import hdrs
from yarl import URL

from routeradmin.adapters.addresses import Policy, check_host
from routeradmin.adapters.upstream.head import added
from routeradmin.web_url import parse_base_url


class Way(NamedTuple):
    """``request`` says to the connector where to; nothing of it is ever sent but to a proxy that
    is asked for a tunnel. ``start`` are the request line and the Host header."""

    request: aiohttp.ClientRequest
    start: bytes

    @classmethod
    def to(
        cls,
        method: str,
        url: str,
        proxy: str | None,
        policy: Policy,
        loop: asyncio.AbstractEventLoop,
    ) -> Way:
        """Raises UrlRefused, ValueError. The host is looked at here, because behind a proxy no
        socket of ours would see a literal address."""
        check_host(parse_base_url(url.partition("?")[0]).host, policy)
        request = aiohttp.ClientRequest(
            method,
            URL(url, encoded=True),
            loop=loop,
            proxy=None if proxy is None else URL(proxy),
        )
        address = request.url
        through_proxy = proxy is not None and not request.is_ssl()
        target = str(address) if through_proxy else address.raw_path_qs
        if not target.isascii() or " " in target:
            raise ValueError("the URL is not encoded")
        line = f"{method} {target} HTTP/1.1\r\n".encode()
        return cls(request, line + added([("Host", request.headers[hdrs.HOST])]))

    def to_proxy(self) -> bytes:
        """The header that a proxy wants of every request it passes on, once it is known."""
        said = self.request.headers.get(hdrs.PROXY_AUTHORIZATION)
        return b"" if said is None else added([(hdrs.PROXY_AUTHORIZATION, said)])
