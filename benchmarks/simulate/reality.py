"""Whether the costs add up: a second of 200 refreshing processes on a real Redis, and reckoned."""

from __future__ import annotations

import time

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
        number, _ = writer.newest_frame()
        readers = [Asker(url) for _ in range(CONNECTIONS)]
        known = [number] * CONNECTIONS
        before, reckoned = cpu_s(writer.client), 0.0
        for start in range(0, GRANTS, BATCH):
            reckoned += grant_and_settle(writer, start, costs)
            for place in range(start // BATCH % 4, CONNECTIONS, 4):
                frames = look(readers[place], known, place)
                made = max(frames[0] - number, 0)
                reckoned += costs.call.redis_us + costs.look.redis_us
                reckoned += frames[1] * costs.read_entry_us
                reckoned += made and frames[2] * costs.make_entry_us
                number += made
        return reckoned / 1e3, (cpu_s(writer.client) - before) * 1e3


def grant_and_settle(writer: Asker, start: int, costs: Costs) -> float:
    """A batch of each, and what it should take (microseconds)."""
    granted = [writer.grant((start + i) * 37 % DEPLOYMENTS) for i in range(BATCH)]
    writer.call([step for _, step in granted])
    writer.call([asking.settle(lease_id) for lease_id, _ in granted])
    steps = costs.grant.redis_us + costs.settle.redis_us
    return 2 * costs.call.redis_us + BATCH * (steps + 2 * costs.touch_us)


def look(reader: Asker, known: list[int], place: int) -> tuple[int, int, int]:
    """The newest frame's number, entries read, entries of the newest."""
    (told,) = reader.call([asking.look(known[place], OLD_MS)])
    if told[0] != "frames":  # this machine stood still for longer than frames are kept
        known[place], _ = reader.newest_frame()
        return known[place], 0, 0
    known[place] = told[2]
    return told[2], sum(map(len, told[-1])), len(told[-1][-1]) if told[-1] else 0


def report(costs: Costs) -> None:
    started = time.perf_counter()
    reckoned_ms, used_ms = compare(costs)
    took_s = time.perf_counter() - started
    print(
        f"{GRANTS:,} grants and reports and {CONNECTIONS} connections that look: reckoned "
        f"{reckoned_ms:.0f} ms of Redis, used {used_ms:.0f} ms ({took_s:.1f} s of wall clock)"
    )
