"""What each strategy picks, and how it breaks ties."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from random import Random

import pytest

from routeradmin.engine.request import SelectRequest
from routeradmin.engine.select import Pick
from routeradmin.engine.snapshot import Candidate
from routeradmin.engine.state import CandidateState
from tests.engine.world import ASK, NOW, World, asking, catalog, deployment, route

WINDOW = int(NOW // 60)


def world(strategy: str, *deployments: object, **facts: object) -> World:
    listed = [deployment(d) if isinstance(d, str) else d for d in deployments]
    ids = [d.id for d in listed]  # type: ignore[union-attr]
    return World(catalog(listed, route(ids, strategy=strategy), **facts))  # type: ignore[arg-type]


def shares(world: World, count: int) -> Counter[str]:
    return Counter(world.picks(count))


# simple_shuffle


def test_a_shuffle_follows_the_weights() -> None:
    seen = shares(world("simple_shuffle", *weighted(a=1, b=3, c=0)), 4000)
    assert seen["c"] == 0
    assert 900 < seen["a"] < 1100


def test_a_weight_of_zero_beside_a_positive_one_gets_nothing() -> None:
    assert shares(world("simple_shuffle", *weighted(a=1, b=0)), 500) == {"a": 500}


def test_weights_that_are_all_zero_are_even() -> None:
    seen = shares(world("simple_shuffle", *weighted(a=0, b=0)), 400)
    assert all(140 <= seen[name] <= 260 for name in "ab")


def test_what_is_left_is_even_when_only_zero_weights_are_left() -> None:
    two = world("simple_shuffle", *weighted(a=5, b=0, c=0))
    two.cool("a", 60)
    seen = shares(two, 400)
    assert seen["a"] == 0
    assert all(140 <= seen[name] <= 260 for name in "bc")


def test_weights_5_3_2_0_share_100_picks_and_60_to_40_without_the_5() -> None:
    four = world("simple_shuffle", *weighted(a=5, b=3, c=2, d=0))
    seen = shares(four, 10_000)
    assert [round(seen[name] / 1000) for name in "abcd"] == [5, 3, 2, 0]
    seen = Counter(four.picks(10_000, request=asking(exclude=frozenset({"a"}))))
    assert [round(seen[name] / 1000) for name in "abcd"] == [0, 6, 4, 0]


def test_a_further_key_does_not_change_the_share_between_deployments() -> None:
    keyed = world("simple_shuffle", deployment("a", keys=("k1", "k2", "k3")), "b")
    keyed.cool("a", 60, key="k2")
    seen: Counter[tuple[str, str]] = Counter()
    for _ in range(4000):
        found = keyed.look()
        assert isinstance(found, Pick)
        seen[found.candidate.deployment.id, found.candidate.credential.id] += 1
    assert seen["a", "k2"] == 0
    assert all(900 < seen["a", key] < 1100 for key in ("k1", "k3"))
    assert 1850 < seen["b", "k"] < 2150


def test_one_candidate_alone_costs_no_draw() -> None:
    alone = world("simple_shuffle", "a")
    before = alone.rng.getstate()
    assert alone.chosen() == "a"
    assert alone.rng.getstate() == before


def weighted(**weights: int) -> list[object]:
    return [deployment(name, weight=weight) for name, weight in weights.items()]


# round_robin


def test_round_robin_takes_turns_per_route() -> None:
    both = World(
        catalog(
            [deployment(name) for name in "abcd"],
            route("ab", id="x", alias="x", strategy="round_robin"),
            route("cd", id="y", alias="y", strategy="round_robin"),
        )
    )
    served = [both.chosen(name=name) for name in ("x", "y", "x", "y", "x", "y")]
    assert served == ["a", "c", "b", "d", "a", "c"]


def test_a_cooling_neighbour_gets_nothing_and_gives_nobody_two_shares() -> None:
    four = world("round_robin", *"pqrs")
    four.cool("q", 600)
    assert shares(four, 90) == {"p": 30, "r": 30, "s": 30}


def test_the_turn_stays_where_it_is_while_one_candidate_is_left() -> None:
    two = world("round_robin", "a", "b")
    assert two.picks(3) == ["a", "b", "a"]
    two.cool("b", 60)
    assert two.picks(5) == ["a"] * 5
    assert two.store.cursor("r/0") == 3


def test_each_credential_has_its_turn_in_order() -> None:
    keyed = world("round_robin", deployment("d", keys=("kb", "ka", "kc")))
    keys = []
    for _ in range(5):
        found = keyed.look()
        assert isinstance(found, Pick)
        keyed.store._advance(found.cursor or "")
        keys.append(found.candidate.credential.id)
    assert keys == ["ka", "kb", "kc", "ka", "kb"]


def test_credentials_of_one_provider_come_before_the_next_providers() -> None:
    pooled = world(
        "round_robin", deployment("groq", keys=("A", "B")), deployment("or", keys=("A", "B"))
    )
    keys = []
    for _ in range(5):
        found = pooled.look()
        assert isinstance(found, Pick)
        pooled.store._advance(found.cursor or "")
        keys.append(str(found.candidate.key))
    assert keys == ["groq/A", "groq/B", "or/A", "or/B", "groq/A"]


def test_a_tier_takes_its_turns_before_the_next_tier() -> None:
    tiers = World(
        catalog(
            [deployment(name) for name in "abc"],
            route("ab", "c", strategy="round_robin", fallback_enabled=True),
        )
    )
    assert tiers.picks(4) == ["a", "b", "a", "b"]
    tiers.cool("a", 60)
    tiers.cool("b", 60)
    assert tiers.picks(2) == ["c", "c"]


def test_an_edit_that_keeps_the_members_keeps_the_turn() -> None:
    two = world("round_robin", "a", "b")
    assert two.picks(3) == ["a", "b", "a"]
    heavier = [deployment("a", weight=9), deployment("b")]
    two.snapshot = catalog(heavier, route("ab", strategy="round_robin"))
    two.store.bind(two.snapshot)
    assert two.picks(2) == ["b", "a"]


# the ones that compare


def test_least_busy_takes_the_one_with_fewest_leases() -> None:
    three = world("least_busy", *"abc")
    three.set("a", active=2)
    three.set("c", active=1)
    assert three.picks(5) == ["b"] * 5


def test_least_busy_is_even_among_equals() -> None:
    assert all(count >= 60 for count in shares(world("least_busy", *"abcd"), 400).values())


def test_latency_skips_a_full_one_and_a_missing_sample_ties_with_the_only_one() -> None:
    three = world("latency_based", deployment("d1", rpm_limit=1), "d2", "d3")
    three.set("d1", latency_ema_ms=10.0, window=WINDOW, rpm_used=1)
    three.set("d2", latency_ema_ms=50.0)
    assert three.chosen() == "d2"
    three.now += 60
    assert three.chosen() == "d1"


def test_latency_without_any_sample_takes_the_first() -> None:
    assert world("latency_based", *"ab").chosen() == "a"


def test_a_missing_sample_counts_as_the_mean_of_those_left() -> None:
    three = world("latency_based", *"abc")
    three.set("b", latency_ema_ms=90.0)
    three.set("c", latency_ema_ms=30.0)
    assert three.chosen() == "c"
    three.set("c", latency_ema_ms=90.0)
    assert three.chosen() == "a"
    three.set("a", latency_ema_ms=100.0)
    assert three.chosen() == "b"


@pytest.mark.parametrize("strategy", ["usage_based", "rate_limit_aware"])
def test_no_limit_beats_any_use(strategy: str) -> None:
    three = world(
        strategy, deployment("d1", tpm_limit=1000), deployment("d2", tpm_limit=1000), "d3"
    )
    three.set("d1", window=WINDOW, tpm_used=900)
    three.set("d2", window=WINDOW, tpm_used=100)
    three.set("d3", window=WINDOW, tpm_used=5000)
    assert three.chosen() == "d3"
    three.cool("d3", 60)
    assert three.chosen() == "d2"


def test_usage_shares_are_compared_exactly() -> None:
    near = world(
        "usage_based",
        deployment("a", tpm_limit=2**31 - 1),
        deployment("b", tpm_limit=2**31 - 2),
    )
    near.set("a", window=WINDOW, tpm_used=2**30)
    near.set("b", window=WINDOW, tpm_used=2**30 - 1)
    assert near.chosen(asking(input_tokens=0)) == "b"


def test_the_scarcer_of_two_limits_counts() -> None:
    two = world(
        "rate_limit_aware",
        deployment("a", tpm_limit=100, rpm_limit=10),
        deployment("b", tpm_limit=100, rpm_limit=10),
    )
    two.set("a", window=WINDOW, tpm_used=10, rpm_used=6)
    two.set("b", window=WINDOW, tpm_used=50, rpm_used=1)
    assert two.chosen() == "b"
    two.set("b", tpm_used=60)
    assert two.chosen() == "a"


def test_use_of_an_earlier_minute_counts_for_nothing() -> None:
    two = world("usage_based", deployment("a", tpm_limit=10), deployment("b", tpm_limit=10))
    two.set("a", window=WINDOW - 1, tpm_used=9)
    assert two.chosen(asking(input_tokens=0)) == "a"


@pytest.mark.parametrize("strategy", ["priority_based", "cost_based"])
def test_the_lowest_number_wins_and_the_first_among_equals(strategy: str) -> None:
    three = world(
        strategy,
        deployment("a", priority=5),
        deployment("b", priority=1, max_parallel_requests=1),
        deployment("c", priority=1),
    )
    assert three.chosen() == "b"
    three.set("b", active=1)
    assert three.chosen() == "c"
    three.cool("c", 60)
    assert three.chosen() == "a"


@pytest.mark.parametrize("strategy", ["fill_first", "fill-first", "ff"])
def test_the_first_is_filled_and_comes_back(strategy: str) -> None:
    two = world(strategy, "b", "a")
    assert two.picks(3) == ["a", "a", "a"]
    two.cool("a", 10)
    assert two.chosen() == "b"
    two.now += 10
    assert two.chosen() == "a"


@pytest.mark.parametrize(
    "strategy",
    [
        "simple_shuffle",
        "round_robin",
        "least_busy",
        "latency_based",
        "priority_based",
        "usage_based",
        "rate_limit_aware",
        "fill_first",
        "custom:last",
    ],
)
def test_no_strategy_takes_one_that_may_not_be_used(strategy: str) -> None:
    limited = world(strategy, *"abc", selectors={"last": last})
    for name in "abc":
        limited.cool(name, 60)
    assert limited.refused().kind == "model_cooldown"


# custom


def last(
    candidates: Sequence[Candidate],
    states: Sequence[CandidateState],
    request: SelectRequest,
    now: float,
    rng: Random,
) -> int:
    assert len(states) == len(candidates)
    assert request is ASK
    return len(candidates) - 1


def test_a_custom_selector_sees_only_what_passed() -> None:
    three = world("custom:last", *"abc", selectors={"last": last})
    three.cool("c", 60)
    assert three.chosen() == "b"


def raises(*_: object) -> int:
    raise RuntimeError("no idea")


@pytest.mark.parametrize(
    ("selector", "note"),
    [
        (raises, "raised RuntimeError"),
        (lambda *_: 7, "no place"),
        (lambda *_: -1, "no place"),
        (lambda *_: True, "no place"),
        (lambda *_: "a", "no place"),
    ],
)
def test_a_broken_selector_falls_back_and_says_so(selector: object, note: str) -> None:
    found = world("custom:own", *"ab", selectors={"own": selector}).look()
    assert isinstance(found, Pick)
    assert note in found.note


def test_an_unregistered_selector_falls_back_and_says_so() -> None:
    found = world("custom:gone", *"ab").look()
    assert isinstance(found, Pick)
    assert "custom:gone" in found.note


# estimates


def test_a_large_estimate_is_checked_even_where_no_limit_is_near() -> None:
    for strategy in ("simple_shuffle", "round_robin", "least_busy", "fill_first"):
        two = world(strategy, deployment("a", tpm_limit=100), deployment("b", tpm_limit=100))
        two.set("a", window=WINDOW, tpm_used=30)
        assert two.picks(8, request=asking(input_tokens=80)) == ["b"] * 8
