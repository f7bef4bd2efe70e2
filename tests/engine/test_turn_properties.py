"""Whatever the upstreams answer, a turn ends, and within its bounds."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from routeradmin.engine.objects import WhenExhausted
from routeradmin.engine.policy import (
    CooldownPolicy,
    FallbackLists,
    Policy,
    RetryPolicy,
    TurnPolicy,
)
from tests.engine.turn_world import T0, Drive, catalog, deployment, route

said = st.one_of(
    st.sampled_from([200, 400, 401, 402, 404, 302, 408, 429, 500, 503, 529]),
    st.sampled_from(["silence", "refused", "broken", "content_filter"]),
    st.sampled_from(["context_length_exceeded", "hung-up", "late"]),
    st.tuples(st.sampled_from([429, 503]), st.fixed_dictionaries({"after": st.integers(-1, 99)})),
    st.tuples(st.just("silence"), st.just({"replay": False})),
)
policies = st.builds(
    Policy,
    retry=st.builds(
        RetryPolicy,
        max_attempts=st.integers(1, 4),
        backoff_base_ms=st.sampled_from([0, 500]),
        jitter=st.sampled_from([0.0, 0.5, 1.0]),
    ),
    turn=st.builds(
        TurnPolicy,
        max_targets=st.integers(1, 6),
        max_turn_attempts=st.integers(1, 12),
        max_fallback_routes=st.integers(0, 3),
        rotate=st.booleans(),
        move_on_unauthorized=st.booleans(),
    ),
    cooldown=st.builds(CooldownPolicy, enabled=st.booleans()),
    fallback=st.builds(
        FallbackLists,
        general=st.sampled_from([None, (), ("f",), ("g", "f", "r")]),
        rate_limit=st.sampled_from([None, (), ("g",)]),
        content_policy=st.sampled_from([None, ("f",)]),
    ),
)
NAMES = ("A", "B", "P", "F", "G")


@settings(max_examples=150, deadline=None)
@given(
    st.fixed_dictionaries({name: st.lists(said, min_size=1, max_size=6) for name in NAMES}),
    policies,
    st.booleans(),
    st.sampled_from(list(WhenExhausted)),
    st.one_of(st.none(), st.floats(0, 60)),
)
def test_a_turn_always_ends_within_its_bounds(script, used, fallback, exhausted, deadline_s):
    main = route(
        ["A"],
        ["B"],
        preview=("P",),
        fallback_enabled=fallback,
        when_exhausted=exhausted,
        max_wait_s=5,
    )
    others = [route([name], id=name.lower(), alias=name.lower()) for name in "FG"]
    deployments = [deployment(name, "k1", "k2") for name in NAMES]
    drive = Drive(catalog(deployments, main, *others, policy=used), script)
    drive.cool("A", 2, "transient", "k2")
    deadline_at = None if deadline_s is None else T0 + deadline_s
    halt = drive.run(deadline_at=deadline_at)

    attempts = drive.turn.state.attempts
    assert halt.halt is not None
    assert len(attempts) <= used.turn.max_turn_attempts
    assert len({(a.route, a.target) for a in attempts}) <= used.turn.max_targets
    assert len({a.route for a in attempts}) <= 1 + used.turn.max_fallback_routes
    assert all(0 <= wait_s <= 30 for wait_s in drive.waits)
    if deadline_at is not None:
        assert all(attempt.started_at < deadline_at for attempt in attempts)
    if not fallback:
        assert {a.key.deployment for a in attempts} <= {"A"}
    assert (halt.halt == "succeeded") == (bool(attempts) and attempts[-1].cls is None)
    assert all(attempt.cls is not None for attempt in attempts[:-1])
    _no_deployment_in_two_places(attempts)


def _no_deployment_in_two_places(attempts) -> None:
    places = {(attempt.key.deployment, attempt.route) for attempt in attempts}
    assert len(places) == len({deployment for deployment, _ in places})


@settings(max_examples=50, deadline=None)
@given(st.lists(said, min_size=1, max_size=6), policies)
def test_a_turn_kept_as_json_between_steps_goes_the_same_way(script, used):
    ways = []
    for kept in (True, False):
        drive = Drive(catalog([deployment("A", "k1", "k2")], route(["A"]), policy=used))
        drive.script = {"A": list(script)}
        drive.round_trip = kept
        ways.append((drive.run(), drive.calls, drive.waits))
    assert ways[0] == ways[1]
