"""Serving a simulated provider: in the running event loop, or in a thread of its own."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

from routeradmin.adapters.simulated.provider import SimulatedProvider
from routeradmin.adapters.simulated.wire import Wire

START_LIMIT_S = 10
TURNS_OF_ACCEPTING = 4  # of the loop, from taking a connection to its protocol's knowing of it


@asynccontextmanager
async def running(
    port: int = 0, *, host: str = "127.0.0.1", provider: SimulatedProvider | None = None
) -> AsyncIterator[str]:
    """Serve in the current event loop; yields the base URL, without a path.

    Port 0 picks a free one. Leaving closes the listener and every connection. Raises OSError when
    the port is taken.
    """
    served = provider or SimulatedProvider()
    connections: set[Wire] = set()
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Wire(served, connections), host, port, backlog=1024)
    try:
        bound = server.sockets[0].getsockname()[1]
        yield f"http://{f'[{host}]' if ':' in host else host}:{bound}"
    finally:
        # Closing forgets what it has taken and not yet handed to a protocol.
        await _taken()
        server.close()
        await _taken()
        await asyncio.gather(*(connection.abort() for connection in list(connections)))
        await server.wait_closed()


async def _taken() -> None:
    for _ in range(TURNS_OF_ACCEPTING):
        await asyncio.sleep(0)


@contextmanager
def running_in_thread(
    port: int = 0, *, host: str = "127.0.0.1", provider: SimulatedProvider | None = None
) -> Iterator[str]:
    """Serve in a thread with a loop of its own, for callers that block; yields the base URL.

    Read ``provider.calls()`` from outside only between requests; over HTTP it is always safe.
    """
    started = threading.Event()
    found: list[str] = []
    failed: list[OSError] = []
    stop: list[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = []

    async def serve() -> None:
        leave = asyncio.Event()
        try:
            async with running(port, host=host, provider=provider) as url:
                found.append(url)
                stop.append((asyncio.get_running_loop(), leave))
                started.set()
                await leave.wait()
        except OSError as problem:
            failed.append(problem)
            started.set()

    thread = threading.Thread(target=lambda: asyncio.run(serve()), name="simulated-provider")
    thread.start()
    started.wait(START_LIMIT_S)
    if failed:
        thread.join()
        raise failed[0]
    try:
        yield found[0]
    finally:
        loop, leave = stop[0]
        loop.call_soon_threadsafe(leave.set)
        thread.join()
