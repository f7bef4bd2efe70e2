"""Reports of leases that were out of reach: kept in order, told once, given up in the end."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from types import SimpleNamespace
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


def test_beyond_the_bound_reports_are_dropped_and_counted() -> None:
    waiting, told = Postponed(), []
    for _ in range(MOST + 2):
        waiting.add(telling("a", told), now=0.0)
    assert (len(waiting), waiting.dropped) == (postponed.MOST, 2)


def test_all_of_it_is_told_before_the_process_ends(bare_runtime: Runtime) -> None:
    told: list[str] = []
    for _ in range(postponed.MOST_AT_ONCE + 1):
        bare_runtime.postponed.add(telling("a", told), now=0.0)
    shared = SimpleNamespace(store=SimpleNamespace(is_shared=True), knows_all_for_s=0.0)
    bare_runtime.peers = cast(Peers, shared)
    asyncio.run(postponing.tell_last(bare_runtime))
    assert len(told) == postponed.MOST_AT_ONCE + 1


def test_what_stays_unknown_at_the_end_is_said_to_be_lost(
    bare_runtime: Runtime, caplog: pytest.LogCaptureFixture
) -> None:
    bare_runtime.postponed.add(telling("a", []), now=0.0)
    apart = SimpleNamespace(store=SimpleNamespace(is_shared=False))
    bare_runtime.peers = cast(Peers, apart)
    asyncio.run(postponing.tell_last(bare_runtime))
    assert "1 reports of leases out of reach are lost" in caplog.text


def test_many_are_told_in_turns_so_that_requests_get_in_between() -> None:
    waiting, told = Postponed(), []
    for _ in range(postponed.MOST_AT_ONCE + 1):
        waiting.add(telling("a", told), now=0.0)
    asyncio.run(waiting.tell(sure_for_s=-1.0, now=1.0))
    assert (len(told), len(waiting)) == (postponed.MOST_AT_ONCE, 1)
