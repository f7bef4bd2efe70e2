"""What a caller waits while Redis or PostgreSQL is gone, hangs, is slow, and is back.

Two workers with a Redis and a PostgreSQL of their own. Selects come at a steady pace; each fault
lasts ``FAULT_S``. The promises: no select waits more than 50 ms for either engine, p99 below
100 ms, no errors. How late the load itself is woken is printed beside, for on a machine that is
busy with other things that is part of every figure.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import aiohttp

from tests.chaos.book import quantile_s
from tests.chaos.stage import Stage, staged
from tests.process.server import KEY

WORKERS = 2
BEFORE_S, FAULT_S, AFTER_S = 5.0, 8.0, 5.0
WHOLE_LIMIT_S = 30.0
EVERY_S = 0.01
ASKERS = 4
SLOW_S = 0.5
PROMISED_WAIT_MS, PROMISED_P99_MS = 50.0, 100.0

FAULTS: dict[str, tuple[Callable[[Stage], None], Callable[[Stage], None]]] = {
    "Redis killed": (lambda s: s.redis.kill(), lambda s: s.redis.start()),
    "Redis frozen": (lambda s: s.redis.freeze(), lambda s: s.redis.thaw()),
    "Redis 500 ms slow": (lambda s: s.redis_wire.slow(SLOW_S), lambda s: s.redis_wire.mend()),
    "PostgreSQL killed": (lambda s: s.database.kill(), lambda s: s.database.start()),
    "PostgreSQL frozen": (lambda s: s.database.freeze(), lambda s: s.database.thaw()),
    "PostgreSQL 500 ms slow": (
        lambda s: s.database_wire.slow(SLOW_S),
        lambda s: s.database_wire.mend(),
    ),
}


@dataclass
class Part:
    """Selects of one part of a fault: durations, answers that were no grant, own lateness."""

    took_s: list[float] = field(default_factory=list)
    late_s: list[float] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    def line(self, base_ms: float) -> str:
        longest = max(self.took_s, default=0.0) * 1000
        return (
            f"{len(self.took_s):6}  p50 {quantile_s(self.took_s, 0.5) * 1000:6.1f}  "
            f"p99 {quantile_s(self.took_s, 0.99) * 1000:6.1f}  longest {longest:6.1f} "
            f"(over the usual {max(0.0, longest - base_ms):6.1f})  errors {len(self.errors)}   "
            f"load late: p99 {quantile_s(self.late_s, 0.99) * 1000:5.1f} "
            f"longest {max(self.late_s, default=0.0) * 1000:5.1f}"
        )


class Asking:
    """Select and release at a steady pace; ``part`` is where figures go now."""

    def __init__(self, address: tuple[str, int]) -> None:
        self.base = "http://{}:{}/api/v1".format(*address)
        self.part = Part()
        self.going = True

    async def run(self) -> None:
        headers = {"authorization": f"Bearer {KEY}"}
        # One connection each, which holds them to their workers.
        await asyncio.gather(*(self._ask(headers) for _ in range(ASKERS)))

    async def _ask(self, headers: dict[str, str]) -> None:
        loop = asyncio.get_running_loop()
        async with aiohttp.ClientSession(headers=headers) as session:
            while self.going:
                due = loop.time() + EVERY_S
                await asyncio.sleep(EVERY_S)
                part = self.part
                part.late_s.append(loop.time() - due)
                started = time.perf_counter()
                asked = {"model": "free", "lease_ttl_s": 30}
                async with session.post(f"{self.base}/select", json=asked) as answer:
                    found = await answer.json()
                    part.took_s.append(time.perf_counter() - started)
                if answer.status != 200:
                    part.errors.append(f"{answer.status} {found}")
                    continue
                async with session.post(
                    f"{self.base}/leases/{found['lease_id']}/release", json={}
                ) as given_back:
                    if given_back.status != 200:
                        part.errors.append(f"release: {await given_back.text()}")


async def suffer(stage: Stage, asking: Asking, name: str) -> None:
    begin, end = FAULTS[name]
    before = asking.part = Part()
    await asyncio.sleep(BEFORE_S)
    during = asking.part = Part()
    await asyncio.to_thread(begin, stage)
    await asyncio.sleep(FAULT_S)
    after = asking.part = Part()
    await asyncio.to_thread(end, stage)
    ends = time.monotonic() + WHOLE_LIMIT_S
    while not await asyncio.to_thread(stage.is_whole):
        assert time.monotonic() < ends, f"{name}: not whole {WHOLE_LIMIT_S:g} s after its end"
        await asyncio.sleep(0.1)
    await asyncio.sleep(AFTER_S)
    base_ms = quantile_s(before.took_s, 0.5) * 1000
    print(name)
    for word, part in (("before", before), ("during", during), ("after", after)):
        print(f"  {word:7}{part.line(base_ms)}")
        for error in part.errors[:3]:
            print(f"         {error}")


async def measure(stage: Stage) -> None:
    asking = Asking(stage.server.address)
    running = asyncio.create_task(asking.run())
    await asyncio.sleep(3)  # to warm up
    for name in FAULTS:
        await suffer(stage, asking, name)
    asking.going = False
    await running


def run() -> None:
    limit_ms = os.environ.setdefault("CHAOS_REDIS_LIMIT_MS", "40")
    print(
        f"selects every {EVERY_S * 1000:g} ms by {ASKERS} callers, {WORKERS} workers; "
        f"milliseconds. ROUTERADMIN_REDIS_LIMIT_MS={limit_ms}\n"
        f"promised during a fault: wait for an engine below {PROMISED_WAIT_MS:g} ms, "
        f"p99 below {PROMISED_P99_MS:g} ms, no errors\n"
    )
    with staged(WORKERS) as stage:
        asyncio.run(measure(stage))


if __name__ == "__main__":
    run()
