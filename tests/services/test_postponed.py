"""Reports of leases that were out of reach: kept in order, told once, given up in the end."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, cast

import pytest

from routeradmin.engine.state import LeaseFenced, LeaseNotFound
from routeradmin.services import postponed, postponing
from routeradmin.services.peers import Peers
from routeradmin.services.postponed import MOST, TRIED_S, Postponed
from routeradmin.services.runtime import Runtime

Tell = Callable[[], Coroutine[Any, Any, None]]


def telling(name: str, told: list[str], *raised: BaseException) -> Tell:
    """Notes each try; raises what is given, one a try."""
    left = list(raised)

    async def tell() -> None:
        told.append(name)
        if left:
            raise left.pop(0)

    return tell


def test_what_waits_is_told_once_and_in_order() -> None:
    waiting, told = Postponed(), []
    for name in "abc":
        waiting.add(telling(name, told), now=0.0)
    asyncio.run(waiting.tell(sure_for_s=0.0, now=1.0))
    asyncio.run(waiting.tell(sure_for_s=1.0, now=2.0))
    assert told == ["a", "b", "c"]
    assert len(waiting) == 0


def test_a_lease_that_is_still_unknown_is_asked_for_again() -> None:
    waiting, told = Postponed(), []
    waiting.add(telling("a", told, LeaseNotFound("not yet")), now=0.0)
    asyncio.run(waiting.tell(sure_for_s=0.0, now=1.0))
    assert len(waiting) == 1
    asyncio.run(waiting.tell(sure_for_s=1.0, now=2.0))
    assert told == ["a", "a"]
    assert len(waiting) == 0


def test_a_lease_that_never_was_is_given_up() -> None:
    waiting, told = Postponed(), []
    waiting.add(telling("a", told, LeaseNotFound("never")), now=0.0)
    asyncio.run(waiting.tell(sure_for_s=TRIED_S, now=1.0))
    assert (len(waiting), waiting.dropped) == (0, 1)


def test_a_lease_that_ran_out_meanwhile_holds_up_nobody() -> None:
    waiting, told = Postponed(), []
    waiting.add(telling("a", told, LeaseFenced("over")), now=0.0)
    waiting.add(telling("b", told), now=0.0)
    asyncio.run(waiting.tell(sure_for_s=0.0, now=1.0))
    assert told == ["a", "b"]


def test_what_is_cut_off_while_it_is_told_still_waits_in_front() -> None:
    waiting, told = Postponed(), []
    waiting.add(telling("a", told, asyncio.CancelledError()), now=0.0)
    waiting.add(telling("b", told), now=0.0)
    with pytest.raises(asyncio.CancelledError):
        asyncio.run(waiting.tell(sure_for_s=0.0, now=1.0))
    asyncio.run(waiting.tell(sure_for_s=0.0, now=2.0))
    assert told == ["a", "a", "b"]


def test_what_is_cut_off_twice_while_it_is_told_still_waits() -> None:
    """A job whose time is over, and then the stop."""
    waiting, told = Postponed(), list[str]()

    async def test() -> None:
        asked, answered = asyncio.Event(), asyncio.Event()

        async def slow() -> None:
            told.append("a")
            asked.set()
            await answered.wait()
            raise LeaseNotFound("not yet")

        waiting.add(slow, now=0.0)
        telling = asyncio.create_task(waiting.tell(sure_for_s=0.0, now=1.0))
        await asked.wait()
        for _ in range(2):
            telling.cancel()
            await asyncio.wait({telling}, timeout=0)
        answered.set()
        with pytest.raises(asyncio.CancelledError):
            await telling

    asyncio.run(test())
    assert (told, len(waiting)) == (["a"], 1)


def test_beyond_the_bound_reports_are_dropped_and_counted() -> None:
    waiting, told = Postponed(), []
    for _ in range(MOST + 2):
        waiting.add(telling("a", told), now=0.0)
    assert (len(waiting), waiting.dropped) == (postponed.MOST, 2)


def test_what_is_cut_off_while_redis_keeps_it_is_carried_through() -> None:
    waiting, told = Postponed(), []

    async def story() -> None:
        is_kept = asyncio.Event()

        async def tell() -> None:
            await is_kept.wait()
            told.append("a")

        waiting.add(tell, now=0.0)
        telling = asyncio.create_task(waiting.tell(sure_for_s=0.0, now=1.0))
        await asyncio.sleep(0)
        telling.cancel()
        await asyncio.sleep(0)
        is_kept.set()
        with pytest.raises(asyncio.CancelledError):
            await telling

    asyncio.run(story())
    assert told == ["a"]
    assert len(waiting) == 0


class Last:
    """The last moments of a process: ``redis`` says when it answers, in seconds from now, and
    from when on all is known. Its pauses take no time."""

    def __init__(self, runtime: Runtime, answers_s: float, knows_s: float) -> None:
        self.now, self.answers_s, self.knows_s = 0.0, answers_s, knows_s
        runtime.peers = cast(Peers, self)
        runtime.sleep = self.sleep
        self.store = self

    async def sleep(self, seconds: float) -> None:
        self.now += seconds

    def steady(self) -> float:
        return self.now

    @property
    def is_shared(self) -> bool:
        return self.now >= self.answers_s

    @property
    def knows_all_for_s(self) -> float:
        return self.now - self.knows_s


def test_all_of_it_is_told_before_the_process_ends(bare_runtime: Runtime) -> None:
    told: list[str] = []
    for _ in range(postponed.MOST_AT_ONCE + 1):
        bare_runtime.postponed.add(telling("a", told), now=0.0)
    last = Last(bare_runtime, answers_s=0.0, knows_s=0.0)
    asyncio.run(postponing.tell_last(bare_runtime))
    assert len(told) == postponed.MOST_AT_ONCE + 1
    assert last.now == 0


def test_a_redis_that_is_away_at_the_end_is_waited_for_until_all_is_known(
    bare_runtime: Runtime,
) -> None:
    told: list[str] = []
    last = Last(bare_runtime, answers_s=1.0, knows_s=3.0)
    asyncio.run(postponing.tell_last(bare_runtime))
    assert last.now == pytest.approx(1.0, abs=0.11)  # to say that this process is gone
    last.now = 0.0
    unknown = [LeaseNotFound("not yet") for _ in range(15)]
    bare_runtime.postponed.add(telling("a", told, *unknown), now=0.0)
    asyncio.run(postponing.tell_last(bare_runtime))
    assert len(bare_runtime.postponed) == 0
    assert 2 < last.now < 3


@pytest.mark.parametrize(("answers_s", "tries"), [(float("inf"), 0), (0.0, 21)])
def test_what_stays_unknown_at_the_end_is_said_to_be_lost(
    bare_runtime: Runtime, caplog: pytest.LogCaptureFixture, answers_s: float, tries: int
) -> None:
    told: list[str] = []
    never = [LeaseNotFound("never") for _ in range(99)]
    bare_runtime.postponed.add(telling("a", told, *never), now=0.0)
    last = Last(bare_runtime, answers_s, knows_s=2.0)
    asyncio.run(postponing.tell_last(bare_runtime))
    assert "1 reports of leases out of reach are lost" in caplog.text
    assert last.now == pytest.approx(2.0 if tries else postponing.LAST_S, abs=0.11)
    assert abs(len(told) - tries) <= 1


@pytest.mark.parametrize(
    ("unknown", "knows_s", "found", "after_s"),
    [
        (0, 0.0, True, 0.0),
        (1, 0.0, True, 0.25),
        (2, 0.0, True, 1.0),
        (3, 0.0, False, 1.0),  # nobody granted it
        (3, 9.0, None, 0.0),  # somebody may have, and is out of reach
    ],
)
def test_a_lease_that_another_process_just_granted_alone_is_waited_for(
    bare_runtime: Runtime, unknown: int, knows_s: float, found: bool | None, after_s: float
) -> None:
    left = [LeaseNotFound("not yet")] * unknown

    async def released(*_: object) -> dict[str, Any]:
        if left:
            raise left.pop()
        return {"released": True}

    async def story() -> dict[str, Any] | None:
        return await postponing.now_or_later(bare_runtime, released)

    last = Last(bare_runtime, answers_s=0.0, knows_s=knows_s)
    if found is False:
        with pytest.raises(LeaseNotFound):
            asyncio.run(story())
    else:
        assert asyncio.run(story()) == ({"released": True} if found else None)
    assert last.now == after_s
    assert len(bare_runtime.postponed) == (found is None)


def test_many_are_told_in_turns_so_that_requests_get_in_between() -> None:
    waiting, told = Postponed(), []
    for _ in range(postponed.MOST_AT_ONCE + 1):
        waiting.add(telling("a", told), now=0.0)
    asyncio.run(waiting.tell(sure_for_s=-1.0, now=1.0))
    assert (len(told), len(waiting)) == (postponed.MOST_AT_ONCE, 1)
