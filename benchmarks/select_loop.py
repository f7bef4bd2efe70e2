"""One process that selects, keeps the turn and reports, again and again.

    python -m benchmarks.select_loop <url or "memory"> <prefix> <cpu,...> <seconds>

Says ``ready`` once it is warm, begins with the next line it is given, and prints what it did and
the processor time it took (JSON). No HTTP: what is measured is the store.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from dataclasses import replace
from random import Random
from typing import Any

import uvloop

from benchmarks.select_inprocess import deployment
from routeradmin.adapters.state_memory import MemoryStore
from routeradmin.adapters.state_redis import RedisStore
from routeradmin.engine.compile import RouteSpec, TargetSpec, compile_snapshot
from routeradmin.engine.policy import DEFAULT_POLICY
from routeradmin.engine.request import SelectRequest
from routeradmin.engine.resolve import resolve
from routeradmin.engine.select import Pick, pick
from routeradmin.engine.snapshot import Snapshot
from routeradmin.engine.state import Dispatch, Grant, Outcome, Settlement
from routeradmin.engine.turn_book import Kept, Told
from routeradmin.engine.turn_state import Opening, TurnState

AT_ONCE = 64  # askers, as a busy process has them
CANDIDATES = 10
WARM_S = 0.5
DONE = {"action": "done", "wait_ms": 0, "halt": "succeeded"}
OK = Outcome(None, Dispatch.ACCEPTED, 200, latency_ms=100.0)
ASK = SelectRequest("m", input_tokens=10)


def unlimited(size: int) -> Snapshot:
    free = {"rpm_limit": None, "tpm_limit": None, "max_parallel_requests": None}
    targets = [TargetSpec(f"t{i:04}", f"d{i:04}", 0) for i in range(size)]
    return compile_snapshot(
        revision=1,
        config_digest="bench",
        deployments=[replace(deployment(i), **free) for i in range(size)],
        routes=[RouteSpec("r", "m", targets, strategy="round_robin")],
    )


async def one(store: Any, resolved: Any, rng: Random) -> None:
    now = time.time()
    found = pick(resolved, ASK, store, now, rng)
    assert isinstance(found, Pick), found
    candidate = found.candidate
    opening = Opening("", "m", "r", ASK, candidate.key, found.tier, "", now)
    lease = await store.reserve(
        Grant(candidate, "me", 120.0, 10, "r", "", None, found.cursor, found.ring, opening), now
    )
    assert lease is not None
    await store.settle(lease.id, OK, DEFAULT_POLICY, now, tell=done)


def done(settlement: Settlement, kept: Kept | None) -> Told:
    """What a report decides, but for the rules of turns: those are not the store's."""
    assert kept is not None
    turn = TurnState(kept.turn.id, "m", "r", ASK, 0.0)
    return Told({"released": True, "cooldown": None, "next": DONE}, turn)


async def for_a_while(store: Any, snapshot: Snapshot, seconds: float) -> dict[str, float]:
    resolved, rng, count = resolve(snapshot, "m"), Random(1), 0
    started, cpu = time.perf_counter(), time.process_time()
    ends = started + seconds

    async def asker() -> None:
        nonlocal count
        while time.perf_counter() < ends:
            for _ in range(16):
                await one(store, resolved, rng)
            count += 16
            await asyncio.sleep(0)

    await asyncio.gather(*(asker() for _ in range(AT_ONCE)))
    return {
        "selects": count,
        "wall_s": time.perf_counter() - started,
        "cpu_s": time.process_time() - cpu,
    }


async def main(url: str, prefix: str, seconds: float) -> None:
    snapshot = unlimited(CANDIDATES)
    store: Any = MemoryStore()
    if url != "memory":
        store = RedisStore(url, prefix, time.time, limit_s=5.0)
        await store.open()
    store.bind(snapshot)
    await for_a_while(store, snapshot, WARM_S)
    print("ready", flush=True)
    await asyncio.to_thread(sys.stdin.readline)
    found = await for_a_while(store, snapshot, seconds)
    if url != "memory":
        assert store.is_shared, "Redis went out of reach: nothing was measured"
        await store.close()
    print(json.dumps(found), flush=True)


if __name__ == "__main__":
    os.sched_setaffinity(0, [int(cpu) for cpu in sys.argv[3].split(",")])
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(main(sys.argv[1], sys.argv[2], float(sys.argv[4])))
