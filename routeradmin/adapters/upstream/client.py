"""The client: one call in, one answer or one UpstreamFailure out."""

from __future__ import annotations

from types import TracebackType

from routeradmin.adapters.addresses import Policy
from routeradmin.adapters.upstream.answer import UpstreamAnswer
from routeradmin.adapters.upstream.call import UpstreamCall
from routeradmin.adapters.upstream.failures import LIBRARY_ERRORS, UpstreamFailure, failure_of
from routeradmin.adapters.upstream.line import Line
from routeradmin.adapters.upstream.pools import Pool, Pools
from routeradmin.web_url import UrlRefused


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

    __slots__ = ("_call", "_line", "_policy", "_pool", "_pools")

    def __init__(self, pools: Pools, policy: Policy, call: UpstreamCall) -> None:
        self._pools = pools
        self._policy = policy
        self._call = call
        self._pool: Pool | None = None
        self._line: Line | None = None

    async def __aenter__(self) -> UpstreamAnswer:
        call = self._call
        self._pool = pool = await self._pools.take(call.settings)
        try:
            way = pool.way(call.method, call.url, self._policy)
        except (UrlRefused, ValueError) as problem:
            self._give_back()
            text = str(problem) if isinstance(problem, UrlRefused) else "the URL is malformed"
            raise UpstreamFailure("refused-address", "not-sent", text) from None
        self._line = line = Line(pool, way)
        try:
            message, content = await line.ask(call)
        except BaseException as problem:
            self._give_back()
            if isinstance(problem, (*LIBRARY_ERRORS, ValueError)):
                raise failure_of(problem, line.dispatch, expired=line.expired) from None
            raise
        return UpstreamAnswer(message.code, message.headers, content, line)

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._give_back()

    def _give_back(self) -> None:
        if self._pool is not None:
            self._pool.in_flight -= 1
            self._pool = None
        if self._line is not None:
            self._line.abort()
