"""Black-box cases of the three routers this one joins, as this project rules on them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from routeradmin.engine.health import clear
from routeradmin.engine.objects import WhenExhausted
from routeradmin.engine.outcome import AttemptFacts, Ending, classify
from routeradmin.engine.policy import (
    DEFAULT_POLICY,
    CooldownPolicy,
    FallbackLists,
    Policy,
    RetryPolicy,
    TurnPolicy,
)
from routeradmin.engine.turn_steps import Wait
from tests.engine.turn_world import T0, Drive, catalog, deployment, route

A, B, C = deployment("A"), deployment("B"), deployment("C")
ONCE = Policy(retry=RetryPolicy(max_attempts=1))
KEYS = deployment("K", "a", "b")


def drive(script, *tiers, used: Policy = DEFAULT_POLICY, deployments=(A, B, C), **facts) -> Drive:
    return Drive(catalog(deployments, route(*tiers, **facts), policy=used), script)


def test_timeouts_are_tried_three_times_and_a_rejected_key_once():
    used = Policy(retry=RetryPolicy(max_attempts=3))
    silent = drive({"A": ["silence"]}, ["A"], used=used)
    silent.run()
    assert len(silent.calls) == 3
    rejected = drive({"A": [401]}, ["A"], used=used)
    rejected.run()
    assert len(rejected.calls) == 1


def test_one_extra_route_is_the_bound_though_more_are_listed():
    used = Policy(
        retry=RetryPolicy(max_attempts=1),
        turn=TurnPolicy(max_fallback_routes=1),
        fallback=FallbackLists(general=("x", "y")),
    )
    others = [route([n], id=i, alias=i) for n, i in (("B", "x"), ("C", "y"))]
    works = Drive(catalog([A, B, C], route(["A"]), *others, policy=used), {"A": [500]})
    assert works.run().halt == "succeeded"
    fails = Drive(works.snapshot, {"A": [500], "B": [500]})
    assert fails.run().halt == "exhausted"
    assert fails.calls == ["A/k", "B/k"]


def test_a_server_delay_past_the_deadline_is_not_waited_for():
    alone = drive({"A": [(429, {"after": 30})]}, ["A"])
    assert alone.run(deadline_at=T0 + 5).message == "(after 1 attempt)"
    two = drive({"A": [(429, {"after": 30})]}, ["A"], ["B"])
    assert two.run(deadline_at=T0 + 5).halt == "succeeded"


def test_a_credential_that_fails_before_any_byte_gives_way_where_the_policy_moves_on():
    moving = Policy(
        retry=RetryPolicy(stream_max_attempts=2), turn=TurnPolicy(move_on_unauthorized=True)
    )
    served = drive({"K/a": [401]}, ["K"], used=moving, deployments=[KEYS])
    assert served.run(streaming=True).halt == "succeeded"
    assert served.calls == ["K/a", "K/b"]
    still = replace(
        moving,
        retry=RetryPolicy(stream_max_attempts=1),
        turn=TurnPolicy(move_on_unauthorized=True, rotate=False),
    )
    refused = drive({"K/a": [401]}, ["K"], used=still, deployments=[KEYS])
    assert refused.run(streaming=True).halt == "exhausted"
    assert refused.calls == ["K/a"]


def test_three_retries_of_a_request_are_four_rounds():
    used = Policy(cooldown=CooldownPolicy(enabled=False))
    three = deployment("K", "a", "b", "c")
    always = drive({"K": [500]}, ["K"], used=used, deployments=[three])
    always.run()
    assert [always.calls.count(f"K/{key}") for key in "abc"] == [4, 4, 4]


@pytest.mark.parametrize(("max_wait_s", "waits"), [(10, [5]), (3, []), (0, [])])
def test_a_cooling_key_is_waited_for_up_to_the_interval(max_wait_s, waits):
    waiting = {"when_exhausted": WhenExhausted.WAIT, "max_wait_s": max_wait_s}
    one = drive({}, ["A"], **waiting)
    one.cool("A", 5)
    assert one.run().halt == ("succeeded" if waits else "exhausted")
    assert one.waits == waits


def test_round_robin_over_two_providers_keys_goes_key_by_key():
    groq, openrouter = deployment("g", "A", "B"), deployment("o", "A", "B")
    five = drive({}, ["g", "o"], deployments=[groq, openrouter], strategy="round_robin")
    seen = []
    for _ in range(5):
        five.run()
        seen += five.calls
    assert seen == ["g/A", "g/B", "o/A", "o/B", "g/A"]


def test_keys_blocked_by_quota_answer_429_and_by_a_rejected_key_503():
    cooled = drive({}, ["K"], deployments=[KEYS])
    cooled.cool("K", 60, key="a")
    cooled.cool("K", 60, key="b")
    refusal = cooled.run().refusal
    assert (refusal.status, refusal.kind, refusal.reset_s) == (429, "model_cooldown", 60)
    assert refusal.provider == "p"
    mixed = drive({}, ["K"], deployments=[KEYS])
    mixed.cool("K", 60, key="a")
    mixed.cool("K", 60, "unauthorized", key="b")
    refusal = mixed.run().refusal
    assert (refusal.status, refusal.kind) == (503, "no_available_deployment")


def test_all_targets_cooling_tell_the_earliest_recovery_and_no_call_is_made():
    both = drive(
        {"A": [(429, {"after": 40})], "B": [(429, {"after": 25})]}, ["A"], ["B"], used=ONCE
    )
    first = both.run()
    assert (first.halt, first.cls, first.retry_after_s) == ("exhausted", "rate-limited", 25)
    both.now += 0.5
    second = both.run()
    assert (second.refusal.status, second.retry_after_s, both.calls) == (429, 25, [])
    both.now = T0 + 26
    both.script["B"] = [200]
    assert both.run().halt == "succeeded"
    assert both.calls == ["B/k"]


def test_a_huge_hint_cools_half_an_hour_and_a_clear_makes_eligible_at_once():
    one = drive({"A": [(429, {"after": 568157})]}, ["A"], used=ONCE)
    one.run()
    one.now = T0 + 1799
    assert one.run().retry_after_s == 1
    assert one.calls == []
    one.now = T0 + 1801
    one.run()
    assert one.calls == ["A/k"]
    clear(one.state("A"), "user:ann", one.now)
    one.store._local.review(one.state("A"), one.now)
    one.run()
    assert one.calls == ["A/k"]
    assert one.state("A").rate_level == 0


@pytest.mark.parametrize("status", [429, 503])
@pytest.mark.parametrize(
    ("after", "wait_s"),
    [("Fri, 15 Jan 2027 08:00:06 GMT", 6), ("Fri, 15 Jan 2027 07:00:00 GMT", 1)],
)
def test_a_date_tells_when_to_come_back(status, after, wait_s):
    used = Policy(retry=RetryPolicy(max_attempts=2))
    one = drive({"A": [(status, {"after": after}), 200]}, ["A"], used=used)
    assert one.run().halt == "succeeded"
    assert one.waits == [wait_s]


def test_five_hang_ups_are_no_failures_and_the_sixth_request_is_served():
    one = drive({"A": [("hung-up", {"visible_output": True})] * 5 + [200]}, ["A"])
    assert [one.run().halt for _ in range(6)] == ["cancelled"] * 5 + ["succeeded"]
    state = one.state("A")
    assert (state.failures, state.cooldown, state.rate_level, state.active) == (0, None, 0, 0)


def test_a_content_policy_refusal_does_not_leak_into_the_general_list():
    others = [route([n], id=n.lower(), alias=n.lower()) for n in "BC"]
    lists = FallbackLists(general=("b",))
    for content, halt, calls in (
        (None, "ineligible-failure", ["A/k"]),
        (("c",), "succeeded", ["A/k", "C/k"]),
    ):
        used = replace(ONCE, fallback=replace(lists, content_policy=content))
        snapshot = catalog([A, B, C], route(["A"]), *others, policy=used)
        refused = Drive(snapshot, {"A": ["content_policy_violation"]})
        assert refused.run().halt == halt
        assert refused.calls == calls
        assert refused.state("A").cooldown is None


def test_a_rate_limit_inside_a_stream_that_began_moves_on_and_cools_one_second():
    document = {"error": {"message": "slow down", "code": 429}}
    said = classify(AttemptFacts(Ending.ERROR_INSIDE, 200, document=document), now=T0)
    moved = drive({"A": [said]}, ["A"], ["B"], used=ONCE)
    assert moved.run().halt == "succeeded"
    assert moved.calls == ["A/k", "B/k"]
    cooldown = moved.state("A").cooldown
    assert (cooldown.until - cooldown.since, cooldown.level) == (1, 1)
    single = drive({"A": [said]}, ["A"], used=ONCE)
    assert single.run().cls == "rate-limited"


def test_a_stream_that_just_stops_is_a_failure_and_nothing_is_replayed():
    cut = drive({"A": [("broken", {"visible_output": True})]}, ["A"], ["B"])
    assert cut.run().halt == "visible-output"
    state = cut.state("A")
    assert (cut.calls, state.successes, state.failures) == (["A/k"], 0, 1)


def test_one_models_rate_limit_does_not_cool_the_credential():
    m1, m2 = deployment("m1", "k1", "k2"), deployment("m2", "k1", "k2")
    snapshot = catalog([m1, m2], route(["m1"]), route(["m2"], id="r2", alias="other"), policy=ONCE)
    keys = Drive(snapshot, {"m1/k1": [429]})
    calls = []
    for model in ("m", "m", "other"):
        keys.run(model)
        calls.append(keys.calls)
    assert calls == [["m1/k1", "m1/k2"], ["m1/k2"], ["m2/k1"]]


def test_a_request_that_was_read_and_not_answered_is_not_done_twice():
    used = Policy(turn=TurnPolicy(replay_unanswered=False))
    silent = drive({"A": [("silence", {"replay": False})]}, ["A"], ["B"], used=used)
    assert silent.run().halt == "ambiguous-dispatch"
    assert silent.calls == ["A/k"]


def test_two_answers_in_flight_leave_the_later_end_and_the_next_request_goes_elsewhere():
    two = drive({"A": [(429, {"after": 1})]}, ["A", "B"], used=ONCE)
    two.run()
    assert two.calls == ["A/k", "B/k"]
    two.cool("A", 18)
    two.run()
    assert two.calls == ["B/k"]


def test_a_round_waits_out_its_own_cooldown_only_as_long_as_the_bound():
    one = drive({"A": [(429, {"after": 60}), 200]}, ["A"])
    one.start()
    one.step()
    wait = one.step()
    assert isinstance(wait, Wait)
    assert (wait.wait_ms, one.state("A").cooldown_until) == (30_000, T0 + 60)
