"""A turn that finds nobody eligible: what it answers, and what its route may still allow."""

from __future__ import annotations

from dataclasses import replace

import pytest

from routeradmin.engine.objects import AdminState, WhenExhausted
from routeradmin.engine.policy import Policy, RetryPolicy
from tests.engine.turn_world import ASK, T0, Drive, catalog, deployment, route

A, B = deployment("A"), deployment("B")
ONCE = Policy(retry=RetryPolicy(max_attempts=1))


def alone(script=(200,)) -> Drive:
    return Drive(catalog([A], route(["A"])), {"A": script})


def test_nothing_compatible_makes_no_attempt_and_has_no_halt():
    halt = alone([200]).run(request=replace(ASK, opaque=(None,)))
    assert (halt.halt, halt.refusal.kind) == (None, "unsupported")


def test_a_turn_without_an_attempt_answers_why_nothing_was_eligible():
    drive = alone([200])
    drive.cool("A", 25)
    halt = drive.run()
    assert (halt.halt, halt.refusal.kind, halt.retry_after_s) == ("exhausted", "model_cooldown", 25)


@pytest.mark.parametrize(
    ("max_wait_s", "halt"), [(10, "succeeded"), (3, "exhausted"), (0, "exhausted")]
)
def test_a_route_may_wait_for_recovery_up_to_its_bound(max_wait_s, halt):
    facts = {"when_exhausted": WhenExhausted.WAIT, "max_wait_s": max_wait_s}
    drive = Drive(catalog([A], route(["A"], **facts)))
    drive.cool("A", 5)
    assert drive.run().halt == halt
    assert drive.waits == ([5] if halt == "succeeded" else [])
    assert drive.turn.record()["warnings"] == []


def test_the_callers_deadline_rules_a_wait_for_recovery():
    facts = {"when_exhausted": WhenExhausted.WAIT, "max_wait_s": 10}
    drive = Drive(catalog([A], route(["A"], **facts)))
    drive.cool("A", 5)
    assert drive.run(deadline_at=T0 + 5).halt == "exhausted"


def test_waits_for_recovery_together_stay_within_the_bound():
    facts = {"when_exhausted": WhenExhausted.WAIT, "max_wait_s": 3}
    full = replace(A, max_parallel_requests=1)
    drive = Drive(catalog([full], route(["A"], **facts)))
    drive.store._local.at(drive.snapshot.routes["r"].candidates[0].key).active = 1
    assert drive.run().halt == "exhausted"
    assert sum(drive.waits) <= 3


@pytest.mark.parametrize(
    ("cls", "halt"), [("transient", "succeeded"), ("rate-limited", "exhausted")]
)
def test_the_least_bad_candidate_is_one_that_only_a_transient_cooldown_keeps_back(cls, halt):
    facts = {"when_exhausted": WhenExhausted.LEAST_BAD}
    drive = Drive(catalog([A, B], route(["A", "B"], **facts)))
    drive.cool("A", 50, cls)
    drive.cool("B", 20, cls)
    assert drive.run().halt == halt
    assert drive.calls == (["B/k"] if halt == "succeeded" else [])


def test_a_subscription_never_turns_into_another_billing():
    paid = deployment("S", subscription=True)
    drive = Drive(catalog([paid, B], route(["S"], ["B"]), policy=ONCE), {"S": [503]})
    assert drive.run().halt == "exhausted"
    assert drive.calls == ["S/k"]


def test_there_is_nothing_to_wait_for_where_people_took_everything_out_of_service():
    facts = {"when_exhausted": WhenExhausted.WAIT, "max_wait_s": 10}
    off = replace(A, admin_state=AdminState.DISABLED)
    drive = Drive(catalog([off], route(["A"], **facts)))
    assert drive.run().halt == "exhausted"
    assert drive.waits == []
