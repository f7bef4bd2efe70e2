"""The simulation of many processes on one Redis: its own logic, with costs made up."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.simulate import asking
from benchmarks.simulate.asking import Asker
from benchmarks.simulate.costs import Costs, Step
from benchmarks.simulate.layouts import (
    DEPLOYMENTS,
    PROCESSES,
    SELECTS_PER_S,
    Layout,
    cells,
    most,
    play,
    share,
    smallest,
    spread,
)
from benchmarks.simulate.shard import HOP_S, Load, Seen, Shard
from tests.scaleout.servers import RedisServer

STEP = Step(10.0, 100.0, 50.0)
COSTS = Costs(
    server="made up",
    call=Step(20.0, 80.0, 10.0),
    grant=STEP,
    save_turn=STEP,
    settle=STEP,
    answer=STEP,
    look=STEP,
    verdict=STEP,
    touch_us=5.0,
    make_entry_us=4.0,
    read_entry_us=0.2,
    poll_entry_us=4.0,
    entry_bytes=100.0,
    push_us=1.0,
    push_bytes=500.0,
    remembered_bytes=1000.0,
    select_process_us=80.0,
    call_process_us=40.0,
    entry_process_us=1.0,
)
SLOW = replace(COSTS, grant=Step(5_000.0, 100.0, 50.0))  # full at 200 a second
BARE = replace(COSTS, touch_us=0.0, make_entry_us=0.0, read_entry_us=0.0)
QUIET = Load(processes=4, deployments=20, selects_per_s=200.0)
BUSY = Load(processes=40, deployments=2_000, selects_per_s=8_000.0)


def run(load: Load, costs: Costs = COSTS, seed: int = 1, seconds: float = 0.5) -> Seen:
    return Shard(load, costs, seed).run(0.2, seconds)


def test_equal_seeds_give_equal_runs_and_others_do_not() -> None:
    assert run(BUSY) == run(BUSY)
    assert run(BUSY).grant_s != run(BUSY, seed=2).grant_s


def test_the_time_asked_of_redis_is_that_of_its_calls_and_steps() -> None:
    seen = run(BUSY, BARE)
    assert seen.busy_s == pytest.approx((seen.calls * 20 + seen.steps * 10) / 1e6)
    sent = seen.calls * 80 + seen.steps * 100
    assert seen.bytes_in == pytest.approx(sent)


def test_every_select_is_four_steps() -> None:
    seen = run(QUIET, seconds=5.0)
    selects = len(seen.grant_s)
    assert selects == pytest.approx(1_000, rel=0.15)
    assert seen.steps - seen.looks == pytest.approx(4 * selects, rel=0.05)


def test_an_idle_redis_answers_a_grant_after_two_hops_and_its_own_time() -> None:
    seen = run(replace(QUIET, selects_per_s=20.0, look_every_s=10.0), seconds=5.0)
    assert share(seen.grant_s, 0.5) == pytest.approx(2 * HOP_S + 35e-6)


def test_what_comes_while_a_call_is_under_way_goes_together() -> None:
    few = run(replace(BUSY, processes=4, selects_per_s=1_000.0))
    many = run(replace(BUSY, processes=4, selects_per_s=14_000.0))
    assert many.steps / many.calls > 2 * few.steps / few.calls


def test_a_view_is_never_older_than_a_look_a_frame_and_an_answer() -> None:
    seen = run(BUSY)
    assert seen.age_s
    longest = BUSY.look_every_s + BUSY.frame_s + 2 * max(seen.grant_s)
    assert max(seen.age_s) <= longest
    assert share(seen.age_s, 0.5) >= BUSY.look_every_s


def test_frames_are_made_for_all_and_polls_for_each() -> None:
    light = replace(BUSY, processes=10, selects_per_s=2_000.0)
    shared, alone = run(light), run(replace(light, frames=False))
    assert shared.busy_s < alone.busy_s
    assert shared.entries == pytest.approx(alone.entries, rel=0.3)


def test_a_frame_holds_so_many_and_the_next_has_the_rest() -> None:
    crowd = replace(QUIET, deployments=5_000)
    shard = Shard(crowd, COSTS, 1)
    shard.changed = set(range(5_000))
    ages = [shard.look(process, 1.0) for process in shard.processes[:3]]
    assert [frame.entries for frame in shard.frames] == [0, 2_000, 2_000, 1_000]
    assert [until for _, _, until in ages] == [0.0, 0.0, 1.0], "whole only with the third"


def test_a_verdict_is_pushed_to_every_process() -> None:
    calm = run(BUSY)
    storm = run(replace(BUSY, verdicts_per_s=200.0))
    more = storm.bytes_out - calm.bytes_out
    assert more > 0.8 * 200 * 0.5 * 40 * COSTS.push_bytes


def test_more_than_redis_can_do_is_given_up_and_said() -> None:
    far_too_much = replace(QUIET, selects_per_s=2_000.0)
    seen = run(far_too_much, SLOW, seconds=5.0)
    assert seen.hopeless
    assert seen.utilisation > 0.9
    assert not play(Layout("x", 1, 1, far_too_much), SLOW, 1).fits


@pytest.mark.parametrize("shards", [20, 50, 200])
def test_layouts_cut_the_whole_system(shards: int) -> None:
    for layout in (spread(shards), cells(shards)):
        load = layout.load
        assert layout.shards * load.selects_per_s == pytest.approx(SELECTS_PER_S)
        assert layout.shards * load.deployments == DEPLOYMENTS
        assert layout.shards * load.processes == PROCESSES * layout.links


def test_the_search_stops_at_the_first_count_that_fits_and_the_last_rate() -> None:
    def layout(rate: float) -> Layout:
        return Layout("x", 1, 1, replace(QUIET, selects_per_s=rate))

    best = most(layout, (5.0, 20.0, 2_000.0, 10.0), SLOW, 1)
    assert best is not None
    assert best.layout.load.selects_per_s == 20.0
    first = smallest(lambda count: layout(2_000.0 / count), (1, 100, 400), SLOW, 1)
    assert first is not None
    assert first.layout.load.selects_per_s == 20.0
    assert smallest(lambda count: layout(2_000.0), (1,), SLOW, 1) is None


def test_costs_come_back_as_they_were_written(tmp_path: Path) -> None:
    COSTS.write(tmp_path / "costs.json")
    assert Costs.read(tmp_path / "costs.json") == COSTS


def test_shares_are_values_of_the_list() -> None:
    assert [share([3.0, 1.0, 2.0, 4.0], part) for part in (0.0, 0.5, 0.99)] == [1.0, 3.0, 4.0]
    assert share([], 0.5) == 0.0


@pytest.mark.services
def test_what_is_measured_are_the_steps_that_processes_send() -> None:
    with RedisServer() as server:
        asker = Asker(server.url)
        (lease, grant), (other, second) = asker.grant(1), asker.grant(2)
        told = asker.call([grant, second, asking.settle(lease), asking.report(other, 2)])
        told += asker.call([asking.save_turn("t", 3), asking.look(0, 0), asking.poll("0")])
        asker.client.close()
    words = [answer[0] for answer in told]
    assert words == ["granted", "granted", "open", "open", "saved", "frames", "frames"]
