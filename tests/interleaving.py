"""Coroutines that go on one at a time, in an order that a test chooses: every order, if it likes.

Whoever reaches a gate is held there until everybody else is at one (or done); then one is let
through. What runs between two gates runs alone, so an order of choices decides everything.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

from routeradmin.adapters.state_memory import MemoryStore
from routeradmin.adapters.state_redis import RedisStore
from routeradmin.adapters.state_redis.link import Answer, Link, Step

Choose = Callable[[int], int]
Story = Callable[[Choose], Awaitable[None]]
Wire = Callable[[], Awaitable[None]]
LONG_S = 5.0  # no test is about a slow Redis


class Gates:
    """``choose`` gets how many could go on and says which does, in the order they were started.

    Before ``together`` and after it every gate is open."""

    def __init__(self, choose: Choose) -> None:
        self._choose = choose
        self._live: list[asyncio.Task[Any]] = []
        self._held: dict[asyncio.Task[Any], asyncio.Future[None]] = {}

    async def together(self, *asked: Coroutine[Any, Any, Any]) -> list[Any]:
        """What each of them came to, or raised."""
        loop = asyncio.get_running_loop()
        self._live = [loop.create_task(self._begin(one)) for one in asked]
        for task in self._live:
            task.add_done_callback(lambda _: self._look())
        return await asyncio.gather(*self._live, return_exceptions=True)

    async def _begin(self, asked: Coroutine[Any, Any, Any]) -> Any:
        await self.gate()
        return await asked

    async def gate(self) -> None:
        task = asyncio.current_task()
        if task is None or task not in self._live:
            return
        turn = self._held[task] = asyncio.get_running_loop().create_future()
        self._look()
        await turn
        del self._held[task]

    def _look(self) -> None:
        live = [task for task in self._live if not task.done()]
        waiting = [task for task in live if task in self._held and not self._held[task].done()]
        if live and len(waiting) == len(live):
            self._held[waiting[self._choose(len(waiting))]].set_result(None)


def in_every_order(story: Story) -> int:
    """Tell the story once for each order there is; how many that were."""
    to_come: list[list[int]] = [[]]
    told = 0
    with asyncio.Runner() as runner:
        while to_come:
            order = to_come.pop()
            taken: list[tuple[int, int]] = []

            def choose(options: int) -> int:
                at = len(taken)  # noqa: B023
                choice = order[at] if at < len(order) else 0  # noqa: B023
                taken.append((choice, options))  # noqa: B023
                return choice

            try:
                runner.run(story(choose))  # type: ignore[arg-type]
            except BaseException as problem:
                problem.add_note(f"in the order {[choice for choice, _ in taken]}")
                raise
            told += 1
            for at in range(len(order), len(taken)):
                for other in range(1, taken[at][1]):
                    to_come.append([choice for choice, _ in taken[:at]] + [other])
    return told


class DistantStore(MemoryStore):
    """A store over a wire: whoever asks waits until ``wire`` took the question there, and again
    until it brought the answer back."""

    def __init__(self, wire: Wire) -> None:
        super().__init__()
        self._wire = wire

    async def _over(self, asked: Coroutine[Any, Any, Any]) -> Any:
        try:
            await self._wire()
        except BaseException:
            asked.close()
            raise
        try:
            return await asked
        finally:
            await self._wire()

    async def reserve(self, *asked: Any) -> Any:
        return await self._over(super().reserve(*asked))

    async def recount(self, *asked: Any) -> Any:
        return await self._over(super().recount(*asked))

    async def renew(self, *asked: Any) -> Any:
        return await self._over(super().renew(*asked))

    async def release(self, *asked: Any) -> Any:
        return await self._over(super().release(*asked))

    async def settle(self, *asked: Any) -> Any:
        return await self._over(super().settle(*asked))

    async def lease(self, *asked: Any) -> Any:
        return await self._over(super().lease(*asked))

    async def phase(self, *asked: Any) -> Any:
        return await self._over(super().phase(*asked))

    async def load_turn(self, *asked: Any) -> Any:
        return await self._over(super().load_turn(*asked))

    async def save_turn(self, *asked: Any) -> Any:
        return await self._over(super().save_turn(*asked))


class GatedRedisStore(RedisStore):
    """One process's store whose every question passes ``there`` on its way to Redis, and whose
    answers pass ``back``."""

    def __init__(
        self, url: str, prefix: str, clock: Callable[[], float], there: Wire, back: Wire
    ) -> None:
        super().__init__(url, prefix, clock)
        self.link = GatedLink(url, prefix, self._join, self._part, LONG_S)
        self.link.there, self.link.back = there, back


class GatedLink(Link):
    there: Wire
    back: Wire

    async def call(self, step: Step) -> Answer:
        await self.there()
        try:
            return await super().call(step)
        finally:
            await self.back()


async def straight() -> None:
    """A wire without a gate."""
