"""One embedding call for all texts that ask in the same tick of the event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any
from weakref import WeakKeyDictionary

from routeradmin.adapters.embeddings import Vectors

Embed = Callable[[Sequence[str]], Awaitable[Vectors]]
Asking = tuple[str, "asyncio.Future[Any]"]


class Batcher:
    """While one batch is on its way, the next gathers. ``batches`` counts those sent."""

    def __init__(self, embed: Embed) -> None:
        self._embed = embed
        # By event loop: pages ask from loops of their own.
        self._gathering: WeakKeyDictionary[asyncio.AbstractEventLoop, _Queue] = WeakKeyDictionary()
        self.batches = 0

    async def vector(self, text: str) -> Any:
        """The text's unit vector. Raises what the embedder raises."""
        loop = asyncio.get_running_loop()
        queue = self._gathering.get(loop)
        if queue is None:
            queue = self._gathering[loop] = _Queue()
        future: asyncio.Future[Any] = loop.create_future()
        queue.asking.append((text, future))
        if not queue.is_sending:
            queue.is_sending = True
            queue.task = loop.create_task(self._send(queue))
        return await future

    async def _send(self, queue: _Queue) -> None:
        """A new task runs in the next tick, when everybody of this one has asked."""
        try:
            while queue.asking:
                batch, queue.asking = queue.asking, []
                self.batches += 1
                await self._answer(batch)
        finally:
            queue.is_sending = False

    async def _answer(self, batch: list[Asking]) -> None:
        try:
            rows = await self._embed([text for text, _ in batch])
            if len(rows) != len(batch):
                raise ValueError(f"{len(rows)} vectors came for {len(batch)} texts")
        except BaseException as problem:
            for _, future in batch:
                if not future.done():
                    future.set_exception(problem)
            if not isinstance(problem, Exception):
                raise
            return
        for (_, future), row in zip(batch, rows, strict=True):
            if not future.done():
                future.set_result(row)


class _Queue:
    __slots__ = ("asking", "is_sending", "task")

    def __init__(self) -> None:
        self.asking: list[Asking] = []
        self.is_sending = False
        self.task: asyncio.Task[None] | None = None
