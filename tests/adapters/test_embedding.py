"""Races on the event loop: nothing that was cut goes on behind the caller's back."""

from __future__ import annotations

import asyncio

import pytest

from routeradmin.adapters.embedding import AsyncioRace, asyncio_ports
from routeradmin.engine.embed_ports import Cut


class Endless:
    """A coroutine that ends only when it is cancelled, and remembers that."""

    def __init__(self) -> None:
        self.cancelled = False

    async def run(self) -> str:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.cancelled = True
            raise
        return "never"


async def value() -> str:
    return "done"


async def fault() -> str:
    raise ZeroDivisionError


def raced(runner, limit_s, *, cancelled: bool = False):
    async def go():
        cancel = asyncio.Event()
        if cancelled:
            cancel.set()
        return await AsyncioRace(cancel)(runner, limit_s)

    return asyncio.run(go())


def test_what_ends_in_time_gives_its_value_or_its_fault():
    assert raced(value(), None) == "done"
    assert raced(value(), 60) == "done"
    with pytest.raises(ZeroDivisionError):
        raced(fault(), None)


@pytest.mark.parametrize(
    ("limit_s", "cancelled", "cut"), [(0, False, Cut.TIMED_OUT), (None, True, Cut.CANCELLED)]
)
def test_what_is_cut_is_cancelled_before_the_race_returns(limit_s, cancelled, cut):
    endless = Endless()
    assert raced(endless.run(), limit_s, cancelled=cancelled) is cut
    assert endless.cancelled


def test_ports_on_the_event_loop_know_whether_the_caller_gave_up():
    async def go():
        cancel = asyncio.Event()
        ports = asyncio_ports({}, cancel)
        before = ports.cancelled()
        cancel.set()
        return before, ports.cancelled(), ports.clock()

    before, after, now = asyncio.run(go())
    assert (before, after) == (False, True)
    assert now > 0
