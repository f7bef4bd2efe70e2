"""Whether the costs add up: a second of 200 refreshing processes on a real Redis, and reckoned."""

from __future__ import annotations

import time
from dataclasses import dataclass

from benchmarks.redis_server import cpu_s, redis_server
from benchmarks.servers import CPUS
from benchmarks.simulate import asking
from benchmarks.simulate.asking import Asker
from benchmarks.simulate.calibration import BATCH, DEPLOYMENTS, populate
from benchmarks.simulate.costs import Costs

CONNECTIONS = 200
GRANTS = 2_000  # and as many settlements
OLD_MS = 50


def compare(costs: Costs) -> tuple[float, float]:
    """Milliseconds of Redis's processor time: reckoned, used. After each batch of grants and
    settlements a quarter of the connections look."""
    with redis_server(CPUS) as url:
        writer = Asker(url)
        populate(writer)
        newest, since = writer.newest_frame()
        readers = [Reader(Asker(url), newest, since) for _ in range(CONNECTIONS)]
        before, reckoned_us = cpu_s(writer.client), 0.0
        for start in range(0, GRANTS, BATCH):
            reckoned_us += grant_and_settle(writer, start, costs)
            for reader in readers[start // BATCH % 4 :: 4]:
                reckoned_us += reader.look(costs, newest)
                newest = max(newest, reader.known)
        return reckoned_us / 1e3, (cpu_s(writer.client) - before) * 1e3


@dataclass
class Reader:
    """A process that looks: the last frame it heard, and the step up to which it knows all."""

    asker: Asker
    known: int
    since: str

    def look(self, costs: Costs, newest: int) -> float:
        """What it should take (microseconds); ``newest`` is the last frame made so far."""
        (told,) = self.asker.call([asking.look(self.known, OLD_MS)])
        took_us = costs.call.redis_us + costs.look.redis_us
        if told[0] != "frames":  # this machine stood still for longer than frames are kept
            (told,) = self.asker.call([asking.poll(self.since)])
            took_us += costs.call.redis_us + costs.poll_entry_us * len(told[-1][0])
        else:
            took_us += costs.read_entry_us * sum(map(len, told[-1]))
        if told[2] > newest:
            took_us += costs.make_entry_us * len(told[-1][-1])
        self.known, self.since = told[2], told[3]
        return took_us


def grant_and_settle(writer: Asker, start: int, costs: Costs) -> float:
    """A batch of each, and what it should take (microseconds)."""
    granted = [writer.grant((start + i) * 37 % DEPLOYMENTS) for i in range(BATCH)]
    writer.call([step for _, step in granted])
    writer.call([asking.settle(lease_id) for lease_id, _ in granted])
    steps = costs.grant.redis_us + costs.settle.redis_us
    return 2 * costs.call.redis_us + BATCH * (steps + 2 * costs.touch_us)


def report(costs: Costs) -> None:
    started = time.perf_counter()
    reckoned_ms, used_ms = compare(costs)
    took_s = time.perf_counter() - started
    print(
        f"{GRANTS:,} grants and reports and {CONNECTIONS} connections that look: reckoned "
        f"{reckoned_ms:.0f} ms of Redis, used {used_ms:.0f} ms ({took_s:.1f} s of wall clock)"
    )
