"""One Redis and the processes that share it, event by event, in simulated time.

A process has one call under way at a time; what is asked meanwhile goes with the next (at most
``MOST_PER_CALL`` steps). Redis serves calls one after the other in the order of arrival. Every
process looks again ``look_every_s`` after its last look; the newest frame is remade when it is
``frame_s`` old. Selects arrive independently (Poisson) at any process and for any deployment;
each is a grant, a kept turn, and ``UPSTREAM_S`` later on average a settlement and its answer.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from heapq import heappop, heappush
from random import Random

from benchmarks.simulate.costs import Costs, Step

MOST_PER_CALL = 256
MOST_TOLD = 2000
UPSTREAM_S = 0.05
HOP_S = 0.0001  # between process and Redis, one way
HOPELESS_S = 0.5  # a wait from which nothing is learnt any more

GRANT, SAVE_TURN, SETTLE, ANSWER, LOOK, VERDICT = range(6)


@dataclass(frozen=True)
class Load:
    """What one Redis has to do with. ``frames``: whether views are refreshed by shared frames;
    else every look reads every changed candidate itself."""

    processes: int
    deployments: int
    selects_per_s: float
    verdicts_per_s: float = 0.0
    look_every_s: float = 0.1
    frame_s: float = 0.05
    frames: bool = True


@dataclass
class Seen:
    """What came out. ``busy_s`` is the processor time asked of Redis in ``seconds``, which may be
    more than there is; times are in seconds."""

    seconds: float
    busy_s: float = 0.0
    calls: int = 0
    steps: int = 0
    looks: int = 0
    entries: int = 0
    bytes_in: float = 0.0
    bytes_out: float = 0.0
    grant_s: list[float] = field(default_factory=list)
    age_s: list[float] = field(default_factory=list)
    hopeless: bool = False

    @property
    def utilisation(self) -> float:
        return self.busy_s / self.seconds


@dataclass
class Process:
    queue: deque[tuple[int, float]] = field(default_factory=deque)
    busy: bool = False
    frame: int = 0
    heard_until: float = 0.0  # the view holds all that happened before


@dataclass
class Frame:
    made_at: float
    entries: int


class Shard:
    """``run`` once. Equal arguments give equal results."""

    def __init__(self, load: Load, costs: Costs, seed: int) -> None:
        self.load, self.costs, self.rng = load, costs, Random(seed)
        self.now = 0.0
        self.free_at = 0.0
        self.processes = [Process() for _ in range(load.processes)]
        self.frames = [Frame(0.0, 0)]
        self.changed: set[int] = set()
        self.last_change = [-1.0] * load.deployments
        self.steps = (
            costs.grant,
            costs.save_turn,
            costs.settle,
            costs.answer,
            costs.look,
            costs.verdict,
        )
        self.seen = Seen(0.0)
        self._events: list[tuple[float, int, Callable[..., None], tuple[object, ...]]] = []
        self._count = 0

    def run(self, warm_s: float, seconds: float) -> Seen:
        self.seen.seconds = warm_s
        for process in self.processes:
            self.at(self.rng.random() * self.load.look_every_s, self.ask, process, LOOK)
        self.next_select()
        if self.load.verdicts_per_s:
            self.next_verdict()
        self.until(warm_s)
        if not self.seen.hopeless:
            self.seen = Seen(seconds)
            self.until(warm_s + seconds)
        return self.seen

    def until(self, ends: float) -> None:
        began = self.now
        while self._events and self._events[0][0] < ends and not self.seen.hopeless:
            self.now, _, act, args = heappop(self._events)
            act(*args)
        if self.seen.hopeless:
            self.seen.seconds = max(self.now - began, 1e-9)

    def at(self, when: float, act: Callable[..., None], *args: object) -> None:
        self._count += 1
        heappush(self._events, (when, self._count, act, args))

    # what processes do

    def next_select(self) -> None:
        self.ask(self.rng.choice(self.processes), GRANT)
        self.at(self.now + self.rng.expovariate(self.load.selects_per_s), self.next_select)

    def next_verdict(self) -> None:
        self.ask(self.rng.choice(self.processes), VERDICT)
        self.at(self.now + self.rng.expovariate(self.load.verdicts_per_s), self.next_verdict)

    def ask(self, process: Process, kind: int) -> None:
        process.queue.append((kind, self.now))
        if not process.busy:
            self.send(process)

    def send(self, process: Process) -> None:
        queue = process.queue
        call = [queue.popleft() for _ in range(min(len(queue), MOST_PER_CALL))]
        process.busy = True
        self.seen.hopeless |= self.now - call[0][1] > HOPELESS_S
        self.at(self.now + HOP_S, self.serve, process, call)

    def answered(
        self, process: Process, call: list[tuple[int, float]], frame: int, heard_until: float
    ) -> None:
        process.busy = False
        for kind, asked_at in call:
            if kind == GRANT:
                self.seen.grant_s.append(self.now - asked_at)
                process.queue.append((SAVE_TURN, self.now))
                ends = self.now + self.rng.expovariate(1 / UPSTREAM_S)
                self.at(ends, self.ask, process, SETTLE)
            elif kind == SETTLE:
                process.queue.append((ANSWER, self.now))
            elif kind == LOOK:
                self.age(process, heard_until)
                process.frame = frame
                self.at(self.now + self.load.look_every_s, self.ask, process, LOOK)
        if process.queue:
            self.send(process)

    def age(self, process: Process, heard_until: float) -> None:
        """The view's age just before this answer: the oldest it became."""
        self.seen.age_s.append(self.now - process.heard_until)
        process.heard_until = heard_until

    # what Redis does

    def serve(self, process: Process, call: list[tuple[int, float]]) -> None:
        start = max(self.now, self.free_at)
        took_us = self.charge(self.costs.call)
        touched: set[int] = set()
        frame, heard_until = process.frame, 0.0
        for kind, _ in call:
            took_us += self.charge(self.steps[kind])
            if kind in (GRANT, SETTLE, VERDICT):
                touched.add(self.rng.randrange(self.load.deployments))
            if kind == VERDICT:
                took_us += self.costs.push_us * self.load.processes
                self.seen.bytes_out += self.costs.push_bytes * self.load.processes
            elif kind == LOOK:
                looked_us, frame, heard_until = self.look(process, start)
                took_us += looked_us
        took_us += self.costs.touch_us * len(touched)
        self.note(touched, start)
        self.free_at = start + took_us / 1e6
        self.seen.busy_s += took_us / 1e6
        self.seen.calls += 1
        self.seen.steps += len(call)
        self.seen.hopeless |= self.free_at - self.now > HOPELESS_S
        self.at(self.free_at + HOP_S, self.answered, process, call, frame, heard_until)

    def note(self, touched: set[int], start: float) -> None:
        if self.load.frames:
            self.changed |= touched
        for one in touched:
            self.last_change[one] = start

    def charge(self, step: Step) -> float:
        self.seen.bytes_in += step.bytes_in
        self.seen.bytes_out += step.bytes_out
        return step.redis_us

    def look(self, process: Process, start: float) -> tuple[float, int, float]:
        """What it takes on top, the newest frame's number, and up to when it tells."""
        self.seen.looks += 1
        if not self.load.frames:
            return self.look_alone(process, start)
        took_us, until = 0.0, self.frames[-1].made_at
        if start - until >= self.load.frame_s:
            took_us, until = self.make_frame(start)
        newest = len(self.frames) - 1
        entries = sum(one.entries for one in self.frames[process.frame + 1 :])
        self.tell(entries)
        return took_us + self.costs.read_entry_us * entries, newest, until

    def make_frame(self, start: float) -> tuple[float, float]:
        """A frame holds so many at most: the rest waits for the next, which is due at once.
        Where nothing changed none is made."""
        if not self.changed:
            return 0.0, start
        entries = min(len(self.changed), MOST_TOLD)
        made_at = start if entries == len(self.changed) else self.frames[-1].made_at
        self.changed.difference_update(list(self.changed)[:entries])
        self.frames.append(Frame(made_at, entries))
        return self.costs.make_entry_us * entries, made_at

    def look_alone(self, process: Process, start: float) -> tuple[float, int, float]:
        """The longest unchanged come first, so many at most: the view is as old as the last."""
        found = sorted(when for when in self.last_change if when >= process.heard_until)
        until = start
        if len(found) > MOST_TOLD:
            until, found = found[MOST_TOLD], found[:MOST_TOLD]
        self.tell(len(found))
        return self.costs.poll_entry_us * len(found), 0, until

    def tell(self, entries: int) -> None:
        self.seen.entries += entries
        self.seen.bytes_out += self.costs.entry_bytes * entries
