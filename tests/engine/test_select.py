"""Tiers, preferences, reservations; and what is answered when nothing is eligible."""

from __future__ import annotations

import asyncio
import math
from dataclasses import replace

import pytest

from routeradmin.engine.objects import AdminState, Capabilities, WhenExhausted
from routeradmin.engine.policy import DEFAULT_POLICY
from routeradmin.engine.refusal import Refusal, whole_seconds
from routeradmin.engine.select import Pick, Selected, select
from routeradmin.engine.snapshot import TABLES_PER_TIER
from routeradmin.engine.state import CandidateKey, Dispatch, FailureClass, Health, Outcome
from tests.engine.world import ASK, NOW, World, asking, catalog, deployment, route

WINDOW = int(NOW // 60)
A, B = CandidateKey("a", "k"), CandidateKey("b", "k")


def two(**facts: object) -> World:
    names = [deployment("a"), deployment("b")]
    return World(catalog(names, route("ab", strategy="fill_first", **facts)))  # type: ignore[arg-type]


def tiers(**facts: object) -> World:
    facts = {"fallback_enabled": True, **facts}
    names = [deployment("a"), deployment("b")]
    return World(catalog(names, route("a", "b", **facts)))  # type: ignore[arg-type]


def grant(world: World, request: object = ASK) -> Selected | Refusal:
    asked = select(world.resolved(), request, world.store, world.now, world.rng)  # type: ignore[arg-type]
    return asyncio.run(asked)


def fail(world: World, lease_id: str, cls: FailureClass, hint_s: float | None = None) -> None:
    outcome = Outcome(cls, Dispatch.REJECTED, hint_s=hint_s)
    asyncio.run(world.store.settle(lease_id, outcome, DEFAULT_POLICY, world.now))


def test_the_first_tier_with_something_left_is_used() -> None:
    world = tiers()
    assert world.chosen() == "a"
    world.cool("a", 60)
    assert world.chosen() == "b"


def test_with_fallback_off_a_later_tier_is_never_used() -> None:
    world = tiers(fallback_enabled=False)
    world.cool("a", 60)
    refusal = world.refused()
    assert refusal.kind == "model_cooldown"
    assert refusal.reasons == ("cooling-down", "fallback-disabled")


def test_one_tier_alone_can_be_asked_for() -> None:
    assert tiers().chosen(tier=1) == "b"
    assert isinstance(tiers().look(tier=1, skip={B}), Refusal)


def test_what_was_tried_is_skipped_and_what_is_forgiven_may_be_used() -> None:
    world = two()
    assert world.chosen(skip={A}) == "b"
    world.cool("a", 60)
    assert world.chosen(forgive={A}) == "a"
    world.set("a", health=Health.UNHEALTHY)
    assert world.chosen(forgive={A, B}) == "a"
    world.set("a", active=0)
    assert world.chosen(skip={CandidateKey("gone", "k")}) == "b"


def test_forgiving_a_cooldown_forgives_no_limit() -> None:
    world = World(catalog([deployment("a", max_parallel_requests=1)]))
    world.cool("a", 60)
    world.set("a", active=1)
    assert isinstance(world.look(forgive={A}), Refusal)


def test_a_preference_wins_while_it_is_eligible() -> None:
    world = two()
    assert world.chosen(prefer=B) == "b"
    world.cool("b", 60)
    assert world.chosen(prefer=B) == "a"
    assert world.chosen(prefer=CandidateKey("gone", "k")) == "a"


def test_excluded_ones_are_left_out_by_deployment_or_candidate() -> None:
    world = two()
    assert world.chosen(asking(exclude=frozenset({"a"}))) == "b"
    assert world.chosen(asking(exclude=frozenset({"a/k", "unknown"}))) == "b"


def test_a_request_that_may_stay_local_only_stays_local() -> None:
    names = [deployment("a"), deployment("b", tags=("local",))]
    world = World(catalog(names, route("ab", strategy="fill_first")))
    assert world.chosen(asking(local_only=True)) == "b"


def test_opaque_items_bind_the_choice() -> None:
    bindings = {("a", "k"): "ra", ("b", "k"): "rb"}
    names = [deployment("a"), deployment("b")]
    world = World(catalog(names, route("ab", strategy="fill_first"), bindings=bindings))
    assert world.chosen(asking(opaque=("rb",))) == "b"


def test_a_lost_race_picks_again_among_the_rest_and_then_the_next_tier() -> None:
    names = [deployment("a", max_parallel_requests=1), deployment("b")]
    world = World(catalog(names, route("a", "b", fallback_enabled=True)))

    class Losing:
        """A store whose first grant is taken away by another caller."""

        def __init__(self) -> None:
            self.tried: list[str] = []

        def __getattr__(self, name: str) -> object:
            return getattr(world.store, name)

        async def reserve(self, grant: object, now: float) -> object:
            self.tried.append(grant.candidate.deployment.id)  # type: ignore[attr-defined]
            if len(self.tried) == 1:
                return None
            return await world.store.reserve(grant, now)  # type: ignore[arg-type]

    store = Losing()
    found = asyncio.run(select(world.resolved(), ASK, store, NOW, world.rng))  # type: ignore[arg-type]
    assert isinstance(found, Selected)
    assert found.lease.key == B
    assert store.tried == ["a", "b"]


def test_losing_every_race_is_a_limit_to_retry_in_a_second() -> None:
    world = World(catalog([deployment("a")]))

    class Full:
        def __getattr__(self, name: str) -> object:
            return getattr(world.store, name)

        async def reserve(self, grant: object, now: float) -> object:
            return None

    found = asyncio.run(select(world.resolved(), ASK, Full(), NOW, world.rng))  # type: ignore[arg-type]
    assert isinstance(found, Refusal)
    assert (found.kind, found.retry_after_s) == ("rate_limit_exceeded", 1)


def test_a_lease_says_what_was_granted() -> None:
    world = two()
    found = grant(world, asking(input_tokens=7, max_output_tokens=5, lease_ttl_s=30.0))
    assert isinstance(found, Selected)
    lease = found.lease
    assert (lease.key, lease.held_tokens, lease.route_id) == (A, 12, "r")
    assert (lease.granted_at, lease.expires_at) == (NOW, NOW + 30)


def test_tables_of_a_tier_are_bounded() -> None:
    world = two()
    tier = world.resolved().route.tiers[0]
    for number in range(100):
        assert world.chosen(asking(reasoning_effort=f"effort-{number}")) == "a"
    assert len(tier._tables) <= TABLES_PER_TIER


# nothing eligible


def test_nobody_capable_is_unsupported_with_every_reason() -> None:
    unable = Capabilities(temperature=False)
    names = [deployment("a", capabilities=unable), deployment("b")]
    world = World(catalog(names, route("a", "b")))
    refusal = world.refused(asking(temperature=1.0))
    assert (refusal.kind, refusal.status) == ("unsupported", 400)
    assert refusal.reasons == ("fallback-disabled", "temperature")
    assert not refusal.should_retry
    assert refusal.retry_after_s is None
    assert "temperature" in refusal.message


def test_a_capable_one_that_is_unhealthy_is_no_available_deployment() -> None:
    names = [deployment("a"), deployment("b", capabilities=Capabilities(vision=False))]
    world = World(catalog(names))
    world.set("a", health=Health.UNHEALTHY)
    refusal = world.refused(asking(requires=frozenset({"vision"})))
    assert (refusal.kind, refusal.status) == ("no_available_deployment", 503)
    assert not refusal.should_retry
    assert "ask the operator" in refusal.message


@pytest.mark.parametrize("state", [AdminState.DISABLED, AdminState.DRAINING])
def test_out_of_service_is_not_worth_a_retry(state: AdminState) -> None:
    refusal = World(catalog([deployment("a", admin_state=state)])).refused()
    assert (refusal.status, refusal.should_retry) == (503, False)


def test_a_limit_of_zero_counts_as_disabled() -> None:
    refusal = World(catalog([deployment("a", rpm_limit=0)])).refused()
    assert (refusal.kind, refusal.should_retry) == ("no_available_deployment", False)


def test_all_cooling_says_when_the_first_recovers() -> None:
    world = two()
    world.cool("a", 40)
    world.cool("b", 24.2, cls="quota")
    refusal = world.refused()
    assert (refusal.kind, refusal.status) == ("model_cooldown", 429)
    assert (refusal.retry_after_s, refusal.reset_s, refusal.provider) == (25, 25, "p")
    assert refusal.recovers_at == NOW + 24.2
    assert refusal.model == "m"
    assert refusal.candidates == ((A, ("cooling-down",)), (B, ("cooling-down",)))
    assert "cooling down" in refusal.message


def test_two_providers_are_not_named() -> None:
    world = World(catalog([deployment("a"), deployment("b", provider="q")]))
    world.cool("a", 40)
    world.cool("b", 40)
    assert world.refused().provider is None


def test_all_at_limits_waits_for_the_window_or_a_second_for_a_slot() -> None:
    world = World(catalog([deployment("a", rpm_limit=1)]))
    world.now += 20
    world.set("a", window=WINDOW, rpm_used=1)
    refusal = world.refused()
    assert (refusal.kind, refusal.status, refusal.retry_after_s) == ("rate_limit_exceeded", 429, 40)
    world = World(catalog([deployment("a", max_parallel_requests=1)]))
    world.set("a", active=1)
    assert world.refused().retry_after_s == 1
    assert "at its limit" in world.refused().message


def test_limits_beside_a_rate_limit_cooldown_are_rate_limit_exceeded() -> None:
    world = World(catalog([deployment("a", tpm_limit=10), deployment("b")]))
    world.set("a", window=WINDOW, tpm_used=10)
    world.cool("b", 5)
    refusal = world.refused()
    assert (refusal.kind, refusal.retry_after_s) == ("rate_limit_exceeded", 5)


@pytest.mark.parametrize("cls", ["transient", "unauthorized", "not-found", "manual"])
def test_any_other_cooldown_is_503_with_the_time_to_recovery(cls: str) -> None:
    world = two()
    world.cool("a", 90)
    world.cool("b", 30, cls=cls)
    refusal = world.refused()
    assert (refusal.kind, refusal.status) == ("no_available_deployment", 503)
    assert (refusal.retry_after_s, refusal.should_retry) == (30, True)
    assert "try again in 30 s" in refusal.message


def test_a_route_without_candidates_is_no_available_deployment() -> None:
    refusal = World(catalog([deployment("a", keys=())])).refused()
    assert (refusal.status, refusal.reasons) == (503, ())
    assert "no candidates" in refusal.message


@pytest.mark.parametrize(
    ("seconds", "whole"), [(0.0, 1), (0.2, 1), (1.0, 1), (1.0000001, 1), (1.001, 2), (24.2, 25)]
)
def test_waits_are_rounded_up_and_never_zero(seconds: float, whole: int) -> None:
    assert whole_seconds(seconds) == whole


def test_float_noise_of_large_times_adds_no_second() -> None:
    for seconds in range(1, 2000):
        assert whole_seconds((NOW + 0.123 + seconds) - (NOW + 0.123)) == seconds
    assert math.isfinite(NOW)


# when exhausted


def test_the_least_bad_is_the_transient_one_that_recovers_first() -> None:
    world = two(when_exhausted=WhenExhausted.LEAST_BAD)
    world.cool("a", 50, cls="transient")
    world.cool("b", 20, cls="transient")
    found = world.look()
    assert isinstance(found, Pick)
    assert (found.candidate.key, found.least_bad) == (B, True)
    granted = grant(world)
    assert isinstance(granted, Selected)
    assert granted.pick.least_bad


def test_no_least_bad_for_other_cooldowns_or_other_reasons() -> None:
    world = two(when_exhausted=WhenExhausted.LEAST_BAD)
    world.cool("a", 50)
    world.cool("b", 20, cls="transient")
    world.set("b", health=Health.UNHEALTHY)
    assert world.refused().kind == "model_cooldown"
    assert isinstance(world.look(skip={A}), Refusal)


# told through reports


def test_a_429_sends_the_next_request_elsewhere_and_all_cooling_tells_the_wait() -> None:
    world = two()
    for key, hint_s in ((A, 40.0), (B, 25.0)):
        found = grant(world)
        assert isinstance(found, Selected)
        assert found.lease.key == key
        fail(world, found.lease.id, FailureClass.RATE_LIMITED, hint_s)
    refused = grant(world)
    assert isinstance(refused, Refusal)
    assert (refused.status, refused.retry_after_s) == (429, 25)
    world.now += 26
    found = grant(world)
    assert isinstance(found, Selected)
    assert found.lease.key == B


def test_a_second_cooldown_is_not_cut_short_by_the_first() -> None:
    world = two()
    first, second = grant(world), grant(world)
    assert isinstance(first, Selected)
    assert isinstance(second, Selected)
    world.now += 0.1
    fail(world, first.lease.id, FailureClass.RATE_LIMITED, 1.0)
    world.now += 0.1
    fail(world, second.lease.id, FailureClass.RATE_LIMITED, 20.0)
    world.now += 1.8
    assert 18 <= world.state("a").cooldown_until - world.now <= 19
    assert world.chosen() == "b"


def test_a_huge_hint_parks_nobody_for_days() -> None:
    world = World(catalog([deployment("a")]))
    found = grant(world)
    assert isinstance(found, Selected)
    fail(world, found.lease.id, FailureClass.RATE_LIMITED, 568157.0)
    world.now += 1799
    refused = grant(world)
    assert isinstance(refused, Refusal)
    assert refused.retry_after_s == 1
    asyncio.run(world.store.clear(A, "user:ann", world.now))
    assert world.chosen() == "a"
    assert world.state("a").rate_level == 0


def test_one_models_429_leaves_the_credentials_other_models_alone() -> None:
    m1 = deployment("m1", keys=("k1", "k2"))
    m2 = deployment("m2", keys=("k1", "k2"))
    routes = [route([name], id=name, alias=name, strategy="fill_first") for name in ("m1", "m2")]
    world = World(catalog([m1, m2], *routes))
    world.cool("m1", 60, key="k1")
    picked = [world.look(name=name) for name in ("m1", "m2")]
    assert [p.candidate.key for p in picked if isinstance(p, Pick)] == [
        CandidateKey("m1", "k2"),
        CandidateKey("m2", "k1"),
    ]


def test_three_requests_a_minute_means_three() -> None:
    world = World(catalog([deployment("a", rpm_limit=3)]))
    granted = [isinstance(grant(world), Selected) for _ in range(4)]
    assert granted == [True, True, True, False]
    assert world.state("a").rpm_used == 3


def test_disabling_a_pattern_named_deployment_takes_effect_at_once() -> None:
    star = deployment("s", upstream="*")
    spec = route(["s"], alias="v-*")
    world = World(catalog([star], spec))
    assert world.chosen(name="v-x") == "s"
    off = catalog([replace(star, admin_state=AdminState.DISABLED)], spec)
    world.snapshot = off
    world.store.bind(off)
    assert world.refused(name="v-x").reasons == ("disabled",)
