"""Requests about one turn or one lease at the same instant, in every order their steps can take.

One process whose store suspends at every step, and two processes over one Redis.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

import hypothesis
import orjson
import pytest
from hypothesis import strategies as st

from routeradmin.adapters.sealing import Sealer
from routeradmin.adapters.upstream import UpstreamClient
from routeradmin.catalog.document import Document
from routeradmin.engine.snapshot import Snapshot
from routeradmin.engine.state import LeaseFenced
from routeradmin.engine.store import StateStore
from routeradmin.engine.turn import Turn
from routeradmin.services import reporting, selecting
from routeradmin.services.keys import Key
from routeradmin.services.messages import Release, Renew, Report, Select
from routeradmin.services.refusals import TurnBusy, TurnHalted
from routeradmin.services.reporting import LeaseExpired
from routeradmin.services.runtime import Runtime
from routeradmin.services.selected import Selected
from tests.conftest import FERNET_KEY, FakeClock
from tests.engine.world import NOW, catalog, deployment, route
from tests.interleaving import (
    Choose,
    DistantStore,
    GatedRedisStore,
    Gates,
    in_every_order,
    straight,
)
from tests.redis_at_hand import Prefix

KEY = Key("u", "caller", frozenset({"select"}))
FAILED = Report(outcome="failure", status=503)
DONE = Report(outcome="success", latency_ms=5.0)
Play = Callable[["World"], Awaitable[None]]


class World:
    """Two processes (or one, twice) with one clock over one state."""

    def __init__(self, gates: Gates, clock: FakeClock, stores: list[StateStore]) -> None:
        self.gates = gates
        self.clock = clock
        self.snapshot = catalog(
            [deployment("a"), deployment("b")], route(["a", "b"], affinity_ttl_s=300)
        )
        self.processes = [process(clock, store, self.snapshot) for store in stores]

    @property
    def one(self) -> Runtime:
        return self.processes[0]

    @property
    def two(self) -> Runtime:
        return self.processes[-1]

    async def first(self) -> Selected:
        """A turn's first attempt."""
        return await selecting.select(self.one, Select(model="m"), KEY)

    async def together(self, *asked: Coroutine[Any, Any, Any]) -> list[Any]:
        return await self.gates.together(*asked)

    def ended(self) -> list[Any]:
        """Records of turns that are over, of every process."""
        processes = {id(one): one for one in self.processes}.values()
        return [turn for one in processes for turn in one.journal.take().turns]

    async def record(self, turn_id: str) -> Any:
        """The turn as it is kept, with the attempt that was only claimed."""
        kept = await self.two.store.load_turn(turn_id, self.clock.now)
        assert kept is not None
        return Turn.of(kept, self.snapshot).state

    async def in_use(self) -> int:
        """Slots, as a process that asks now is told."""
        for runtime in self.processes:
            store = runtime.store
            if isinstance(store, GatedRedisStore):
                await store.look(0)
        return sum(state.active for state in self.two.store.states())


def process(clock: FakeClock, store: StateStore, snapshot: Snapshot) -> Runtime:
    runtime = Runtime(
        clock=clock,
        rng=random.Random(7),
        store=store,
        sealer=Sealer([FERNET_KEY]),
        upstream=UpstreamClient("loopback"),
    )
    store.bind(snapshot)
    runtime.current.swap(snapshot, Document())
    return runtime


def in_memory(play: Play) -> int:
    async def story(choose: Choose) -> None:
        gates = Gates(choose)
        await play(World(gates, FakeClock(NOW), [DistantStore(gates.gate)]))

    return in_every_order(story)


async def over_redis(
    prefix: Prefix, choose: Choose, play: Play, processes: int = 2, *, back: bool = False
) -> None:
    """``back``: answers may come later than what they tell of, too."""
    gates, clock = Gates(choose), FakeClock(NOW)
    name = f"{prefix.name}-{random.SystemRandom().getrandbits(64):x}"
    wires = gates.gate, gates.gate if back else straight
    stores = [GatedRedisStore(prefix.url, name, clock, *wires) for _ in range(processes)]
    for store in stores:
        await store.open(follow=False)
    try:
        await play(World(gates, clock, [*stores]))
        assert all(store.is_shared for store in stores), "the test proved nothing"
    finally:
        for store in stores:
            await store.close()


def between_processes(prefix: Prefix, play: Play) -> int:
    return in_every_order(lambda choose: over_redis(prefix, choose, play))


# What happens at once, and what must hold however it went.


def reporting_twice(second: Report) -> Play:
    async def play(world: World) -> None:
        selected = await world.first()
        told = [
            orjson.dumps(answer)
            for answer in await world.together(
                reporting.report(world.one, selected.lease.id, DONE, KEY),
                reporting.report(world.two, selected.lease.id, second, KEY),
            )
        ]
        again = await reporting.report(world.two, selected.lease.id, FAILED, KEY)
        assert told[0] == told[1] == orjson.dumps(again)
        turn = await world.record(selected.turn_id)
        assert len(turn.attempts) == 1
        records = world.ended()
        if turn.halt is not None:
            assert [record["id"] for record in records] == [turn.id]
        else:
            assert records == []
        assert await world.in_use() == 0
        states = [state for state in world.two.store.states() if state.key == selected.lease.key]
        assert sum(state.successes + state.failures for state in states) == 1

    return play


async def two_selects_of_one_turn(world: World) -> None:
    selected = await world.first()
    await reporting.report(world.one, selected.lease.id, FAILED, KEY)
    message = Select(model="m", turn=selected.turn_id)
    answers = await world.together(
        selecting.select(world.one, message, KEY), selecting.select(world.two, message, KEY)
    )
    assert sorted(type(answer).__name__ for answer in answers) == ["Selected", "TurnBusy"]
    (won,) = (answer for answer in answers if isinstance(answer, Selected))
    turn = await world.record(selected.turn_id)
    assert [attempt.lease_id for attempt in turn.attempts] == [selected.lease.id, won.lease.id]
    assert await world.in_use() == 1


async def a_select_and_the_report_it_waits_for(world: World) -> None:
    selected = await world.first()
    chosen, told = await world.together(
        selecting.select(world.one, Select(model="m", turn=selected.turn_id), KEY),
        reporting.report(world.two, selected.lease.id, FAILED, KEY),
    )
    assert told["next"]["action"] == "next"
    assert isinstance(chosen, (Selected, TurnBusy)), chosen
    turn = await world.record(selected.turn_id)
    assert turn.attempts[0].status == 503
    assert len(turn.attempts) == 1 + isinstance(chosen, Selected)
    assert await world.in_use() == isinstance(chosen, Selected)


async def a_select_and_a_report_of_a_lease_that_ran_out(world: World) -> None:
    selected = await world.first()
    world.clock.advance(121)
    chosen, told = await world.together(
        selecting.select(world.one, Select(model="m", turn=selected.turn_id), KEY),
        reporting.report(world.two, selected.lease.id, DONE, KEY),
    )
    assert isinstance(told, LeaseExpired), told
    turn = await world.record(selected.turn_id)
    assert turn.attempts[0].cls is None, "its own report is the better evidence, however late"
    if isinstance(chosen, Selected):
        assert turn.attempts[1].lease_id == chosen.lease.id
        assert world.ended() == []
    else:
        assert isinstance(chosen, TurnHalted)
        assert [record["halt"] for record in world.ended()] == ["succeeded"]
    with pytest.raises(LeaseExpired) as again:
        await reporting.report(world.one, selected.lease.id, FAILED, KEY)
    assert orjson.dumps(again.value.answer) == orjson.dumps(told.answer)
    assert await world.in_use() == isinstance(chosen, Selected)


async def a_report_a_release_and_a_renewal(world: World) -> None:
    selected = await world.first()
    lease_id = selected.lease.id
    told, released, renewed = await world.together(
        reporting.report(world.one, lease_id, FAILED, KEY),
        reporting.release(world.two, lease_id, Release(), KEY),
        reporting.renew(world.two, lease_id, Renew(lease_ttl_s=30), KEY),
    )
    assert [told["released"], released["released"]].count(True) == 1
    assert isinstance(renewed, (dict, LeaseFenced)), renewed
    again = await reporting.report(world.two, lease_id, DONE, KEY)
    assert orjson.dumps(again) == orjson.dumps(told)
    assert await world.in_use() == 0


async def two_reports_and_two_selects(world: World) -> None:
    """More than every order can be tried of: a sample."""
    selected = await world.first()
    message = Select(model="m", turn=selected.turn_id)
    answers = await world.together(
        reporting.report(world.one, selected.lease.id, FAILED, KEY),
        selecting.select(world.two, message, KEY),
        reporting.report(world.two, selected.lease.id, FAILED, KEY),
        selecting.select(world.one, message, KEY),
    )
    assert orjson.dumps(answers[0]) == orjson.dumps(answers[2])
    won = [answer for answer in (answers[1], answers[3]) if isinstance(answer, Selected)]
    assert all(isinstance(answer, (Selected, TurnBusy)) for answer in (answers[1], answers[3]))
    assert len(won) <= 1
    turn = await world.record(selected.turn_id)
    assert len(turn.attempts) == 1 + len(won)
    assert await world.in_use() == len(won)


async def a_session_moves_between_processes(world: World) -> None:
    message = Select(model="m", session="s")
    chosen = []
    for turn in range(6):
        runtime = (world.one, world.two)[turn % 2]
        chosen.append((await selecting.select(runtime, message, KEY)).candidate.key)
    assert len(set(chosen)) == 1
    bound = chosen[0]
    await world.one.store.set_cooldown(bound, 60, "user:ann", "", world.clock.now)
    moved = await selecting.select(world.one, message, KEY)
    assert moved.candidate.key != bound
    await world.one.store.clear(bound, "user:ann", world.clock.now)
    await world.in_use()
    again = await selecting.select(world.two, message, KEY)
    assert again.candidate.key == moved.candidate.key


STORIES: dict[str, Play] = {
    "two reports that agree": reporting_twice(DONE),
    "two reports that differ": reporting_twice(FAILED),
    "two selects of a turn": two_selects_of_one_turn,
    "select and report": a_select_and_the_report_it_waits_for,
    "select and late report": a_select_and_a_report_of_a_lease_that_ran_out,
}
told_as = pytest.mark.parametrize("play", STORIES.values(), ids=STORIES.keys())
orders = st.lists(st.integers(0, 3), min_size=60, max_size=60)


def chooser(order: list[int]) -> Choose:
    left = iter(order)
    return lambda options: next(left, 0) % options


@told_as
def test_one_process_keeps_its_word_in_every_order(play: Play) -> None:
    assert in_memory(play) > 20


@pytest.mark.services
@pytest.mark.slow
@told_as
def test_two_processes_keep_their_word_in_every_order(play: Play, redis_prefix: Prefix) -> None:
    assert between_processes(redis_prefix, play) > 5


@pytest.mark.parametrize(
    "play", [two_reports_and_two_selects, a_report_a_release_and_a_renewal], ids=["turn", "lease"]
)
@hypothesis.given(order=orders)
def test_one_process_keeps_its_word_to_a_crowd(play: Play, order: list[int]) -> None:
    gates = Gates(chooser(order))
    asyncio.run(play(World(gates, FakeClock(NOW), [DistantStore(gates.gate)])))


@pytest.mark.services
@pytest.mark.parametrize(
    "play", [two_reports_and_two_selects, a_report_a_release_and_a_renewal], ids=["turn", "lease"]
)
@hypothesis.settings(
    max_examples=40, suppress_health_check=[hypothesis.HealthCheck.function_scoped_fixture]
)
@hypothesis.given(order=orders, processes=st.integers(1, 2))
def test_processes_keep_their_word_to_a_crowd(
    play: Play, order: list[int], processes: int, redis_prefix: Prefix
) -> None:
    asyncio.run(over_redis(redis_prefix, chooser(order), play, processes, back=True))


@pytest.mark.services
def test_a_session_stays_whichever_process_answers(redis_prefix: Prefix) -> None:
    asyncio.run(over_redis(redis_prefix, chooser([]), a_session_moves_between_processes))
