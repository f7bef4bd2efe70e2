"""In-process selection: microseconds for one choice with its reservation, all rules on.

    python -m benchmarks.select_inprocess [--repeat N]

Every deployment declares capabilities, limits and a context window, and one in ten is cooling
down. Beside each figure stands the ratio to a bare loop that filters as many slotted objects by
three fields and draws one, on the same core in the same run. With
ROUTERADMIN_BENCH_LITELLM=<python that has litellm> its router is measured too.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Callable, Coroutine
from pathlib import Path
from random import Random
from time import perf_counter
from typing import Any

from routeradmin.adapters.state_memory import MemoryStore
from routeradmin.engine.compile import RouteSpec, TargetSpec, compile_snapshot
from routeradmin.engine.objects import (
    AuthKind,
    BillingKind,
    Capabilities,
    Credential,
    Deployment,
    Endpoint,
    Model,
    Provider,
)
from routeradmin.engine.request import SelectRequest
from routeradmin.engine.resolve import resolve
from routeradmin.engine.select import Selected, select
from routeradmin.engine.snapshot import Snapshot
from routeradmin.engine.state import CandidateState, Cooldown

SIZES = (10, 100, 1000)
STRATEGIES = (
    "simple_shuffle",
    "round_robin",
    "priority_based",
    "fill_first",
    "least_busy",
    "latency_based",
    "usage_based",
    "rate_limit_aware",
)
NOW = 1_800_000_000.0
BATCH = 200
PLENTY = 1_000_000_000
REQUEST = SelectRequest(
    "m",
    input_tokens=1200,
    max_output_tokens=256,
    requires=frozenset({"tools", "vision"}),
    temperature=0.2,
    api="chat-completions",
    needs_secret=True,
)


def deployment(number: int) -> Deployment:
    credential = Credential(f"k{number:04}", "p", AuthKind.BEARER, BillingKind.METERED, "s")
    return Deployment(
        f"d{number:04}",
        Provider("p", "bench"),
        Endpoint(f"e{number:04}", credential.id, "https://models.example.invalid/v1/"),
        Model("m", "m"),
        "chat-completions",
        (credential,),
        capabilities=Capabilities(
            True, True, True, True, ("low", "high"), 128_000, 8_192, vision=True
        ),
        weight=1 + number % 5,
        priority=number % 3,
        rpm_limit=PLENTY,
        tpm_limit=PLENTY,
        max_parallel_requests=PLENTY,
    )


def catalog(size: int) -> Snapshot:
    targets = [TargetSpec(f"t{i:04}", f"d{i:04}", 0) for i in range(size)]
    return compile_snapshot(
        revision=1,
        config_digest="bench",
        deployments=[deployment(i) for i in range(size)],
        routes=[RouteSpec(s, s, targets, strategy=s) for s in STRATEGIES],
    )


def dress(state: CandidateState, number: int) -> None:
    """One in ten cools; everyone has used something and has a latency."""
    state.window = int(NOW // 60)
    state.rpm_used, state.tpm_used = 1 + number * 7 % 50, 1 + number * 31 % 5000
    state.latency_ema_ms = 200.0 + number * 13 % 97
    if number % 10 == 3:
        until = NOW + 600
        state.cooldown = Cooldown("rate-limited", NOW - 1, until, 1, "result", 429, "slow down")
        state.cooldown_until = until


def prepared(snapshot: Snapshot) -> MemoryStore:
    store = MemoryStore()
    store.bind(snapshot)
    for number, candidate in enumerate(next(iter(snapshot.routes.values())).candidates):
        dress(store.of(candidate), number)
    store.bind(snapshot)  # takes notice of what was set from outside
    return store


def drive(coroutine: Coroutine[Any, Any, Any]) -> Any:
    """Run a coroutine that never suspends."""
    try:
        coroutine.send(None)
    except StopIteration as end:
        return end.value
    raise AssertionError("the memory store suspended")


def measure(snapshot: Snapshot, strategy: str, repeat: int) -> float:
    """Best microseconds of one select with its reservation; giving back is not timed."""
    store, rng = prepared(snapshot), Random(7)
    resolved = resolve(snapshot, strategy)
    best = float("inf")
    for _ in range(repeat):
        took: list[Any] = []
        start = perf_counter()
        for _ in range(BATCH):
            took.append(drive(select(resolved, REQUEST, store, NOW, rng)))
        best = min(best, (perf_counter() - start) / BATCH)
        for selected in took:
            assert isinstance(selected, Selected), selected
            drive(store.release(selected.lease.id, NOW))
    return best * 1e6


class Slot:
    __slots__ = ("active", "limit", "ready_at", "rpm", "used")

    def __init__(self, number: int) -> None:
        self.active, self.limit, self.rpm, self.used = 0, PLENTY, PLENTY, 0
        self.ready_at = NOW + 600 if number % 10 == 3 else 0.0


def bare_loop(size: int, repeat: int) -> float:
    """Filter and draw, nothing else: what the machine makes of the plainest possible choice."""
    slots, rng = [Slot(i) for i in range(size)], Random(7)

    def once() -> Slot:
        left = [s for s in slots if s.ready_at <= NOW and s.active < s.limit and s.used < s.rpm]
        return left[int(rng.random() * len(left))]

    return best_of(once, repeat)


def best_of(call: Callable[[], object], repeat: int) -> float:
    best = float("inf")
    for _ in range(repeat):
        start = perf_counter()
        for _ in range(BATCH):
            call()
        best = min(best, (perf_counter() - start) / BATCH)
    return best * 1e6


def litellm() -> dict[str, list[float]]:
    """LiteLLM's router in its own environment, in this same run; empty when there is none."""
    python = os.environ.get("ROUTERADMIN_BENCH_LITELLM")
    if not python:
        return {}
    script = Path(__file__).with_name("litellm_router.py")
    sizes = [str(size) for size in SIZES]
    done = subprocess.run(
        [python, str(script), *sizes],
        env={**os.environ, "LITELLM_LOCAL_MODEL_COST_MAP": "True"},
        capture_output=True,
        text=True,
        check=True,
        timeout=600,
    )
    found: dict[str, list[float]] = json.loads(done.stdout.splitlines()[-1])
    return found


def report(name: str, figures: list[float], bare: list[float]) -> None:
    cells = [f"{us:10.2f} ({us / loop:7.2f}x)" for us, loop in zip(figures, bare, strict=True)]
    print(f"{name:28}" + "".join(cells))


def run(repeat: int = 30) -> None:
    print(f"Python {sys.version.split()[0]}; microseconds per choice, (x) = bare loops")
    print(f"{'candidates':28}" + "".join(f"{size:>21}" for size in SIZES))
    bare = [bare_loop(size, repeat) for size in SIZES]
    report("bare loop", bare, bare)
    snapshots = [catalog(size) for size in SIZES]
    for strategy in STRATEGIES:
        report(strategy, [measure(s, strategy, repeat) for s in snapshots], bare)
    for name, figures in litellm().items():
        report(f"litellm {name}", figures, bare)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeat", type=int, default=30, help="batches, of which the best counts")
    run(parser.parse_args().repeat)


if __name__ == "__main__":
    main()
