"""Many waits on one timer: each rings once, in its time, unless it is cancelled."""

from __future__ import annotations

import asyncio

from routeradmin.adapters.alarms import Alarms


def test_each_alarm_rings_once_and_in_order() -> None:
    async def scenario() -> list[int]:
        alarms, rung, all_rung = Alarms(0.002), [], asyncio.Event()
        for number in range(5):
            alarms.set(lambda number=number: rung.append(number))  # type: ignore[misc]
        alarms.set(all_rung.set)
        await asyncio.wait_for(all_rung.wait(), 10)
        await asyncio.sleep(0.005)
        return rung

    assert asyncio.run(scenario()) == [0, 1, 2, 3, 4]


def test_none_rings_early() -> None:
    async def scenario() -> float:
        loop, rung = asyncio.get_running_loop(), asyncio.Event()
        started = loop.time()
        Alarms(0.02).set(rung.set)
        await asyncio.wait_for(rung.wait(), 10)
        return loop.time() - started

    assert asyncio.run(scenario()) >= 0.02


def test_a_cancelled_alarm_is_silent_and_does_not_silence_the_others() -> None:
    async def scenario() -> list[str]:
        alarms, rung, last = Alarms(0.002), [], asyncio.Event()
        first = alarms.set(lambda: rung.append("first"))
        alarms.set(lambda: rung.append("second"))
        first.cancel()
        first.cancel()
        alarms.set(last.set)
        await asyncio.wait_for(last.wait(), 10)
        return rung

    assert asyncio.run(scenario()) == ["second"]


def test_one_that_rings_may_cancel_another_that_is_due_with_it() -> None:
    async def scenario() -> list[str]:
        alarms, rung, last = Alarms(0.002), [], asyncio.Event()
        alarms.set(lambda: second.cancel())
        second = alarms.set(lambda: rung.append("second"))
        alarms.set(last.set)
        await asyncio.wait_for(last.wait(), 10)
        return rung

    assert asyncio.run(scenario()) == []


def test_alarms_outlive_the_event_loop_they_were_used_on() -> None:
    alarms = Alarms(0.002)

    async def scenario() -> None:
        rung = asyncio.Event()
        alarms.set(rung.set)
        await asyncio.wait_for(rung.wait(), 10)
        alarms.set(rung.set)  # still waits when its loop ends

    for _ in range(3):
        asyncio.run(scenario())


def test_a_new_wait_begins_after_all_earlier_ones_are_over() -> None:
    async def scenario() -> int:
        alarms, count = Alarms(0.002), 0
        for _ in range(3):
            rung = asyncio.Event()
            alarms.set(rung.set)
            await asyncio.wait_for(rung.wait(), 10)
            count += 1
        return count

    assert asyncio.run(scenario()) == 3
