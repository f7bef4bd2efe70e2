"""What a key has used: charged before anyone waits, given back on every way out, and bounded."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from routeradmin.adapters.state_memory import MemoryStore
from routeradmin.catalog.document import Document
from routeradmin.services import selecting
from routeradmin.services.admission import LEAST_KEPT, KeyLimits
from routeradmin.services.keys import Key
from routeradmin.services.messages import Select
from routeradmin.services.refusals import LimitRefused, Refused
from routeradmin.services.runtime import Runtime
from routeradmin.services.selected import Selected
from tests.engine.world import catalog, deployment
from tests.interleaving import DistantStore

NOW = 1_800_000_000.0


def limited(**limits: Any) -> Key:
    return Key("u", "limited", frozenset({"select"}), **limits)


def put(runtime: Runtime, store: MemoryStore) -> None:
    snapshot = catalog([deployment("a", max_parallel_requests=2)])
    runtime.store = store
    store.bind(snapshot)
    runtime.current.swap(snapshot, Document())


async def at_once(runtime: Runtime, key: Key, count: int) -> list[Selected | BaseException]:
    asked = (selecting.select(runtime, Select(model="m"), key) for _ in range(count))
    return await asyncio.gather(*asked, return_exceptions=True)


def test_those_that_wait_for_a_slot_count_for_those_that_ask_meanwhile(
    bare_runtime: Runtime,
) -> None:
    put(bare_runtime, DistantStore(lambda: asyncio.sleep(0)))
    answers = asyncio.run(at_once(bare_runtime, limited(rpm_limit=1), 2))
    assert [type(answer) for answer in answers] == [Selected, LimitRefused]


def test_a_slot_that_another_took_costs_the_key_nothing(bare_runtime: Runtime) -> None:
    put(bare_runtime, DistantStore(lambda: asyncio.sleep(0)))
    key = limited(rpm_limit=100, tpm_limit=100)
    answers = asyncio.run(at_once(bare_runtime, key, 3))
    assert [type(answer) for answer in answers] == [Selected, Selected, Refused]
    use = bare_runtime.limits.use_of(key, bare_runtime.clock())
    assert (use.requests, use.active) == (2, 2)


def test_a_store_that_fails_costs_the_key_nothing(bare_runtime: Runtime) -> None:
    async def gone() -> None:
        raise ConnectionError

    put(bare_runtime, DistantStore(gone))
    key = limited(rpm_limit=100)
    assert isinstance(asyncio.run(at_once(bare_runtime, key, 1))[0], ConnectionError)
    use = bare_runtime.limits.use_of(key, bare_runtime.clock())
    assert (use.requests, use.active, use.tokens) == (0, 0, 0)


@pytest.mark.parametrize("limits", [{"rpm_limit": 10**9}, {"max_parallel_requests": 10**9}])
def test_leases_that_nobody_reports_are_not_kept_for_ever(limits: dict[str, int]) -> None:
    held, key = KeyLimits(), limited(**limits)
    for n in range(5 * LEAST_KEPT):
        now = NOW + n
        charge = held.charge(key, 0, now)
        assert charge is not None
        held.keep(f"lease-{n}", charge, now + 10, now)
    assert len(held._kept) <= LEAST_KEPT + 1
    assert held.use_of(key, NOW + n).active <= LEAST_KEPT + 1
