"""What a key has used: charged before anyone waits, given back on every way out, and bounded."""

from __future__ import annotations

import asyncio
from typing import Any

from routeradmin.adapters.state_memory import MemoryStore
from routeradmin.catalog.document import Document
from routeradmin.services import reporting, selecting
from routeradmin.services.keys import Key
from routeradmin.services.messages import Report, Select
from routeradmin.services.refusals import LimitRefused, Refused, TurnHalted
from routeradmin.services.runtime import Runtime
from routeradmin.services.selected import Selected
from tests.engine.world import catalog, deployment
from tests.interleaving import DistantStore


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
    use = bare_runtime.store.key_use(key.uid, bare_runtime.clock())
    assert (use.requests, use.active) == (2, 2)


def test_a_store_that_fails_costs_the_key_nothing(bare_runtime: Runtime) -> None:
    async def gone() -> None:
        raise ConnectionError

    put(bare_runtime, DistantStore(gone))
    key = limited(rpm_limit=100)
    assert isinstance(asyncio.run(at_once(bare_runtime, key, 1))[0], ConnectionError)
    use = bare_runtime.store.key_use(key.uid, bare_runtime.clock())
    assert (use.requests, use.active, use.tokens) == (0, 0, 0)


def test_a_turn_that_the_keys_limits_ended_is_recorded_once(bare_runtime: Runtime) -> None:
    put(bare_runtime, DistantStore(lambda: asyncio.sleep(0)))
    key = limited(rpm_limit=1)

    async def story() -> None:
        first = await selecting.select(bare_runtime, Select(model="m"), key)
        failed = Report(outcome="failure", status=503)
        await reporting.report(bare_runtime, first.lease.id, failed, key)
        bare_runtime.clock.advance(1)  # type: ignore[attr-defined]
        again = Select(model="m", turn=first.turn_id)
        asked = (selecting.select(bare_runtime, again, key) for _ in range(2))
        answers = await asyncio.gather(*asked, return_exceptions=True)
        assert {type(answer) for answer in answers} == {LimitRefused, TurnHalted}

    asyncio.run(story())
    records = bare_runtime.journal.take().turns
    assert [record["halt"] for record in records] == ["limit-refused"]


def test_keys_that_are_no_more_are_forgotten_by_the_store(bare_runtime: Runtime) -> None:
    put(bare_runtime, MemoryStore())
    key = limited(rpm_limit=5)
    bare_runtime.keys.hold({"hash": key})
    asyncio.run(at_once(bare_runtime, key, 1))
    assert bare_runtime.store.key_use(key.uid, bare_runtime.clock()).requests == 1
    bare_runtime.keys.hold({})
    assert bare_runtime.store.key_use(key.uid, bare_runtime.clock()).requests == 0
