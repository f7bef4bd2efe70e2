"""One embedding call for all texts that ask in the same tick of the event loop, and one for what
many want at the same time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
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


class Once:
    """One call for all who ask while it is under way; who asks later has it made again.

    A caller that leaves does not take the call from the others.
    """

    def __init__(self, make: Callable[[], Coroutine[Any, Any, Vectors]]) -> None:
        self._make = make
        # By event loop, as above.
        self._calls: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Task[Vectors]] = (
            WeakKeyDictionary()
        )

    async def __call__(self) -> Vectors:
        """Raises what the call raises."""
        loop = asyncio.get_running_loop()
        call = self._calls.get(loop)
        if call is None or call.done():
            call = self._calls[loop] = loop.create_task(self._make())
            call.add_done_callback(_heard)
        return await asyncio.shield(call)


def _heard(call: asyncio.Task[Vectors]) -> None:
    """Whoever asked was told of its failure; where nobody is left there is nobody to tell."""
    if not call.cancelled():
        call.exception()


class _Queue:
    __slots__ = ("asking", "is_sending", "task")

    def __init__(self) -> None:
        self.asking: list[Asking] = []
        self.is_sending = False
        self.task: asyncio.Task[None] | None = None
