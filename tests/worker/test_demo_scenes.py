"""The demo's troubles come and go by the clock, one cycle after the other."""

from __future__ import annotations

import asyncio

import pytest

from routeradmin.adapters.simulated import SimulatedProvider
from routeradmin.services import demo_catalog
from routeradmin.services.runtime import Runtime
from routeradmin.worker.demo_scenes import CYCLE_S, PACES, SCENES, Director
from tests.conftest import FakeClock


def in_force(provider: SimulatedProvider) -> list[str]:
    """Models whose calls meet a fault."""
    scripts = provider.scripts.as_json()
    return [one["model"] for one in scripts if "rates" not in one]


@pytest.mark.parametrize("cycle", [0, 1, 7])
def test_every_scene_is_in_force_in_its_time_of_every_cycle(
    runtime: Runtime, clock: FakeClock, cycle: int
) -> None:
    demo_catalog.put_in_place(41234)
    provider = SimulatedProvider()
    director = Director(provider, clock())
    began = clock.now
    for scene in SCENES:
        clock.now = began + cycle * CYCLE_S + scene.from_s + 0.1
        asyncio.run(director.tick(runtime))
        assert scene.model in in_force(provider)
        clock.now = began + cycle * CYCLE_S + scene.to_s + 0.1
        asyncio.run(director.tick(runtime))
        others = [other for other in SCENES if other is not scene and other.model == scene.model]
        at_s = scene.to_s + 0.1
        if not any(other.from_s <= at_s < other.to_s for other in others):
            assert scene.model not in in_force(provider)


def test_every_model_of_the_demo_has_a_pace_and_every_scene_a_model() -> None:
    names = {model.upstream_name for model in demo_catalog.fixture().models}
    assert names == PACES.keys()
    assert {scene.model for scene in SCENES} <= names
    assert all(scene.to_s < CYCLE_S for scene in SCENES)


def test_a_scene_for_one_account_is_for_calls_with_its_secret_alone(
    runtime: Runtime, clock: FakeClock
) -> None:
    demo_catalog.put_in_place(41234)
    provider = SimulatedProvider()
    director = Director(provider, clock())
    clock.advance(SCENES[0].from_s)
    asyncio.run(director.tick(runtime))
    secrets = [runtime.secrets.by_id(id) for id in ("openwave-a", "openwave-b")]
    faults = [
        provider.scripts.find("chat", "wave-large-2", secret.reveal())
        for secret in secrets
        if secret is not None
    ]
    assert [one.script.rates is None for one in faults if one is not None] == [True, False]
