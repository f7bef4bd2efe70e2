"""The feed: what changed is told once, in order, to everyone who can keep up."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from routeradmin.adapters.state_memory import MemoryStore
from routeradmin.engine.policy import DEFAULT_POLICY
from routeradmin.engine.state import CandidateKey, Dispatch, FailureClass, Grant, Outcome
from routeradmin.services import changes, live
from routeradmin.services.live import Delta, Feed, Viewer
from routeradmin.services.runtime import Runtime
from tests import factories as make

KEY = CandidateKey("acme-large", "acme-key")


class Recorder:
    """A renderer that keeps what it was asked to render."""

    def __init__(self) -> None:
        self.deltas: list[Delta] = []

    def __call__(self, delta: Delta) -> Sequence[str]:
        self.deltas.append(delta)
        return ["<p>"] * 20

    @property
    def cells(self) -> list[Sequence[str]]:
        return [cells for delta in self.deltas for _, cells in delta.rows]


@pytest.fixture
def recorder() -> Recorder:
    return Recorder()


@pytest.fixture
def feed(runtime: Runtime, recorder: Recorder) -> Feed:
    changes.replace_document(make.document(), changes.Actor("user:ada"))
    return Feed(runtime, recorder)


def frames(viewer: Viewer) -> list[dict[str, Any]]:
    found = []
    while not viewer.frames.empty():
        found.append(json.loads(viewer.frames.get_nowait() or "{}"))
    return found


async def reserve(runtime: Runtime) -> str:
    route = runtime.current.snapshot.routes["chat"]
    grant = Grant(route.tiers[0].candidates[0], "test", 60, 100, "chat")
    lease = await runtime.store.reserve(grant, runtime.clock())
    assert lease is not None
    return lease.id


def test_only_the_cells_that_changed_are_rendered(
    feed: Feed, runtime: Runtime, recorder: Recorder
) -> None:
    async def story() -> None:
        with feed.watching():
            await feed.tick(1)
            await reserve(runtime)
            await feed.tick(2)
            await feed.tick(3)

    asyncio.run(story())
    assert recorder.cells == [("active", "rpm", "tpm")]


def test_a_failure_and_its_end_are_both_told(
    feed: Feed, runtime: Runtime, recorder: Recorder, clock: Any
) -> None:
    async def story() -> None:
        with feed.watching():
            lease = await reserve(runtime)
            outcome = Outcome(FailureClass.RATE_LIMITED, Dispatch.REJECTED, status=429)
            await runtime.store.settle(lease, outcome, DEFAULT_POLICY, runtime.clock())
            await feed.tick(1)
            clock.advance(2)
            await feed.tick(2)

    asyncio.run(story())
    states = [row["state"] for delta in recorder.deltas for row, _ in delta.rows]
    assert states == ["cooling", "recovering"]
    kinds = [change.kind for change in recorder.deltas[0].changes]
    assert "cooldown-set" in kinds


def test_every_frame_names_the_one_before_it(feed: Feed, runtime: Runtime) -> None:
    async def story() -> list[dict[str, Any]]:
        with feed.watching() as viewer:
            for at in range(1, 4):
                await reserve(runtime)
                await feed.tick(at)
            return frames(viewer)

    told = asyncio.run(story())
    assert [one["kind"] for one in told] == ["hello", "update", "update", "update"]
    for before, after in pairwise(told):
        assert after["previous_seq"] == before["seq"]
        assert after["seq"] > before["seq"]
    assert {one["epoch"] for one in told} == {"test"}


def test_silence_is_broken_by_a_heartbeat_every_five_seconds(feed: Feed) -> None:
    async def story() -> list[dict[str, Any]]:
        with feed.watching() as viewer:
            for at in range(0, 48):
                await feed.tick(at / 4)
            return frames(viewer)

    kinds = [one["kind"] for one in asyncio.run(story())]
    assert kinds == ["hello", "heartbeat", "heartbeat", "heartbeat"]


def test_counters_that_move_often_are_told_once_a_tick(
    feed: Feed, runtime: Runtime, recorder: Recorder
) -> None:
    async def story() -> None:
        with feed.watching():
            for _ in range(20):
                await reserve(runtime)
            await feed.tick(1)

    asyncio.run(story())
    assert len(recorder.deltas) == 1
    assert recorder.deltas[0].rows[0][0]["active"] == 20


def test_two_viewers_get_the_same_frame_rendered_once(
    feed: Feed, runtime: Runtime, recorder: Recorder
) -> None:
    async def story() -> tuple[list[Any], list[Any]]:
        with feed.watching() as first, feed.watching() as second:
            await reserve(runtime)
            await feed.tick(1)
            return frames(first), frames(second)

    first, second = asyncio.run(story())
    assert first[-1] == second[-1]
    assert len(recorder.deltas) == 1


def test_a_slow_viewer_loses_frames_and_can_tell(feed: Feed, runtime: Runtime) -> None:
    async def story() -> list[dict[str, Any]]:
        with feed.watching() as viewer:
            for at in range(live.BACKLOG + 5):
                await reserve(runtime)
                await feed.tick(at)
            told = frames(viewer)
            await reserve(runtime)
            await feed.tick(99)
            return told + frames(viewer)

    told = asyncio.run(story())
    assert told[-1]["previous_seq"] > told[-2]["seq"]


def test_a_new_revision_is_told_by_its_number_and_loaded_whole(
    feed: Feed, runtime: Runtime, recorder: Recorder
) -> None:
    async def story() -> list[dict[str, Any]]:
        with feed.watching() as viewer:
            current = runtime.current
            current.swap(replace(current.snapshot, revision=2), current.document)
            await feed.tick(1)
            return frames(viewer)

    assert [one["revision"] for one in asyncio.run(story())] == [1, 2]
    assert recorder.cells == []


def test_the_state_document_and_the_frames_share_their_counter(
    feed: Feed, runtime: Runtime, recorder: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live, "_feeds", [feed])

    async def story() -> int:
        with feed.watching() as viewer:
            await reserve(runtime)
            await feed.tick(1)
            return int(frames(viewer)[-1]["seq"])

    assert live.state_json(runtime)["seq"] == runtime.store.seq
    assert asyncio.run(story()) == live.state_json(runtime)["seq"] > runtime.store.seq


def test_a_heartbeat_tick_comes_with_one_frame(feed: Feed, runtime: Runtime) -> None:
    async def story() -> list[dict[str, Any]]:
        with feed.watching() as viewer:
            await reserve(runtime)
            state = next(iter(runtime.store.states()))
            state.successes += 1
            runtime.heartbeats.take([state], runtime.clock())
            await feed.tick(1)
            await reserve(runtime)
            await feed.tick(2)
            return frames(viewer)

    told = asyncio.run(story())
    assert [one.get("beats") for one in told] == [None, {"acme-large/acme-key": "o"}, None]


def test_a_matched_name_that_the_store_forgot_is_no_row_any_more(
    feed: Feed, runtime: Runtime, recorder: Recorder
) -> None:
    async def story() -> None:
        with feed.watching():
            for at in range(1, 3):
                runtime.store = MemoryStore()
                await runtime.store.set_cooldown(
                    KEY._replace(matched=f"name-{at}"), 9, "user:ada", "", runtime.clock()
                )
                await feed.tick(at)

    asyncio.run(story())
    told = [row["matched"] for row in recorder.deltas[-1].all_rows]
    assert told == [None, "name-2"]


def test_a_frame_names_those_whose_state_changed_or_that_became_busy(
    feed: Feed, runtime: Runtime
) -> None:
    async def story() -> list[dict[str, Any]]:
        with feed.watching() as viewer:
            await reserve(runtime)
            await feed.tick(1)
            await reserve(runtime)
            await feed.tick(2)
            await runtime.store.set_cooldown(KEY, 9, "user:ada", "", runtime.clock())
            await feed.tick(3)
            return frames(viewer)

    moved = [one.get("moved") for one in asyncio.run(story())]
    told = {"id": "acme-large/acme-key", "provider": "acme", "routes": ["chat"]}
    assert moved == [
        None,
        [{**told, "state": "healthy", "active": 1}],
        None,
        [{**told, "state": "cooling", "active": 2}],
    ]


def test_a_store_that_goes_away_is_told_once_and_its_return_too(
    feed: Feed, runtime: Runtime, recorder: Recorder
) -> None:
    async def story() -> None:
        with feed.watching():
            for at, change in enumerate((lambda word: None, runtime.degraded.add) * 2, 1):
                change("store")
                await feed.tick(at)
            runtime.degraded.clear()
            await feed.tick(9)

    asyncio.run(story())
    standing = [delta.standing for delta in recorder.deltas]
    assert [one and one.degraded for one in standing] == [("store",), ()]


def test_a_cooldown_that_is_extended_is_told_with_its_new_end(
    feed: Feed, runtime: Runtime, recorder: Recorder
) -> None:
    async def story() -> None:
        with feed.watching():
            for at, seconds in enumerate((60, 600), 1):
                await runtime.store.set_cooldown(KEY, seconds, "user:ada", "", runtime.clock())
                await feed.tick(at)

    asyncio.run(story())
    assert recorder.cells == [("state", "why"), ("state", "why")]
    assert [len(delta.moved) for delta in recorder.deltas] == [1, 0]


def test_how_many_requests_a_draining_deployment_still_has_is_told(
    feed: Feed, runtime: Runtime, recorder: Recorder
) -> None:
    changes.drain("acme-large", changes.Actor("user:ada"))

    async def story() -> None:
        leases = [await reserve(runtime) for _ in range(2)]
        with feed.watching():
            for at, lease in enumerate(leases, 2):
                await runtime.store.release(lease, runtime.clock())
                await feed.tick(at)

    asyncio.run(story())
    assert [cells[:2] for cells in recorder.cells] == [("state", "active")] * 2


def test_many_viewers_get_a_frame_a_few_at_a_time_and_before_the_next(
    feed: Feed, runtime: Runtime
) -> None:
    async def story() -> tuple[int, list[int]]:
        with ExitStack() as watching:
            viewers = [watching.enter_context(feed.watching()) for _ in range(9)]
            for viewer in viewers:
                await viewer.frames.get()  # the greeting
            await reserve(runtime)
            ticking = asyncio.create_task(feed.tick(1))
            waiting = [asyncio.create_task(viewer.frames.get()) for viewer in viewers]
            early, _ = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            await ticking
            told = [json.loads(await one or "{}")["seq"] for one in waiting]
            return len(early), told

    early, told = asyncio.run(story())
    assert early == live.VIEWERS_AT_ONCE
    assert len(set(told)) == 1
    assert live.SPREAD_S < live.FRAME_INTERVAL_S
