"""The whole system, cut into equal shards of which one is simulated, and how well that goes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from benchmarks.simulate.costs import Costs
from benchmarks.simulate.shard import Load, Seen, Shard

PROCESSES = 200
DEPLOYMENTS = 10_000
SELECTS_PER_S = 1_000_000.0
REMEMBERED_S = 3600.0
WARM_S, SECONDS = 0.3, 1.0

MOST_BUSY = 0.7  # of a core: beyond it queues grow with every hiccup
MOST_WAIT_S = 0.02  # half of what a step may wait before Redis counts as gone
MOST_AGE_S = 0.2  # the promise about a view


@dataclass(frozen=True)
class Layout:
    """``shards`` like the one of ``load``; each process talks to ``links`` of them."""

    name: str
    shards: int
    links: int
    load: Load


def one_redis(
    selects_per_s: float,
    processes: int = PROCESSES,
    deployments: int = DEPLOYMENTS,
    *,
    frames: bool = True,
) -> Layout:
    name = f"one Redis, {processes} processes, {deployments:,} deployments"
    load = Load(processes, deployments, selects_per_s, frames=frames)
    return Layout(name if frames else f"{name}, no frames", 1, 1, load)


def spread(shards: int, verdicts_per_s: float = 0.0) -> Layout:
    """Routes are spread over shards, and every process talks to all of them."""
    load = Load(PROCESSES, DEPLOYMENTS // shards, SELECTS_PER_S / shards, verdicts_per_s / shards)
    return Layout("routes over shards", shards, shards, load)


def cells(shards: int, verdicts_per_s: float = 0.0) -> Layout:
    """Routes are spread over cells: a Redis, and the processes that serve its routes alone."""
    load = Load(
        PROCESSES // shards, DEPLOYMENTS // shards, SELECTS_PER_S / shards, verdicts_per_s / shards
    )
    return Layout("cells", shards, 1, load)


@dataclass(frozen=True)
class Result:
    """Of one shard; ``process_busy`` of one process. Times in seconds, bytes in a second."""

    layout: Layout
    calls_per_s: float
    steps_per_call: float
    bytes_in: float
    bytes_out: float
    busy: float
    grant_s: tuple[float, float]
    age_s: tuple[float, float, float]
    process_busy: float
    remembered_bytes: float
    hopeless: bool

    @property
    def fits(self) -> bool:
        return (
            not self.hopeless
            and self.busy <= MOST_BUSY
            and self.grant_s[1] <= MOST_WAIT_S
            and self.age_s[1] <= MOST_AGE_S
        )


def play(layout: Layout, costs: Costs, seed: int) -> Result:
    return summed_up(layout, costs, Shard(layout.load, costs, seed).run(WARM_S, SECONDS))


def summed_up(layout: Layout, costs: Costs, seen: Seen) -> Result:
    load, seconds = layout.load, seen.seconds
    calls, entries = seen.calls / seconds, seen.entries / seconds
    each = layout.links / load.processes
    process_us = (
        costs.select_process_us * load.selects_per_s
        + costs.call_process_us * calls
        + costs.entry_process_us * entries
    ) * each
    return Result(
        layout,
        calls,
        seen.steps / max(1, seen.calls),
        seen.bytes_in / seconds,
        seen.bytes_out / seconds,
        seen.utilisation,
        (share(seen.grant_s, 0.5), share(seen.grant_s, 0.99)),
        (share(seen.age_s, 0.5), share(seen.age_s, 0.99), max(seen.age_s, default=0.0)),
        process_us / 1e6,
        costs.remembered_bytes * load.selects_per_s * REMEMBERED_S,
        seen.hopeless,
    )


def share(values: Sequence[float], part: float) -> float:
    """The value below which ``part`` of them lie; 0 without any."""
    if not values:
        return 0.0
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(part * len(ordered)))]


def smallest(
    make: Callable[[int], Layout], counts: Iterable[int], costs: Costs, seed: int
) -> Result | None:
    """The first of ascending shard counts that fits."""
    for count in counts:
        result = play(make(count), costs, seed)
        if result.fits:
            return result
    return None


def most(
    make: Callable[[float], Layout], rates: Iterable[float], costs: Costs, seed: int
) -> Result | None:
    """The last of ascending rates before the first that does not fit."""
    best = None
    for rate in rates:
        result = play(make(rate), costs, seed)
        if not result.fits:
            break
        best = result
    return best
