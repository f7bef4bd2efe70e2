"""Routes with a strategy of the operator's own."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from routeradmin.engine.snapshot import Defaults
from routeradmin.services.selectors import Limited
from tests.dataplane.desk import Desk
from tests.engine.world import catalog, deployment, route


def last(candidates: Any, states: Any, request: Any, now: float, rng: Random) -> int:
    return len(candidates) - 1


def broken(*given: Any) -> int:
    raise RuntimeError("no idea")


def nonsense(*given: Any) -> Any:
    return "the best one"


def vandal(candidates: Any, states: Any, request: Any, now: float, rng: Random) -> int:
    for state in states:
        state.active = 10**6
        state.cooldown_until = now + 10**6
    rng.seed(0)
    return 1


def publish(desk: Desk, selector: Any, default: str = "fill_first") -> None:
    listed = [deployment(name) for name in "abc"]
    spec = route(["a", "b", "c"], strategy="custom:mine")
    given = {"mine": Limited("mine", selector, 5)} if selector else {}
    desk.publish(catalog(listed, spec, selectors=given, defaults=Defaults(strategy=default)))


def test_a_routes_selector_chooses(desk: Desk) -> None:
    publish(desk, last)
    assert {desk.took()["deployment"] for _ in range(5)} == {"c"}


@pytest.mark.parametrize(
    ("selector", "note"),
    [
        (broken, "the custom selector raised RuntimeError"),
        (nonsense, "the custom selector answered with no place in its list"),
        (None, "no selector named 'custom:mine'"),
    ],
)
def test_one_that_fails_falls_back_to_the_default_strategy_and_is_shown(
    desk: Desk, selector: Any, note: str
) -> None:
    publish(desk, selector)
    taken = desk.took()
    assert taken["deployment"] == "a"
    told = desk.call("POST", "/api/v1/explain", {"model": "m"}).json
    assert told["selector"] == {"strategy": "custom:mine", "note": note}
    desk.succeeded(taken)
    (record,) = desk.runtime.journal.take().turns
    assert record["warnings"][0]["code"] == "selector-fallback"
    assert record["warnings"][0]["detail"] == note


def test_round_robin_as_the_default_takes_turns_in_its_place(desk: Desk) -> None:
    publish(desk, broken, "round_robin")
    assert [desk.took()["deployment"] for _ in range(4)] == ["a", "b", "c", "a"]


def test_whatever_it_does_to_the_states_changes_nothing(desk: Desk) -> None:
    publish(desk, vandal)
    assert [desk.took()["deployment"] for _ in range(3)] == ["b", "b", "b"]
    state = desk.runtime.store.states()
    assert {one.active for one in state} <= {0, 3}
