"""What changed since the last look, for every open console at once.

One :class:`Feed` per process samples the state store, finds the cells that changed, has each
rendered once, and hands the same text to every viewer. A viewer that cannot keep up loses frames
and notices by the gap.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import orjson

from routeradmin.engine.describe import utc_text
from routeradmin.engine.snapshot import Snapshot
from routeradmin.engine.state import CandidateKey, CandidateState, Change
from routeradmin.engine.windows import window
from routeradmin.services import candidates
from routeradmin.services.runtime import Runtime

FRAME_INTERVAL_S = 0.25  # at most 4 frames a second
HEARTBEAT_S = 5.0
ROWS_PER_FRAME = 150  # the rest follows in the next frame
# Between two slices the event loop serves requests.
ROWS_PER_SLICE = 50
PIECES_PER_SLICE = 8
VIEWERS_AT_ONCE = 2
SPREAD_S = 0.15  # until the last of many viewers has a frame
BACKLOG = 16  # frames a slow viewer may be behind
CHANGES_KEPT = 100

CELLS = ("state", "active", "rpm", "tpm", "latency", "why")
# By these a page knows whether a candidate that it does not show belongs on it now.
MOVED = ("id", "state", "active", "provider", "routes")

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Standing:
    """How the processes are: ``processes`` are pairs of id and revision; ``behind`` are those that
    lag, with whether it is that they say nothing; ``failing`` are the background jobs that fail,
    with how often and why."""

    revision: int
    processes: tuple[tuple[str, int], ...]
    behind: tuple[tuple[str, int, bool], ...]
    degraded: tuple[str, ...]
    failing: tuple[tuple[str, int, str], ...]

    @property
    def ready(self) -> int:
        """How many serve the newest revision."""
        return len(self.processes) - len(self.behind)

    @classmethod
    def of(cls, runtime: Runtime) -> Standing:
        found = runtime.processes()
        return cls(
            runtime.current.revision,
            tuple((one["id"], one["revision"]) for one in found),
            tuple(
                (one["id"], one["revision"], runtime.silence_ms(one["id"]) > 0)
                for one in found
                if one["lag_ms"]
            ),
            tuple(sorted(runtime.degraded)),
            tuple(
                (job.name, job.failures_in_a_row, job.last_error)
                for job in runtime.jobs.values()
                if job.failures_in_a_row
            ),
        )


@dataclass(frozen=True, slots=True)
class Delta:
    """What one frame tells: rows with the names of their changed cells, state changes, and the
    processes' standing where that changed."""

    rows: Sequence[tuple[Row, Sequence[str]]]
    all_rows: Sequence[Row]
    changes: Sequence[Change]
    now: float
    standing: Standing | None = None
    moved: Sequence[Row] = ()  # whose state changed, or that got their first or lost their last


Render = Callable[[Delta], Iterable[str]]


@dataclass(slots=True)
class _Seen:
    fingerprint: tuple[object, ...]
    row: Row


@dataclass(eq=False, slots=True)
class Viewer:
    """One open console's queue of frames; None is the end."""

    frames: asyncio.Queue[str | None] = field(default_factory=lambda: asyncio.Queue(BACKLOG))

    def offer(self, frame: str) -> None:
        with suppress(asyncio.QueueFull):
            self.frames.put_nowait(frame)

    def end(self) -> None:
        """Nothing that waits is shown any more."""
        while not self.frames.empty():
            self.frames.get_nowait()
        self.frames.put_nowait(None)


class Feed:
    """Samples, compares, renders, hands out. ``render`` makes HTML fragments, one by one."""

    def __init__(self, runtime: Runtime, render: Render) -> None:
        self.runtime = runtime
        self._render = render
        self._viewers: set[Viewer] = set()
        self._seen: dict[CandidateKey, _Seen] = {}
        self._snapshot: Snapshot | None = None
        self._standing: Standing | None = None
        self._changes: list[Change] = []
        self._beat = runtime.heartbeats.number
        self._own_steps = 0  # frames the store's counter does not know of
        self._last_seq = 0
        self._last_sent = float("-inf")
        self._wake = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        runtime.store.listen(self._heard)

    @property
    def seq(self) -> int:
        """Grows with every change of the store and with every frame that tells something."""
        return self.runtime.store.seq + self._own_steps

    @contextmanager
    def watching(self) -> Iterator[Viewer]:
        """A viewer for as long as the context lasts.

        Its first frame greets it with the place in the stream: a page that was read at that
        counter or later, by this process, has missed nothing.
        """
        viewer = Viewer()
        if not self._viewers:
            self._baseline(self.runtime.clock())
        viewer.offer(self._frame("hello", self._last_seq))
        self._viewers.add(viewer)
        try:
            yield viewer
        finally:
            self._viewers.discard(viewer)

    def start(self) -> None:
        """Tick from now on, as long as someone watches; does nothing when it ticks already."""
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._run())

    async def _run(self) -> None:
        """Ticks while someone watches, then ends."""
        loop = asyncio.get_running_loop()
        while self._viewers:
            started = loop.time()
            await self.tick(started)
            await asyncio.sleep(max(0.0, started + FRAME_INTERVAL_S - loop.time()))

    async def tick(self, at: float) -> None:
        """One look; ``at`` is the loop's time in seconds. Sends at most one frame."""
        told_until = self.runtime.store.seq  # what changes from here on is the next frame's
        delta = await self._delta(self.runtime.clock())
        if delta is not None:
            content = await self._rendered(delta)
            self._own_steps += 1
            await self._send("update", at, told_until + self._own_steps, content, delta.moved)
        elif at - self._last_sent >= HEARTBEAT_S:
            await self._send("heartbeat", at, self._last_seq)

    async def _rendered(self, delta: Delta) -> str:
        pieces = []
        for number, piece in enumerate(self._render(delta), 1):
            pieces.append(piece)
            if number % PIECES_PER_SLICE == 0:
                await asyncio.sleep(0)
        return "\n".join(pieces)

    async def _send(
        self,
        kind: str,
        at: float,
        seq: int,
        content: str | None = None,
        moved: Sequence[Row] = (),
    ) -> None:
        frame = self._frame(kind, seq, content, self._new_beats(), moved)
        self._last_seq, self._last_sent = seq, at
        await self._hand_out(frame, list(self._viewers))

    async def _hand_out(self, frame: str, viewers: Sequence[Viewer]) -> None:
        """To a few at a time: each write takes the loop a moment, and all at once would be a stop
        that every request of that moment feels."""
        for start in range(0, len(viewers), VIEWERS_AT_ONCE):
            if start:
                await asyncio.sleep(SPREAD_S * VIEWERS_AT_ONCE / len(viewers))
            for viewer in viewers[start : start + VIEWERS_AT_ONCE]:
                viewer.offer(frame)

    def _new_beats(self) -> dict[str, str] | None:
        """The tick that was taken since the last frame, by candidate; quiet ones are left out."""
        beats = self.runtime.heartbeats
        if beats.number == self._beat:
            return None
        self._beat = beats.number
        return {str(key): tick for key, tick in beats.latest.items()}

    def _frame(
        self,
        kind: str,
        seq: int,
        content: str | None = None,
        beats: dict[str, str] | None = None,
        moved: Sequence[Row] = (),
    ) -> str:
        snapshot = self.runtime.current.snapshot
        frame: dict[str, Any] = {
            "kind": kind,
            "process": self.runtime.process_id,
            "epoch": self.runtime.store.epoch,
            "seq": seq,
            "previous_seq": self._last_seq,
            "revision": snapshot.revision,
            "now": utc_text(self.runtime.clock()),
        }
        if content is not None:
            frame["content"] = content
        if beats is not None:
            frame["beats"] = beats
            frame["error_share"] = self.runtime.heartbeats.error_share
        if moved:
            frame["moved"] = [{name: row[name] for name in MOVED} for row in moved]
        return orjson.dumps(frame).decode()

    def _heard(self, changes: Sequence[Change]) -> None:
        if self._viewers:
            self._changes.extend(changes)
            del self._changes[:-CHANGES_KEPT]

    def _baseline(self, now: float) -> None:
        """Take the present as told: whoever joins has just loaded it."""
        snapshot = self._snapshot = self.runtime.current.snapshot
        self._standing = Standing.of(self.runtime)
        self._seen = {}
        for place, state in candidates.observed(snapshot, self.runtime.store.states()):
            row = candidates.candidate_json(place, state, now)
            self._seen[place.candidate.key] = _Seen(fingerprint(place, state, now), row)
        self._changes.clear()
        self._last_seq = self.seq

    async def _delta(self, now: float) -> Delta | None:
        """The changed cells; None when there is nothing to tell."""
        snapshot = self.runtime.current.snapshot
        if snapshot is not self._snapshot:
            self._baseline(now)  # pages load the new revision whole, told by its number
            rows = [seen.row for seen in self._seen.values()]
            return Delta((), rows, (), now, self._standing)
        changed: list[tuple[Row, Sequence[str]]] = []
        moved: list[Row] = []
        looked = list(candidates.observed(snapshot, list(self.runtime.store.states())))
        self._forget_all_but({place.candidate.key for place, _ in looked})
        for number, (place, state) in enumerate(looked, 1):
            if number % ROWS_PER_SLICE == 0:
                await asyncio.sleep(0)
            mark, seen = fingerprint(place, state, now), self._seen.get(place.candidate.key)
            if len(changed) >= ROWS_PER_FRAME or (seen and seen.fingerprint == mark):
                continue
            row = candidates.candidate_json(place, state, now)
            cells = changed_cells(seen.row, row) if seen else CELLS
            if seen is None or _has_moved(seen.row, row):
                moved.append(row)
            self._seen[place.candidate.key] = _Seen(mark, row)
            if cells:
                changed.append((row, cells))
        changes, self._changes = tuple(self._changes), []
        standing = self._new_standing()
        if not changed and not changes and standing is None:
            return None
        rows = [seen.row for seen in self._seen.values()]
        return Delta(changed, rows, changes, now, standing, moved)

    def _new_standing(self) -> Standing | None:
        before, self._standing = self._standing, Standing.of(self.runtime)
        return self._standing if self._standing != before else None

    def _forget_all_but(self, keys: set[CandidateKey]) -> None:
        """The state of a matched name goes when many others are asked for; no frame tells of it."""
        for key in self._seen.keys() - keys:
            del self._seen[key]


_feeds: list[Feed] = []  # of the process's runtime; tests bring their own and replace it


def feed_of(runtime: Runtime, render: Render) -> Feed:
    """The process's feed of this runtime; ``render`` counts only when it is made."""
    for feed in _feeds:
        if feed.runtime is runtime:
            return feed
    _feeds[:] = [Feed(runtime, render)]
    return _feeds[0]


def seq_of(runtime: Runtime) -> int:
    """The counter that frames and ``GET /api/v1/state`` share."""
    return next((feed.seq for feed in _feeds if feed.runtime is runtime), runtime.store.seq)


def state_json(runtime: Runtime) -> Row:
    """``GET /api/v1/state``: every candidate, read at one moment."""
    now, snapshot = runtime.clock(), runtime.current.snapshot
    return {
        "epoch": runtime.store.epoch,
        "seq": seq_of(runtime),
        "revision": snapshot.revision,
        "config_digest": snapshot.config_digest,
        "now": utc_text(now),
        "degraded": sorted(runtime.degraded),
        "processes": runtime.processes(),
        "candidates": candidates.candidates_json(snapshot, runtime.store.states(), now),
    }


def fingerprint(
    place: candidates.Placed, state: CandidateState | None, now: float
) -> tuple[object, ...]:
    """Cheap to build, differs whenever a cell could: most candidates rest most of the time."""
    drain_until = place.candidate.deployment.drain_until
    drained = drain_until is not None and drain_until <= now
    if state is None:
        return (drained,)
    return (
        drained,
        state.active,
        state.window == window(now),
        state.rpm_used,
        state.tpm_used,
        state.latency_ema_ms,
        state.health,
        state.recovering,
        state.needs_attention,
        state.probe_unhealthy,
        state.cooldown,
        state.cooldown_until > now,
        state.last_error,
    )


def _told(row: Row, cell: str) -> object:
    """The part of a row that a cell shows; a window's end is the same for all and not told."""
    match cell:
        case "state":
            until = row["cooldown"] and row["cooldown"]["until"]
            left = row["active"] if row["state"] == "draining" else 0
            return row["state"], row["admin_state"], row["health"], until, left
        case "active":
            return row["active"], row["max_parallel_requests"]
        case "rpm" | "tpm":
            return row[cell]["used"], row[cell]["limit"]
        case "latency":
            return row["latency_ms"]
        case _:
            cooldown = row["cooldown"]
            evidence = ("until", "since", "class", "status", "level", "set_by", "message")
            return cooldown and [cooldown[name] for name in evidence], row["last_error"]


def _has_moved(before: Row, after: Row) -> bool:
    """Whether a filtered list may have to take it in or let it go."""
    return before["state"] != after["state"] or bool(before["active"]) != bool(after["active"])


def changed_cells(before: Row, after: Row) -> tuple[str, ...]:
    return tuple(cell for cell in CELLS if _told(before, cell) != _told(after, cell))
