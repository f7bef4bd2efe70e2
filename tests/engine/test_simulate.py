"""What if: assumed states, shares over many draws, nothing touched."""

from __future__ import annotations

from typing import Any

import pytest

from routeradmin.engine.objects import AdminState
from routeradmin.engine.simulate import Assumed, Simulation, simulate
from tests.engine.world import ASK, NOW, World, asking, catalog, deployment, route


def run(world: World, overlay: dict[str, Assumed] | None = None, **how: Any) -> Simulation:
    how = {"draws": 1000, "seed": 7, **how}
    return simulate(
        world.snapshot, "m", how.pop("request", ASK), world.store, NOW, overlay=overlay or {}, **how
    )


def two(**facts: Any) -> World:
    return World(catalog([deployment("a", weight=3), deployment("b")], route("ab", **facts)))


def test_shares_follow_the_weights_and_the_seed() -> None:
    world = two()
    first, again, other = run(world), run(world), run(world, seed=8)
    assert first.shares == again.shares != other.shares
    assert first.shares["a/k"] == pytest.approx(0.75, abs=0.05)
    assert sum(first.shares.values()) == pytest.approx(1.0)
    assert first.refused == 0


def test_an_assumed_cooldown_moves_everything_away() -> None:
    found = run(two(), {"a/k": Assumed(cooling=True)})
    assert found.shares == {"a/k": 0.0, "b/k": 1.0}
    target = found.explanation.targets[0]
    assert target.rejections == ("cooling-down",)
    assert target.runtime["cooldown"]["set_by"] == "simulation"


@pytest.mark.parametrize(
    ("assumed", "reason"),
    [
        (Assumed(unhealthy=True), "unhealthy"),
        (Assumed(disabled=True), "disabled"),
        (Assumed(active=2), "parallel-limit"),
        (Assumed(rpm=5), "rpm-limit"),
        (Assumed(tpm=100), "tpm-limit"),
    ],
)
def test_each_assumption_has_its_reason(assumed: Assumed, reason: str) -> None:
    limits = {"max_parallel_requests": 2, "rpm_limit": 5, "tpm_limit": 100}
    world = World(catalog([deployment("a", **limits), deployment("b")]))
    found = run(world, {"a/k": assumed})
    assert found.explanation.targets[0].rejections == (reason,)
    assert found.shares["b/k"] == 1.0


def test_assuming_the_good_takes_the_bad_away() -> None:
    down = deployment("a", admin_state=AdminState.DISABLED)
    world = World(catalog([down]))
    world.cool("a", 60)
    world.set("a", probe_unhealthy=True)
    assert run(world).refused == 1000
    well = Assumed(cooling=False, unhealthy=False, disabled=False)
    assert run(world, {"a/k": well}).shares == {"a/k": 1.0}


def test_everything_refused_is_counted() -> None:
    found = run(two(), {"a/k": Assumed(cooling=True), "b/k": Assumed(disabled=True)}, draws=10)
    assert found.refused == 10
    assert found.as_json()["shares"] == {"a/k": 0.0, "b/k": 0.0}
    assert found.as_json()["explanation"]["selected_target_id"] is None


def test_round_robin_takes_its_turns_within_the_simulation_only() -> None:
    world = two(strategy="round_robin")
    world.picks(1)
    found = run(world, draws=10)
    assert found.shares == {"a/k": 0.5, "b/k": 0.5}
    assert found.explanation.winner == world.state("b").key
    assert world.store.cursor("r/0") == 1


def test_nothing_of_a_simulation_reaches_the_store() -> None:
    world = two()
    seq = world.store.seq
    run(world, {"a/k": Assumed(True, True, True, 5, 5, 5)})
    state = world.state("a")
    assert (state.active, state.rpm_used, state.cooldown) == (0, 0, None)
    assert world.store.seq == seq


def test_the_first_draw_is_selects_choice_for_the_same_seed() -> None:
    world = two()
    for seed in range(50):
        found = run(world, seed=seed, draws=1)
        assert found.shares[str(found.explanation.winner)] == 1.0


@pytest.mark.parametrize("draws", [0, 10_001])
def test_draws_are_bounded(draws: int) -> None:
    with pytest.raises(ValueError, match="1 to 10000"):
        run(two(), draws=draws)


def test_requirements_count_in_a_simulation() -> None:
    assert run(two(), request=asking(exclude=frozenset({"a"}))).shares["b/k"] == 1.0
