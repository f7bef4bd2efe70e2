"""The demo: simulated providers inside this process, their troubles, and light traffic to them."""

from __future__ import annotations

import asyncio
import logging
from contextlib import AsyncExitStack
from urllib.parse import urlsplit

from asgiref.sync import sync_to_async

from routeradmin.adapters.simulated import SimulatedProvider, running
from routeradmin.services import demo_catalog
from routeradmin.services.runtime import Runtime
from routeradmin.worker.demo_scenes import Director
from routeradmin.worker.demo_traffic import Traffic
from routeradmin.worker.loop import Job

log = logging.getLogger(__name__)


class Demo:
    """Opened before the worker starts, closed by it."""

    def __init__(self) -> None:
        self._open = AsyncExitStack()
        self._traffic: Traffic | None = None

    async def open(self, runtime: Runtime) -> tuple[Job, ...]:
        """Start the providers, put the demo's catalog in place where there is room for it.

        Returns the jobs that play it; none where the catalog holds nothing of the demo.
        """
        models = [model.upstream_name for model in demo_catalog.fixture().models]
        provider = SimulatedProvider(models=models)
        port = await self._serve(provider, demo_catalog.port_in(runtime.current.document))
        if not await sync_to_async(demo_catalog.put_in_place)(port):
            log.warning("the catalog is not empty and holds nothing of the demo: it stays as it is")
            await self.close()
            runtime.is_demo = False
            return ()
        director, self._traffic = Director(provider, runtime.clock()), Traffic(port, runtime.clock)
        return (
            Job("demo: troubles", 0.25, director.tick),
            Job("demo: traffic", 0.1, self._traffic.tick, close=self.close),
        )

    async def _serve(self, provider: SimulatedProvider, preferred_port: int) -> int:
        """The same port as last time where it is free, so that a start changes no catalog."""
        try:
            url = await self._open.enter_async_context(running(preferred_port, provider=provider))
        except OSError:
            url = await self._open.enter_async_context(running(0, provider=provider))
        return urlsplit(url).port or 0

    async def close(self) -> None:
        """Callers first, then those they call."""
        if self._traffic is not None:
            await self._traffic.stop()
        await asyncio.shield(self._open.aclose())
