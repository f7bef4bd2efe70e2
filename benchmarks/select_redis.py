"""Select over Redis against select in one process, and two processes against one.

Grant, turn kept, report, asked from inside the processes. Rates per core are of processor time
(user and system), so that what else the machine does weighs little; wall-clock rates stand
beside them. Scaling is measured twice: one process with Redis on one core against two with Redis
on two, which counts everything, and what two processes need per select against what one needs,
which is what machines with a core for each would show.
"""

from __future__ import annotations

import json
import secrets
import statistics
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass

import redis

from benchmarks.redis_server import cpu_s, redis_server, version
from benchmarks.servers import CPUS, ROOT

SECONDS = 2.0
ROUNDS = 5
FIRST, LAST = CPUS[:1], CPUS[-1:]


@dataclass(frozen=True)
class Run:
    """What some processes did at once. Microseconds are processor time per select."""

    per_second: float
    process_us: float
    redis_us: float

    @property
    def per_core(self) -> float:
        return 1e6 / self.process_us


def measure(url: str, cpus: Sequence[Sequence[int]]) -> Run:
    """One process for each set of cores, all at the same time."""
    if url == "memory":
        return together(url, cpus, lambda: 0.0)
    with redis.Redis.from_url(url) as client:
        client.flushall()
        return together(url, cpus, lambda: cpu_s(client))


def together(url: str, cpus: Sequence[Sequence[int]], redis_cpu_s) -> Run:  # type: ignore[no-untyped-def]
    prefix = f"bench-{secrets.token_hex(6)}"
    children = [start(url, prefix, some) for some in cpus]
    for child in children:
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
    before = redis_cpu_s()
    for child in children:
        assert child.stdin is not None
        child.stdin.write("go\n")
        child.stdin.flush()
    found = [json.loads(child.communicate(timeout=120)[0]) for child in children]
    used = redis_cpu_s() - before
    selects = sum(one["selects"] for one in found)
    return Run(
        per_second=sum(one["selects"] / one["wall_s"] for one in found),
        process_us=sum(one["cpu_s"] for one in found) / selects * 1e6,
        redis_us=used / selects * 1e6,
    )


def start(url: str, prefix: str, cpus: Sequence[int]) -> subprocess.Popen[str]:
    cores = ",".join(map(str, cpus))
    command = (sys.executable, "-m", "benchmarks.select_loop", url, prefix, cores, str(SECONDS))
    pipe = subprocess.PIPE
    return subprocess.Popen(command, cwd=ROOT, text=True, stdin=pipe, stdout=pipe)


def middle(runs: Sequence[Run]) -> Run:
    return Run(
        statistics.median(run.per_second for run in runs),
        statistics.median(run.process_us for run in runs),
        statistics.median(run.redis_us for run in runs),
    )


def run() -> None:
    alone, beside, crowded, both = [], [], [], []
    with (
        redis_server(LAST) as apart,
        redis_server(FIRST) as crammed,
        redis_server(CPUS) as anywhere,
    ):
        with redis.Redis.from_url(apart) as client:
            name = version(client)
        for _ in range(ROUNDS):
            alone.append(measure("memory", [FIRST]))
            beside.append(measure(apart, [FIRST]))
            crowded.append(measure(crammed, [FIRST]))
            both.append(measure(anywhere, [CPUS, CPUS]))
    report(name, middle(alone), middle(beside), middle(crowded), middle(both))


def report(name: str, alone: Run, beside: Run, crowded: Run, both: Run) -> None:
    print(f"select, keep the turn, report; 10 candidates, 64 at once, {name}, {len(CPUS)} cores")
    print(f"{'':34}{'a second':>10}{'per core':>10}{'process us':>12}{'Redis us':>10}")
    rows = {
        "in process": alone,
        "over Redis, a core each": beside,
        "over Redis, one core for both": crowded,
        "two processes and Redis, all cores": both,
    }
    for what, one in rows.items():
        print(
            f"{what:34}{one.per_second:10,.0f}{one.per_core:10,.0f}"
            f"{one.process_us:12.1f}{one.redis_us:10.1f}"
        )
    whole = (beside.process_us + beside.redis_us) / alone.process_us
    cores = f"one core to {len(CPUS)}, everything included"
    ratios = {
        "over Redis to in process, per core": f"{beside.per_core / alone.per_core:.2f}",
        "the same with Redis's own time": f"{1 / whole:.2f}",
        cores: f"{both.per_second / crowded.per_second:.2f}x",
        "one process to two, a core for each": f"{2 * both.per_core / beside.per_core:.2f}x",
        "one Redis is full at": f"{1e6 / both.redis_us:,.0f} a second",
    }
    for what, figure in ratios.items():
        print(f"{what:38}{figure}")


if __name__ == "__main__":
    run()
