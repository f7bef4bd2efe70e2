"""How far the shared store goes: 10,000 deployments, 200 processes, 1,000,000 selects a second.

    python -m benchmarks.simulate [--costs FILE] [--keep FILE] [--seed N]

First what the parts cost is measured on a real Redis (or read from ``--costs``; ``--keep`` writes
it down), then one shard of each layout is simulated. Equal costs and seed give equal results.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path

from benchmarks.simulate import calibration, layouts, reality
from benchmarks.simulate.costs import Costs
from benchmarks.simulate.layouts import Result, cells, most, one_redis, play, smallest, spread

RATES = (
    500,
    1_000,
    2_000,
    3_000,
    4_000,
    6_000,
    8_000,
    10_000,
    12_000,
    15_000,
    20_000,
    25_000,
    30_000,
)
SIZES = ((4, 100), (20, 1_000), (50, 1_000), (layouts.PROCESSES, layouts.DEPLOYMENTS))
SHARDS = (20, 25, 30, 40, 50, 60, 80, 100, 125, 150, 200, 250, 300, 400, 500, 650, 800, 1000)
CELLS = (20, 25, 40, 50, 100, 200)  # of 200 processes
SLOW = 2_000.0
STORM = 1_000.0  # cooldowns a second


def simulate(costs: Costs, seed: int) -> list[Result]:
    found: list[Result | None] = [
        play(one_redis(SLOW, frames=False), costs, seed),
        play(one_redis(SLOW), costs, seed),
        *(
            most(
                partial(one_redis, processes=processes, deployments=deployments), RATES, costs, seed
            )
            for processes, deployments in SIZES
        ),
    ]
    for layout, counts in ((spread, SHARDS), (cells, CELLS)):
        fitting = smallest(layout, counts, costs, seed)
        found.append(fitting)
        if fitting is not None:
            found.append(play(layout(fitting.layout.shards, STORM), costs, seed))
    return [one for one in found if one is not None]


HEAD = (
    f"{'':58}{'shards':>7}{'selects/s':>10}{'calls/s':>9}{'steps':>6}{'MB/s in':>8}{'out':>7}"
    f"{'busy':>6}{'grant ms':>13}{'view age ms':>16}{'process':>8}{'GB':>6}"
)


def row(one: Result) -> str:
    load, name = one.layout.load, one.layout.name
    if load.verdicts_per_s:
        name += f", {STORM:,.0f} cooldowns a second"
    grants = "/".join(f"{s * 1e3:.1f}" for s in one.grant_s)
    ages = "/".join(f"{s * 1e3:.0f}" for s in one.age_s)
    return (
        f"{name:58}{one.layout.shards:7}{load.selects_per_s:10,.0f}{one.calls_per_s:9,.0f}"
        f"{one.steps_per_call:6.1f}{one.bytes_in / 1e6:8.1f}{one.bytes_out / 1e6:7.1f}"
        f"{one.busy:6.2f}{grants:>13}{ages:>16}{one.process_busy:8.2f}"
        f"{one.remembered_bytes / 1e9:6.0f}{'' if one.fits else '  breaks'}"
    )


def report(costs: Costs, seed: int) -> None:
    print(f"measured on {costs.server}: microseconds of processor time, bytes")
    for name, value in asdict(costs).items():
        if isinstance(value, dict):
            print(
                f"  {name:20}{value['redis_us']:8.1f} us Redis{value['bytes_in']:8.0f} in"
                f"{value['bytes_out']:8.0f} out"
            )
        elif isinstance(value, float):
            print(f"  {name:20}{value:8.2f}")
    system = f"{layouts.DEPLOYMENTS:,} deployments, {layouts.PROCESSES} processes"
    print(f"simulated, seed {seed}: {system}; figures of one shard")
    print(
        "grants p50/p99, view ages p50/p99/max; busy, process: of a core, Redis's and a process's"
    )
    print(HEAD)
    for one in simulate(costs, seed):
        print(row(one))


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.simulate", description=__doc__)
    parser.add_argument("--costs", type=Path, help="measured before: nothing is measured now")
    parser.add_argument("--keep", type=Path, help="where to write what is measured")
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args(arguments)
    costs = Costs.read(asked.costs) if asked.costs else calibration.measure()
    if asked.keep:
        costs.write(asked.keep)
    if not asked.costs:
        reality.report(costs)
    report(costs, asked.seed)


def run() -> None:
    main([])
