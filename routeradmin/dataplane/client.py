"""The client's side of an inference request: where a stream goes, and whether anybody is there."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import TYPE_CHECKING
from urllib.parse import quote

from routeradmin.adapters.alarms import Alarm, after
from routeradmin.dataplane.http import ClientGone, Header
from routeradmin.engine.outcome import Ending
from routeradmin.services import admission
from routeradmin.services.inference.interrupt import Interrupt
from routeradmin.services.keys import Key
from routeradmin.services.refusals import Stopping

if TYPE_CHECKING:
    from routeradmin.dataplane.app import Exchange
    from routeradmin.services.inference.turning import Turning

# A request that is answered sooner needs nobody to look whether its client is still there.
WATCH_AFTER_S = 0.05
_PRINTABLE = "".join(map(chr, range(0x20, 0x7F)))
_EVENT_STREAM: tuple[Header, ...] = (
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-cache"),
    (b"x-accel-buffering", b"no"),  # proxies that buffer would hold a stream back
)


class Client:
    """A sink that sends the status line with the first visible frame.

    Use as a context manager: meanwhile it watches, and fires the interrupt when the client leaves.
    """

    def __init__(self, exchange: Exchange, interrupt: Interrupt, key: Key) -> None:
        self._exchange = exchange
        self._key = key
        self._interrupt = interrupt
        self._watching: asyncio.Task[None] | None = None
        self._alarm: Alarm | None = None
        self.turning: Turning | None = None
        self.began = False

    def __enter__(self) -> Client:
        self._exchange.runtime.under_way.add(self._interrupt)
        self._alarm = after(WATCH_AFTER_S).set(self._start_watching)
        return self

    def __exit__(self, *problem: object) -> None:
        self._exchange.runtime.under_way.remove(self._interrupt)
        if self._alarm is not None:
            self._alarm.cancel()
        if self._watching is not None:
            self._watching.cancel()

    def _start_watching(self) -> None:
        self._watching = asyncio.create_task(_watch(self._exchange, self._interrupt))

    def limits(self) -> list[Header]:
        """What is left of the key's limits now."""
        runtime = self._exchange.runtime
        return admission.headers(runtime, self._key, runtime.clock())

    async def begin(self) -> None:
        turning = self.turning
        self.began = self._exchange.answered = True
        headers = [
            *_EVENT_STREAM,
            (b"x-request-id", self._exchange.request_id),
            *(turn_headers(turning) if turning is not None else ()),
            *self.limits(),
        ]
        await self._exchange.send(
            {"type": "http.response.start", "status": 200, "headers": headers}
        )

    async def write(self, data: bytes) -> None:
        await self._exchange.send({"type": "http.response.body", "body": data, "more_body": True})

    async def end(self, data: bytes) -> None:
        """The last bytes of the stream."""
        await self._exchange.send({"type": "http.response.body", "body": data})


async def _watch(exchange: Exchange, interrupt: Interrupt) -> None:
    while (await exchange.receive())["type"] != "http.disconnect":
        pass
    interrupt.fire(Ending.CANCELLED)


@contextmanager
def staying(exchange: Exchange) -> Iterator[None]:
    """Around a wait for which the client must stay: raises ClientGone when it does not, and
    Stopping when the process does not either."""
    interrupt, under_way = Interrupt(), exchange.runtime.under_way
    watching = asyncio.create_task(_watch(exchange, interrupt))
    under_way.add(interrupt)
    try:
        with interrupt:
            yield
    finally:
        under_way.remove(interrupt)
        watching.cancel()
    if interrupt.reason is Ending.STOPPED:
        raise Stopping
    if interrupt.reason is not None:
        raise ClientGone


def turn_headers(turning: Turning) -> list[Header]:
    """Which route and deployment, at which revision, after how many attempts."""
    resolved, step = turning.resolved, turning.step
    headers = [
        (b"x-routeradmin-route", header_value(resolved.route.id)),
        (b"x-routeradmin-revision", b"%d" % resolved.snapshot.revision),
        (b"x-routeradmin-attempts", b"%d" % turning.attempts),
    ]
    if step is not None:
        deployment = header_value(step.candidate.deployment.id)
        headers.append((b"x-routeradmin-deployment", deployment))
    return headers


@lru_cache(maxsize=4096)
def header_value(text: str) -> bytes:
    """What a header cannot hold is percent-encoded; ids are printable ASCII anyway."""
    return quote(text, safe=_PRINTABLE).encode()
