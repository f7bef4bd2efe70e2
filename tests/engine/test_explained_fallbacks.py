"""Where a turn goes on when its route has nobody: explained as the turn itself does it."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from routeradmin.engine.explain import explain
from routeradmin.engine.objects import WhenExhausted
from routeradmin.engine.policy import FallbackLists, Policy, TurnPolicy
from routeradmin.engine.simulate import simulate
from tests.engine.turn_world import ASK, T0, Drive, catalog, deployment, route

NAMES = ("A", "B", "C")
LISTS = FallbackLists(general=("b",), rate_limit=("r", "c", "c", "b", "gone"))


def standing(lists: FallbackLists = LISTS, bound: int = 5, **facts: Any) -> Drive:
    """``m`` over A, with routes b and c over their one deployment in its policy's lists."""
    policy = Policy(fallback=lists, turn=TurnPolicy(max_fallback_routes=bound))
    others = [route([n], id=n.lower(), alias=n.lower()) for n in NAMES[1:]]
    snapshot = catalog(
        [deployment(n) for n in NAMES], route(["A"], **facts), *others, policy=policy
    )
    return Drive(snapshot, {})


def told(drive: Drive) -> list[tuple[str, int, int]]:
    found = explain(drive.snapshot, "m", ASK, drive.store, T0, Random(1)).as_json()
    return [
        (one["route_id"], one["usable"], one["candidates"])
        for one in found.get("fallback_routes", ())
    ]


def test_a_rate_limit_opens_its_own_list_without_the_route_itself_and_repetitions() -> None:
    drive = standing()
    drive.cool("A", 60, "rate-limited")
    assert told(drive) == [("c", 1, 1), ("b", 1, 1)]
    drive.cool("C", 60, "transient")
    assert told(drive) == [("c", 0, 1), ("b", 1, 1)]


def test_any_other_cooldown_opens_the_general_list() -> None:
    drive = standing()
    drive.cool("A", 60, "transient")
    assert told(drive) == [("b", 1, 1)]


def test_no_more_routes_are_told_than_a_turn_would_enter() -> None:
    drive = standing(bound=1)
    drive.cool("A", 60, "rate-limited")
    assert told(drive) == [("c", 1, 1)]


def test_nothing_is_told_while_somebody_is_chosen_or_with_fallback_off() -> None:
    assert told(standing()) == []
    drive = standing(fallback_enabled=False)
    drive.cool("A", 60, "rate-limited")
    assert told(drive) == []


@pytest.mark.parametrize("cls", ["rate-limited", "transient"])
def test_the_turn_goes_where_the_explanation_says(cls: str) -> None:
    drive = standing()
    drive.cool("A", 60, cls)
    expected = next(route_id for route_id, usable, _ in told(drive) if usable)
    drive.run()
    assert drive.calls[0].partition("/")[0].lower() == expected


@pytest.mark.parametrize("others_cool", [False, True])
def test_fallback_routes_come_before_the_least_bad(others_cool: bool) -> None:
    drive = standing(when_exhausted=WhenExhausted.LEAST_BAD)
    for name in NAMES if others_cool else "A":
        drive.cool(name, 60, "transient")
    explanation = explain(drive.snapshot, "m", ASK, drive.store, T0, Random(1))
    found = simulate(drive.snapshot, "m", ASK, drive.store, T0, overlay={}, draws=5, seed=1)
    drive.run()
    if others_cool:
        assert str(explanation.winner) == drive.calls[0] == "A/k"
        assert (found.refused, found.shares["A/k"]) == (0, 1)
    else:
        assert explanation.winner is None
        assert (found.refused, drive.calls[0]) == (5, "B/k")
