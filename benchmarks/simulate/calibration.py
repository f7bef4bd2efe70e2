"""Measures, on a Redis of its own, what the simulation reckons with.

Redis's figures are its processor time by its own account. Each is the difference of two runs of
calls that differ in nothing else, the least of ``ROUNDS``: other programs only add.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from functools import partial
from itertools import count
from typing import Any

import orjson
import redis

from benchmarks.redis_server import cpu_s, redis_server, version
from benchmarks.select_loop import for_a_while, unlimited
from benchmarks.servers import CPUS
from benchmarks.simulate import asking
from benchmarks.simulate.asking import Asker
from benchmarks.simulate.costs import Costs, Step
from routeradmin.adapters.state_redis import RedisStore
from routeradmin.adapters.state_redis.wire import counts_of, key_of

ROUNDS = 5
CALLS = 40
BATCH = 64
DEPLOYMENTS = 10_000
LISTENERS = 200
READERS = 50
FRAME = 1_000  # candidates that change between two frames, for what one entry costs


class Meter:
    """Costs of calls, in Redis's microseconds and in bytes, per call."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.asker = Asker(url)

    def used_us(self, act: Callable[[], Any], times: int = 1) -> float:
        before = cpu_s(self.asker.client)
        for _ in range(times):
            act()
        return (cpu_s(self.asker.client) - before) * 1e6 / times

    def step(self, make: Callable[[], Sequence[Any]], call: Step) -> Step:
        """One of ``BATCH`` like steps in a call, less the call's own part."""
        found = []
        for _ in range(ROUNDS):
            batches = [[make() for _ in range(BATCH)] for _ in range(CALLS)]
            asker, sizes = self.asker, (self.asker.bytes_in, self.asker.bytes_out)
            us = self.used_us(partial(asker.calls, batches)) / CALLS
            sent, got = asker.bytes_in - sizes[0], asker.bytes_out - sizes[1]
            found.append((us, sent / CALLS, got / CALLS))
        us, sent, got = (min(one) for one in zip(*found, strict=True))
        return Step(
            max(0.0, (us - call.redis_us) / BATCH),
            max(0.0, (sent - call.bytes_in) / BATCH),
            max(0.0, (got - call.bytes_out) / BATCH),
        )

    def call(self) -> Step:
        asker, sizes = self.asker, (self.asker.bytes_in, self.asker.bytes_out)
        us = min(
            self.used_us(lambda: asker.call([("sweep", "0")]), CALLS * 10) for _ in range(ROUNDS)
        )
        calls = ROUNDS * CALLS * 10
        return Step(us, (asker.bytes_in - sizes[0]) / calls, (asker.bytes_out - sizes[1]) / calls)


def measure() -> Costs:
    with redis_server(CPUS) as url:
        meter = Meter(url)
        call = meter.call()
        populate(meter.asker)
        granted: list[str] = []
        numbers = (f"turn-{number}" for number in count())
        remembered = memory(meter.asker.client)

        def grant(number: int = 7) -> Sequence[Any]:
            lease_id, step = meter.asker.grant(number)
            granted.append(lease_id)
            return step

        grants = meter.step(grant, call)
        ids = iter(list(granted))
        reports = meter.step(lambda: asking.report(next(ids), 7), call)
        remembered = (memory(meter.asker.client) - remembered) / len(granted)
        turns = meter.step(lambda: asking.save_turn(next(numbers), 7), call)
        granted.clear()
        meter.step(grant, call)
        ids = iter(list(granted))
        settles = meter.step(lambda: asking.settle(next(ids)), call)
        answers = reports.less(settles)  # and the turn beside it
        spread = meter.step(spread_over(grant), call)
        view = views(meter, call)
        push_us, push_bytes, commit = pushes(meter, call)
        select_us, call_us = asyncio.run(process(url))
        return Costs(
            server=version(meter.asker.client),
            call=call,
            grant=grants,
            save_turn=turns,
            settle=settles,
            answer=answers,
            verdict=commit,
            touch_us=max(0.0, spread.redis_us - grants.redis_us),
            push_us=push_us,
            push_bytes=push_bytes,
            remembered_bytes=remembered,
            select_process_us=select_us,
            call_process_us=call_us,
            **view,
        )


def populate(asker: Asker) -> None:
    """Every deployment has been used, as after a minute of traffic."""
    for start in range(0, DEPLOYMENTS, BATCH):
        numbers = range(start, min(start + BATCH, DEPLOYMENTS))
        asker.call([asker.grant(number)[1] for number in numbers])


def spread_over(grant: Callable[[int], Sequence[Any]]) -> Callable[[], Sequence[Any]]:
    numbers = iter(range(10**9))
    return lambda: grant(next(numbers) * 37 % DEPLOYMENTS)


def memory(client: redis.Redis) -> int:
    return int(client.info("memory")["used_memory"])


def views(meter: Meter, call: Step) -> dict[str, Any]:
    """What refreshing views costs: an idle look, an entry made, an entry read, and an entry of a
    poll, which reads the candidates itself."""
    found: list[Any] = []
    for turn in range(10 * ROUNDS):
        heard = one_frame(meter, call, turn * FRAME % DEPLOYMENTS)
        if heard is not None:
            found.append(heard)
        if len(found) == ROUNDS:
            break
    assert len(found) == ROUNDS, "this machine stands still too often for frames to last"
    idle, make, read, each = (min(one) for one in zip(*(us for us, _ in found), strict=True))
    entries = found[-1][1]
    return {
        "look": Step(max(0.0, idle), 40.0, 60.0),
        "make_entry_us": make,
        "read_entry_us": read,
        "poll_entry_us": each,
        "entry_bytes": len(orjson.dumps(entries)) / len(entries),
        "entry_process_us": entry_process_us(orjson.dumps(entries)),
    }


def one_frame(meter: Meter, call: Step, first: int) -> tuple[tuple[float, ...], Any] | None:
    """Microseconds: an idle look; per entry made, read and polled. And the entries. None if the
    machine stood still for longer than frames are kept."""
    asker = meter.asker
    known, since = asker.newest_frame()
    for start in range(0, FRAME, BATCH):
        numbers = range(first + start, first + min(start + BATCH, FRAME))
        asker.call([asker.grant(number % DEPLOYMENTS)[1] for number in numbers])
    fresh, old = [asking.look(known, 0)], [asking.look(known, 60_000)]
    polled_us = meter.used_us(partial(asker.call, [asking.poll(since)])) - call.redis_us
    first_us = meter.used_us(partial(asker.call, fresh))
    read_us = meter.used_us(partial(asker.call, old), READERS)
    (told,) = asker.call(old)
    if told[0] != "frames":
        return None
    assert sum(map(len, told[-1])) == FRAME, "one frame holds what was granted"
    idle_us = meter.used_us(partial(asker.call, [asking.look(told[2], 60_000)]), READERS)
    made, read = (first_us - read_us) / FRAME, (read_us - idle_us) / FRAME
    return (idle_us - call.redis_us, made, read, polled_us / FRAME), told[-1][0]


def entry_process_us(frame: bytes) -> float:
    """What one entry of a frame costs the process that hears of it."""
    store = RedisStore("redis://127.0.0.1:1/0", "unused", time.time)
    entries = orjson.loads(frame)
    found = []
    for turn in range(2 * ROUNDS):
        later = orjson.dumps(
            [[key, [*sent[:-1], sent[-1] + turn], no] for key, sent, no in entries]
        )
        started = time.process_time()
        store._take_entries(orjson.loads(later))
        found.append((time.process_time() - started) * 1e6 / len(entries))
    first = store._local.get(key_of(entries[0][0]))
    assert first is not None
    assert first.active == counts_of(entries[0][1]).active
    return min(found)


def pushes(meter: Meter, call: Step) -> tuple[float, float, Step]:
    """A verdict's push to one listener, its bytes, and the verdict itself."""
    versions = iter(range(10**9))
    alone = meter.step(lambda: asking.verdict(3, next(versions)), call)
    listeners = []
    for _ in range(LISTENERS):
        listener = redis.Redis.from_url(meter.url).pubsub()
        listener.subscribe(f"{asking.PREFIX}:push")
        listener.get_message(timeout=5)
        listeners.append(listener)
    heard = meter.step(lambda: asking.verdict(3, next(versions)), call)
    message = listeners[0].get_message(timeout=5)
    for listener in listeners:
        listener.close()
    assert message is not None
    each = (heard.redis_us - alone.redis_us) / LISTENERS
    return each, len(message["data"]) + 60.0, alone


async def process(url: str) -> tuple[float, float]:
    """A process's own time for a select with its report in full calls, and for a call."""
    store = RedisStore(url, "simulate-process", time.time, limit_s=5.0)
    await store.open()
    snapshot = unlimited(10)
    store.bind(snapshot)
    await for_a_while(store, snapshot, 0.5)
    found = await for_a_while(store, snapshot, 2.0)
    alone, together = [], []
    for _ in range(ROUNDS):
        started = time.process_time()
        for _ in range(CALLS * 5):
            await store.link.call(("sweep", "0"))
        alone.append((time.process_time() - started) / CALLS / 5)
        started = time.process_time()
        for _ in range(5):
            await asyncio.gather(*(store.link.call(("sweep", "0")) for _ in range(CALLS)))
        together.append((time.process_time() - started) / CALLS / 5)
    assert store.is_shared
    await store.close()
    call_us = (min(alone) - min(together)) * 1e6
    return found["cpu_s"] / found["selects"] * 1e6, call_us
