"""Sensitive text for ``auto`` never leaves local deployments: any catalog, any rules, any turn."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from routeradmin.engine.intents import Intent, IntentSettings, Matrix
from tests.dataplane.desk import Desk
from tests.engine.test_local_only import any_routes

SENSITIVE = ("mail ann@example.com", "4111 1111 1111 1111", "AKIAIOSFODNN7EXAMPLE")
MATRIX = Matrix(
    IntentSettings(enabled=True),
    {
        "secure": Intent("secure", "r", local_only=True),
        "vision": Intent("vision", "f"),
        "fast": Intent("fast", "f"),
    },
)


def wanted(rng: Random) -> dict[str, Any]:
    body: dict[str, Any] = {"text": rng.choice(SENSITIVE), "explain": rng.random() < 0.2}
    if rng.random() < 0.3:
        body["requires"] = ["vision"]
    if rng.random() < 0.5:
        names = [f"d{n}" for n in range(6)]
        body["preferences"] = rng.choice(
            [
                {"order": rng.sample(names, 3), "allow_fallbacks": rng.random() < 0.5},
                {"only": rng.sample(names, 3)},
                {"sort": "latency"},
            ]
        )
    if rng.random() < 0.3:
        body["session"] = "s"
    return body


@pytest.mark.parametrize("seed", range(0, 200, 10))
def test_no_select_of_any_turn_answers_with_another(desk: Desk, seed: int) -> None:
    for number in range(seed, seed + 10):
        rng = Random(number)
        world = any_routes(rng, matrix=MATRIX)
        desk.runtime.store = world.store
        desk.publish(world.snapshot)
        body, turn = wanted(rng), None
        for _ in range(8):
            asked = body if turn is None else {**body, "turn": turn, "explain": False}
            answer = desk.select("auto", **asked)
            if answer.status != 200:
                assert answer.status in (400, 409, 429, 503), answer.body
                break
            taken = answer.json
            assert "local" in world.snapshot.deployments[taken["deployment"]].tags
            turn = taken["turn"]
            desk.failed(taken, rng.choice([402, 429, 500, 503]))
            desk.runtime.clock.advance(rng.choice([1, 5, 40]))  # type: ignore[attr-defined]


def test_the_catalogs_are_not_all_refused(desk: Desk) -> None:
    """Some must find something local, or the property above says nothing."""
    found = 0
    for number in range(60):
        world = any_routes(Random(number), matrix=MATRIX)
        desk.runtime.store = world.store
        desk.publish(world.snapshot)
        found += desk.select("auto", text=SENSITIVE[0]).status == 200
    assert found >= 5
