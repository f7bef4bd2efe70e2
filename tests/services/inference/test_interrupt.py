"""What ends a wait from outside."""

from __future__ import annotations

import asyncio

import pytest

from routeradmin.engine.outcome import Ending
from routeradmin.services.inference.interrupt import Interrupt


def test_a_wait_ends_when_it_is_fired() -> None:
    async def scenario() -> list[object]:
        interrupt, after = Interrupt(), []
        asyncio.get_running_loop().call_soon(interrupt.fire, Ending.CANCELLED)
        with interrupt:
            await asyncio.Event().wait()
            after.append("not reached")
        interrupt.fire(Ending.DEADLINE)
        await asyncio.sleep(0)
        return [*after, interrupt.reason]

    assert asyncio.run(scenario()) == [Ending.CANCELLED]


def test_one_that_fired_before_ends_the_next_wait() -> None:
    async def scenario() -> bool:
        interrupt = Interrupt()
        interrupt.at(0)
        await asyncio.sleep(0.01)
        with interrupt:
            await asyncio.Event().wait()
        return interrupt.reason is Ending.DEADLINE

    assert asyncio.run(scenario())


def test_an_answer_in_time_is_not_touched() -> None:
    async def scenario() -> str:
        interrupt = Interrupt()
        interrupt.at(60)
        with interrupt:
            await asyncio.sleep(0)
        interrupt.close()
        return "done" if interrupt.reason is None else "interrupted"

    assert asyncio.run(scenario()) == "done"


def test_cancellation_from_elsewhere_passes_through() -> None:
    async def scenario() -> None:
        interrupt = Interrupt()
        task = asyncio.current_task()
        assert task is not None
        asyncio.get_running_loop().call_soon(task.cancel)
        with interrupt:
            await asyncio.Event().wait()

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(scenario())


def test_both_at_once_end_the_task() -> None:
    async def scenario() -> None:
        interrupt = Interrupt()
        task = asyncio.current_task()
        assert task is not None
        loop = asyncio.get_running_loop()
        loop.call_soon(interrupt.fire, Ending.CANCELLED)
        loop.call_soon(task.cancel)
        with interrupt:
            await asyncio.Event().wait()

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(scenario())
