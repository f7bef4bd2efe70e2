"""Client preferences: they order and narrow what a route permits, and nothing else."""

from __future__ import annotations

from random import Random

import pytest

from routeradmin.engine.explain import explain
from routeradmin.engine.objects import Rule
from routeradmin.engine.preferences import Preferences
from routeradmin.engine.request import SelectRequest
from routeradmin.engine.resolve import resolve
from routeradmin.engine.select import Pick, pick
from routeradmin.engine.turn_state import TurnState
from tests.engine.world import NOW, World, catalog, deployment, route

LISTED = [
    deployment("a", provider="openai", input_price=3.0),
    deployment("b", provider="anthropic", input_price=1.0),
    deployment("c", provider="groq", input_price=2.0, output_price=9.0),
    deployment("z", provider="zoo"),
]


def world(**facts: object) -> World:
    facts.setdefault("fallback_enabled", True)
    return World(catalog(LISTED, route(["a", "b", "c"], ["z"], **facts)))


def chosen(held: World, **liked: object) -> str | None:
    asked = SelectRequest("m", preferences=Preferences(**liked))  # type: ignore[arg-type]
    names = set()
    for seed in range(12):
        found = pick(resolve(held.snapshot, "m"), asked, held.store, NOW, Random(seed))
        names.add(found.candidate.deployment.id if isinstance(found, Pick) else found.kind)
    return names.pop() if len(names) == 1 else None


def told(held: World, **liked: object) -> dict[str, object]:
    asked = SelectRequest("m", preferences=Preferences(**liked))  # type: ignore[arg-type]
    found = explain(held.snapshot, "m", asked, held.store, NOW, Random(1)).as_json()
    preferences: dict[str, object] = found["preferences"]
    return preferences


def test_order_comes_before_the_strategy_and_skips_what_cannot_be_used() -> None:
    held = world()
    assert chosen(held, order=("groq", "Anthropic")) == "c"
    held.cool("c", 60)
    assert chosen(held, order=("groq", "Anthropic")) == "b"
    held.cool("b", 60)
    assert chosen(held, order=("groq", "Anthropic")) == "a"


def test_without_fallbacks_only_the_ordered_ones_are_left() -> None:
    held = world()
    held.cool("c", 60)
    assert chosen(held, order=("groq",), allow_fallbacks=False) == "model_cooldown"


def test_without_fallbacks_and_order_later_tiers_are_closed() -> None:
    held = world()
    for name in "abc":
        held.cool(name, 60)
    assert chosen(held) == "z"
    assert chosen(held, allow_fallbacks=False) == "model_cooldown"


def test_only_and_ignore_narrow() -> None:
    assert chosen(world(), only=("openai",)) == "a"
    assert chosen(world(), ignore=("openai", "b")) == "c"


@pytest.mark.parametrize(("sort", "best"), [("price", "b"), ("latency", "c"), ("throughput", "c")])
def test_sort_takes_the_best_measure(sort: str, best: str) -> None:
    held = world()
    held.set("a", latency_ema_ms=300.0)
    held.set("c", latency_ema_ms=100.0)
    assert chosen(held, sort=sort) == best


def test_an_order_never_opens_a_tier_before_its_turn() -> None:
    assert chosen(world(), order=("zoo",)) in (None, "a", "b", "c")


def test_a_rule_still_holds() -> None:
    held = world(rules=(Rule("x", 0, only=("a",)),))
    assert chosen(held, order=("groq",)) == "a"
    assert chosen(held, only=("groq",)) == "no_available_deployment"


def test_an_only_that_fits_nothing_leaves_nothing() -> None:
    held = world()
    assert chosen(held, only=("unheard-of",)) == "no_available_deployment"
    assert told(held, only=("unheard-of",))["dropped"] == [
        {"word": "only", "name": "unheard-of", "why": "is no target this route permits"}
    ]


def test_what_the_route_has_no_use_for_is_shown_as_dropped() -> None:
    found = told(world(fallback_enabled=False), order=("zoo", "groq"), unknown=("quantizations",))
    assert found["asked"] == {"order": ["zoo", "groq"]}
    assert [one.get("name") or one["word"] for one in found["dropped"]] == [  # type: ignore[attr-defined]
        "quantizations",
        "zoo",
    ]


def test_candidates_left_out_by_the_client_say_so() -> None:
    held = world()
    asked = SelectRequest("m", preferences=Preferences(ignore=("openai",)))
    found = explain(held.snapshot, "m", asked, held.store, NOW, Random(1))
    reasons = {one.candidate.deployment.id: one.rejections for one in found.targets}
    assert reasons["a"] == ("excluded",)
    assert reasons["b"] == ()


def test_they_survive_with_the_turn() -> None:
    liked = Preferences(order=("a",), allow_fallbacks=False, sort="price")
    state = TurnState("t", "m", "r", SelectRequest("m", preferences=liked), NOW)
    assert TurnState.from_json(state.as_json()).request.preferences == liked
