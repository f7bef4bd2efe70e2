"""Select over Redis against select in one process: grant, turn kept, report, on one core.

Each store is asked by ``AT_ONCE`` askers at a time, as a busy process is. The ratio is what
sharing state costs; Redis itself runs beside, on whatever core the system gives it.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import statistics
import time
from dataclasses import replace
from random import Random
from typing import Any

import redis

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

URL = os.environ.get("ROUTERADMIN_TEST_REDIS_URL", "redis://127.0.0.1:6379/15")
AT_ONCE = 64
SELECTS = 6_000
ROUNDS = 5
DONE = {"action": "done", "wait_ms": 0, "halt": "succeeded"}
OK = Outcome(None, Dispatch.ACCEPTED, 200, latency_ms=100.0)


def unlimited(size: int) -> Snapshot:
    free = {"rpm_limit": None, "tpm_limit": None, "max_parallel_requests": None}
    targets = [TargetSpec(f"t{i:04}", f"d{i:04}", 0) for i in range(size)]
    return compile_snapshot(
        revision=1,
        config_digest="bench",
        deployments=[replace(deployment(i), **free) for i in range(size)],
        routes=[RouteSpec("r", "m", targets, strategy="round_robin")],
    )


async def one(store: Any, resolved: Any, request: SelectRequest, rng: Random) -> None:
    now = time.time()
    found = pick(resolved, request, store, now, rng)
    assert isinstance(found, Pick), found
    candidate = found.candidate
    opening = Opening("", request.model, "r", request, candidate.key, found.tier, "", now)
    grant = Grant(
        candidate, "me", 120.0, request.estimate, "r", "", None, found.cursor, found.ring, opening
    )
    lease = await store.reserve(grant, now)
    assert lease is not None
    await store.settle(lease.id, OK, DEFAULT_POLICY, now, tell=done)


def done(settlement: Settlement, kept: Kept | None) -> Told:
    """What a report decides, without the rules of turns: those are not the store's."""
    assert kept is not None
    return Told({"released": True, "cooldown": None, "next": DONE}, turn_of(kept))


def turn_of(kept: Kept) -> TurnState:
    opening = kept.turn
    return TurnState(opening.id, opening.model, opening.route_id, opening.request, 0.0)


async def per_second(store: Any, snapshot: Any, model: str) -> float:
    resolved, rng = resolve(snapshot, model), Random(1)
    request = SelectRequest(model=model, input_tokens=10)

    async def asker() -> None:
        for _ in range(SELECTS // AT_ONCE):
            await one(store, resolved, request, rng)

    started = time.perf_counter()
    await asyncio.gather(*(asker() for _ in range(AT_ONCE)))
    return SELECTS / (time.perf_counter() - started)


async def measure() -> None:
    snapshot, model = unlimited(10), "m"
    prefix = f"bench-{secrets.token_hex(6)}"
    alone = MemoryStore()
    shared = RedisStore(URL, prefix, time.time, limit_s=2.0)
    await shared.open()
    for store in (alone, shared):
        store.bind(snapshot)
    try:
        await per_second(shared, snapshot, model)
        pairs = [
            (await per_second(alone, snapshot, model), await per_second(shared, snapshot, model))
            for _ in range(ROUNDS)
        ]
        assert shared.is_shared
    finally:
        await shared.close()
        forget(prefix)
    print("select, keep the turn, report; 10 candidates, one core")
    print(f"  in process   {statistics.median(a for a, _ in pairs):9,.0f} a second")
    print(f"  over Redis   {statistics.median(s for _, s in pairs):9,.0f} a second")
    print(f"  ratio        {statistics.median(s / a for a, s in pairs):9.2f}")


def forget(prefix: str) -> None:
    client = redis.Redis.from_url(URL)
    for key in client.scan_iter(match=f"{{{prefix}}}*", count=1000):
        client.delete(key)
    client.close()


def run() -> None:
    asyncio.run(measure())


if __name__ == "__main__":
    run()
