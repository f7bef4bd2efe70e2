"""The asyncio side of the embedding ports: real time, and races against cancellation."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Mapping
from typing import Any, TypeVar

from routeradmin.adapters.clock import SteadyClock
from routeradmin.engine.embed_ports import Cut, Model, Ports

T = TypeVar("T")


class AsyncioRace:
    """Cuts a coroutine short when ``cancel`` is set or its time is over."""

    def __init__(self, cancel: asyncio.Event) -> None:
        self._cancel = cancel

    async def __call__(self, runner: Coroutine[Any, Any, T], limit_s: float | None) -> T | Cut:
        task = asyncio.ensure_future(runner)
        gave_up = asyncio.ensure_future(self._cancel.wait())
        try:
            await asyncio.wait(
                {task, gave_up}, timeout=limit_s, return_when=asyncio.FIRST_COMPLETED
            )
            if task.done():
                return task.result()
            return Cut.CANCELLED if self._cancel.is_set() else Cut.TIMED_OUT
        finally:
            await _finish(task, gave_up)


async def _finish(*tasks: asyncio.Future[Any]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)
    for task in tasks:
        if not task.cancelled():
            task.exception()  # what was cut may fail on its way out; nobody waits for it


def asyncio_ports(
    models: Mapping[str, Model], cancel: asyncio.Event | None = None, **more: Any
) -> Ports:
    """Ports on the running event loop; ``more`` are further fields of ``Ports``."""
    cancel = cancel or asyncio.Event()
    real: dict[str, Any] = {
        "pause": asyncio.sleep,
        "race": AsyncioRace(cancel),
        "clock": SteadyClock(),
        "cancelled": cancel.is_set,
    }
    return Ports(models=models, **{**real, **more})
