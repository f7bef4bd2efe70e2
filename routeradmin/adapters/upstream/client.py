"""The client: one call in, one answer or one UpstreamFailure out."""

from __future__ import annotations

import io
from functools import lru_cache
from types import TracebackType

import aiohttp
from multidict import CIMultiDict
from yarl import URL

from routeradmin.adapters.addresses import Policy, check_host
from routeradmin.adapters.upstream.answer import UpstreamAnswer
from routeradmin.adapters.upstream.attempt import Attempt, running
from routeradmin.adapters.upstream.call import UpstreamCall
from routeradmin.adapters.upstream.failures import UpstreamFailure, failure_of
from routeradmin.adapters.upstream.pools import Pool, Pools
from routeradmin.web_url import UrlRefused, parse_base_url

# Above this aiohttp warns of bytes and wants a file, which it writes in pieces.
_LARGE_BODY_BYTES = 1024 * 1024
_MADE_HERE = ("content-length", "transfer-encoding", "host")


class UpstreamClient:
    """Keeps connections open between calls; belongs to the event loop it is first used on."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._pools = Pools(policy)

    def send(self, call: UpstreamCall) -> Sending:
        """Use as `async with client.send(call) as answer`.

        Leaving the block before the body has ended, by cancellation too, cuts the connection at
        once; otherwise it goes back to the pool. Entering raises UpstreamFailure.
        """
        return Sending(self._pools, self._policy, call)

    async def close(self) -> None:
        await self._pools.close()


class Sending:
    """One call between being sent and being done with."""

    __slots__ = ("_attempt", "_call", "_policy", "_pool", "_pools", "_response")

    def __init__(self, pools: Pools, policy: Policy, call: UpstreamCall) -> None:
        self._pools = pools
        self._policy = policy
        self._call = call
        self._attempt = Attempt(call.settings.header_timeout_s)
        self._pool: Pool | None = None
        self._response: aiohttp.ClientResponse | None = None

    async def __aenter__(self) -> UpstreamAnswer:
        try:
            url = _checked(self._call.url, self._policy)
        except (UrlRefused, ValueError) as problem:
            text = str(problem) if isinstance(problem, UrlRefused) else "the URL is malformed"
            raise UpstreamFailure("refused-address", "not-sent", text) from None
        self._pool = await self._pools.take(self._call.settings)
        try:
            self._response = response = await self._request(self._pool, url)
        except BaseException as problem:
            self._give_back()
            if isinstance(problem, (aiohttp.ClientError, OSError, ValueError)):
                attempt = self._attempt
                raise failure_of(
                    problem, attempt.dispatch, head_expired=attempt.head_expired
                ) from None
            raise
        self._watch_for_silence(response)
        return UpstreamAnswer(response, self._attempt)

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._give_back()

    async def _request(self, pool: Pool, url: URL) -> aiohttp.ClientResponse:
        call = self._call
        headers = CIMultiDict(call.headers)
        for name in _MADE_HERE:
            headers.popall(name, None)
        body = call.body if len(call.body) < _LARGE_BODY_BYTES else io.BytesIO(call.body)
        token = running.set(self._attempt)
        try:
            response = await pool.session.request(
                call.method,
                url,
                headers=headers,
                data=body or None,
                allow_redirects=False,
                timeout=pool.timeout,
            )
        finally:
            running.reset(token)
        self._attempt.head_arrived()
        return response

    def _watch_for_silence(self, response: aiohttp.ClientResponse) -> None:
        connection = response.connection
        protocol = connection.protocol if connection is not None else None
        if protocol is not None:  # else the body is complete already
            protocol.read_timeout = self._call.settings.idle_timeout_s
            protocol.start_timeout()

    def _give_back(self) -> None:
        if self._pool is not None:
            self._pool.in_flight -= 1
            self._pool = None
        response, self._response = self._response, None
        if response is None:
            self._attempt.abort()
        elif response.connection is not None:
            self._attempt.abort()
            response.close()


@lru_cache(maxsize=4096)
def _checked(url: str, policy: Policy) -> URL:
    """The URL, unchanged, after a look at its host: behind a proxy no socket of ours would see a
    literal address."""
    check_host(parse_base_url(url.partition("?")[0]).host, policy)
    return URL(url, encoded=True)
