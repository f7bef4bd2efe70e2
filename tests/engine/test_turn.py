"""One turn through rounds, tiers and halts, a test for each rule."""

from __future__ import annotations

from dataclasses import replace

import pytest

from routeradmin.engine.objects import AdminState
from routeradmin.engine.policy import (
    DEFAULT_POLICY,
    CooldownPolicy,
    Policy,
    RetryPolicy,
    TurnPolicy,
    disabled,
)
from routeradmin.engine.state import Dispatch
from routeradmin.engine.turn import Turn
from routeradmin.engine.turn_state import HaltReason, Opening
from routeradmin.engine.turn_steps import Halt, Try, Wait, advice
from tests.engine.turn_world import T0, Drive, catalog, deployment, ended, route

A, B, C = deployment("A"), deployment("B"), deployment("C")


def policy(*, cooling: bool = True, retry: dict | None = None, **turn) -> Policy:
    return Policy(
        retry=RetryPolicy(**(retry or {})),
        turn=TurnPolicy(**turn),
        cooldown=CooldownPolicy(enabled=cooling),
    )


ONCE = policy(retry={"max_attempts": 1})


def alone(script, used: Policy = DEFAULT_POLICY) -> Drive:
    return Drive(catalog([A], route(["A"]), policy=used), {"A": script})


def tiers(script, used: Policy = DEFAULT_POLICY, **facts) -> Drive:
    return Drive(catalog([A, B], route(["A"], ["B"], **facts), policy=used), script)


def test_a_success_ends_the_turn_with_one_attempt():
    drive = alone([200])
    assert drive.run().halt == "succeeded"
    assert drive.calls == ["A/k"]


def test_two_failures_then_success_wait_one_and_two_seconds_with_warnings():
    drive = alone(["silence", "silence", 200])
    assert drive.run().halt == "succeeded"
    record = drive.turn.record()
    assert drive.waits == [1, 2]
    assert [warning["wait_ms"] for warning in record["warnings"]] == [1000, 2000]
    assert {warning["code"] for warning in record["warnings"]} == {"turn-retried"}
    assert len(record["attempts"]) == 3


def test_four_failures_wait_one_two_four_and_the_message_says_how_often():
    drive = alone([(500, {"message": "boom"})])
    halt = drive.run()
    assert (halt.halt, halt.message) == ("exhausted", "boom (after 4 attempts)")
    assert drive.waits == [1, 2, 4]


@pytest.mark.parametrize(("after", "wait_s"), [(60, 30), (5, 5), (0, 1), (-3, 1)])
def test_a_hint_is_honoured_up_to_the_bound_and_never_below_the_local_wait(after, wait_s):
    drive = alone([(429, {"after": after}), 200])
    assert drive.run().halt == "succeeded"
    assert drive.waits == [wait_s]


def test_each_wait_uses_the_newest_answer():
    used = policy(retry={"backoff_base_ms": 50, "max_server_delay_s": 3})
    drive = alone([(429, {"after": n}) for n in (1, 2, 3)] + [200], used)
    assert drive.run().halt == "succeeded"
    assert drive.waits == [1, 2, 3]


def test_a_turn_retries_its_own_cooled_target_while_others_skip_it():
    drive = alone([(429, {"after": 60}), 200])
    drive.start()
    drive.step()
    assert isinstance(drive.step(), Wait)
    other = Drive(drive.snapshot)
    other.store = drive.store
    other.now = drive.now
    assert other.run().refusal.kind == "model_cooldown"
    assert isinstance(drive.step(), Try)
    assert drive.state("A").cooldown is None


def test_a_turn_does_not_retry_a_target_that_others_put_to_rest():
    drive = alone([500, 200])
    drive.start()
    drive.step()
    drive.cool("A", 60)
    halt = drive.step()
    assert (halt.halt, halt.message) == ("exhausted", "(after 1 attempt)")


def test_a_turn_gives_its_target_up_when_others_keep_it_resting_for_longer():
    drive = Drive(catalog([deployment("A"), deployment("B")], route(["A"], ["B"])), {"A": [429]})
    drive.start()
    drive.step()
    drive.cool("A", 600)
    drive.step()
    assert (drive.calls, drive.waits) == (["A/k", "B/k"], [])


def test_a_turn_made_again_from_its_opening_is_the_turn_that_began():
    drive = alone([503])
    begun = drive.start()
    step = begun.next(drive.store, drive.now, drive.rng)
    begun.begin(step, drive.now, "lease-1")
    request, key = begun.state.request, step.candidate.key
    opening = Opening("t1", "m", "r", request, key, step.tier, "lease-1", drive.now)
    again = Turn.reopen(opening, drive.snapshot)
    assert again.state.as_json() == begun.state.as_json()


def test_a_wait_that_would_end_at_the_deadline_is_not_started():
    drive = alone([(429, {"after": 30})])
    halt = drive.run(deadline_at=T0 + 5)
    assert (halt.halt, halt.message, drive.waits) == ("exhausted", "(after 1 attempt)", [])
    two = tiers({"A": [(429, {"after": 30})]})
    assert two.run(deadline_at=T0 + 5).halt == "succeeded"
    assert two.calls == ["A/k", "B/k"]


def test_a_wait_that_ends_exactly_at_the_deadline_is_not_started_either():
    drive = alone([500])
    assert drive.run(deadline_at=T0 + 1).halt == "exhausted"
    assert drive.run(deadline_at=drive.now + 1.001).halt == "exhausted"


def test_the_policys_deadline_counts_where_it_is_earlier():
    used = policy(deadline_s=2)
    drive = alone([500], used)
    assert drive.run(deadline_at=T0 + 600).halt == "exhausted"
    assert drive.waits == [1]


def test_no_attempt_starts_at_or_after_the_deadline():
    drive = tiers({"A": [401]}, policy(move_on_unauthorized=True))
    drive.start(deadline_at=T0 + 5)
    drive.step()
    drive.now = T0 + 5
    assert drive.step().halt == "deadline"


def test_streams_have_rounds_of_their_own():
    used = policy(retry={"stream_max_attempts": 2})
    drive = alone([500], used)
    drive.run(streaming=True)
    assert len(drive.calls) == 2
    drive.now += 600
    drive.run(streaming=False)
    assert len(drive.calls) == 4


def test_other_credentials_come_first_then_other_deployments_then_the_wait():
    snapshot = catalog([deployment("A", "k1", "k2"), B], route(["A", "B"]), policy=ONCE)
    drive = Drive(snapshot, {"A": [429], "B": [429]})
    assert drive.run().halt == "exhausted"
    assert drive.calls == ["A/k1", "A/k2", "B/k"]
    assert drive.waits == []


def test_a_new_round_takes_the_tier_again_and_only_once_each():
    snapshot = catalog([A, B], route(["A", "B"]), policy=policy(retry={"max_attempts": 2}))
    drive = Drive(snapshot, {"A": [500], "B": [500]})
    drive.run()
    assert drive.calls == ["A/k", "B/k", "A/k", "B/k"]
    assert drive.waits == [1]


def test_without_rotation_the_round_has_one_attempt():
    used = policy(retry={"max_attempts": 2}, rotate=False)
    drive = Drive(catalog([A, B], route(["A", "B"]), policy=used), {"A": [500], "B": [500]})
    drive.run()
    assert drive.calls == ["A/k", "A/k"]


def test_a_spent_tier_gives_way_to_the_next():
    drive = tiers({"A": [503]})
    assert drive.run().halt == "succeeded"
    assert drive.calls == ["A/k"] * 4 + ["B/k"]


def test_with_fallback_off_only_the_first_tier_is_used():
    drive = tiers({"A": [503]}, ONCE, fallback_enabled=False)
    assert drive.run().halt == "exhausted"
    assert drive.calls == ["A/k"]


@pytest.mark.parametrize("said", [402, ("refused", {}), 429])
def test_a_failure_known_not_to_have_run_moves_to_the_next_tier(said):
    drive = tiers({"A": [said]}, ONCE)
    assert drive.run().halt == "succeeded"
    assert drive.calls == ["A/k", "B/k"]


def test_a_quota_moves_on_at_once_without_a_new_round():
    drive = tiers({"A": [402]})
    assert drive.run().halt == "succeeded"
    assert (drive.calls, drive.waits) == (["A/k", "B/k"], [])


def test_a_transient_failure_told_as_rejected_moves_on_without_a_round():
    told = replace(ended(500), dispatch=Dispatch.REJECTED, retriable=False)
    drive = tiers({"A": [told]})
    assert drive.run().halt == "succeeded"
    assert (drive.calls, drive.waits) == (["A/k", "B/k"], [])


@pytest.mark.parametrize(
    ("said", "halt"),
    [
        (401, "ineligible-failure"),
        (403, "ineligible-failure"),
        (404, "ineligible-failure"),
        (302, "ineligible-failure"),
        (400, "ineligible-failure"),
        (422, "ineligible-failure"),
        ("content_filter", "ineligible-failure"),
        ("context_length_exceeded", "ineligible-failure"),
        (("silence", {"replay": False}), "ambiguous-dispatch"),
        (("broken", {"visible_output": True}), "visible-output"),
        ((500, {"visible_output": True}), "visible-output"),
        ("hung-up", "cancelled"),
        (("hung-up", {"visible_output": True}), "cancelled"),
        ("late", "deadline"),
    ],
)
def test_what_ends_the_turn_though_another_target_is_there(said, halt):
    drive = tiers({"A": [said]})
    assert drive.run().halt == halt
    assert drive.calls == ["A/k"]


def test_a_rejected_key_moves_on_only_where_the_policy_says_so():
    snapshot = catalog(
        [deployment("A", "k1", "k2"), B],
        route(["A"], ["B"]),
        policy=policy(move_on_unauthorized=True),
    )
    drive = Drive(snapshot, {"A/k1": [401], "A/k2": [200]})
    assert drive.run().halt == "succeeded"
    assert drive.calls == ["A/k1", "A/k2"]


def test_a_failure_that_cannot_be_retried_is_out_for_the_whole_turn():
    snapshot = catalog([deployment("A", "k1", "k2")], route(["A"]), policy=policy(cooling=False))
    drive = Drive(snapshot, {"A/k1": [402], "A/k2": [500]})
    drive.run()
    assert drive.calls == ["A/k1", "A/k2", "A/k2", "A/k2", "A/k2"]


def test_the_whole_turn_is_bounded_and_the_bound_is_checked_before_the_wait():
    drive = alone([500], policy(max_turn_attempts=2))
    assert drive.run().halt == "attempt-bound"
    assert (len(drive.calls), drive.waits) == (2, [1])
    used = policy(max_turn_attempts=1, retry={"max_attempts": 1})
    assert alone([500], used).run().halt == "exhausted"


def test_targets_are_bounded_and_the_halt_tells_whether_another_was_left():
    drive = tiers({"A": [503]}, policy(max_targets=1, retry={"max_attempts": 1}))
    assert drive.run().halt == "attempt-bound"
    drive = alone([503], policy(max_targets=1, retry={"max_attempts": 1}))
    assert drive.run().halt == "exhausted"


def test_the_disabled_policy_makes_one_attempt_in_total():
    drive = tiers({"A": [503]}, disabled())
    assert drive.run().halt == "attempt-bound"
    assert drive.calls == ["A/k"]
    snapshot = catalog([deployment("A", "k1", "k2")], route(["A"]), policy=disabled())
    drive = Drive(snapshot, {"A": [503]})
    assert drive.run().halt == "attempt-bound"
    assert drive.calls == ["A/k1"]


def test_limits_are_asked_before_every_attempt():
    drive = tiers({"A": [402]})
    answers = iter([True, False])
    drive.admit = lambda candidate: next(answers)
    assert drive.run().halt == "limit-refused"
    assert drive.calls == ["A/k"]


def test_a_cancelled_caller_stops_the_turn_before_the_next_attempt():
    drive = tiers({"A": [402]})
    drive.start()
    drive.step()
    assert drive.turn.next(drive.store, drive.now, drive.rng, cancelled=True).halt == "cancelled"


def test_a_sink_that_refuses_the_warning_stops_the_turn():
    drive = alone([500])
    drive.start()
    drive.step()
    drive.step()
    assert drive.turn.stop(HaltReason.SINK_REFUSED, drive.now).halt == "sink-refused"
    assert drive.step().halt == "sink-refused"


def test_a_target_disabled_meanwhile_is_skipped():
    drive = tiers({"A": [500]}, ONCE)
    drive.start()
    drive.step()
    off = replace(B, admin_state=AdminState.DISABLED)
    drive.snapshot = catalog([A, off], route(["A"], ["B"]), policy=ONCE)
    drive.store.bind(drive.snapshot)
    assert drive.step().halt == "exhausted"


def test_a_lost_race_takes_the_next_candidate_and_counts_no_attempt():
    drive = Drive(catalog([A, B], route(["A", "B"])))
    drive.start()
    step = drive.turn.next(drive.store, drive.now, drive.rng)
    drive.turn.lost(step.candidate.key)
    assert drive.step().candidate.key.deployment == "B"
    assert len(drive.turn.state.attempts) == 1


def test_advice_follows_the_step():
    assert advice(Wait(T0 + 1, 1000, "round"), T0) == {
        "action": "retry",
        "wait_ms": 1000,
        "halt": None,
    }
    drive = tiers({"A": [402]})
    drive.start()
    drive.step()
    step = drive.turn.next(drive.store, drive.now, drive.rng)
    assert advice(step, drive.now) == {"action": "next", "wait_ms": 0, "halt": None}
    again = drive.turn.next(drive.store, drive.now, drive.rng)
    assert again.candidate.key == step.candidate.key
    assert advice(drive.step(), T0)["action"] == "next"
    assert advice(drive.step(), T0) == {"action": "done", "wait_ms": 0, "halt": "succeeded"}
    assert advice(Halt(HaltReason.DEADLINE), T0) == {
        "action": "stop",
        "wait_ms": 0,
        "halt": "deadline",
    }


def test_a_wait_that_is_not_over_is_answered_again_without_a_second_warning():
    drive = alone([500])
    drive.start()
    drive.step()
    first = drive.turn.next(drive.store, drive.now, drive.rng)
    second = drive.turn.next(drive.store, drive.now + 0.25, drive.rng)
    assert (first.until, first.warning is None) == (second.until, False)
    assert second.warning is None
    assert len(drive.turn.state.warnings) == 1


def test_a_record_has_every_started_attempt_with_its_evidence():
    drive = alone([(429, {"message": "slow"}), (200, {"input_tokens": 5})])
    drive.run()
    first, second = drive.turn.record()["attempts"]
    assert (first["n"], first["class"], first["status"]) == (1, "rate-limited", 429)
    assert (first["dispatch"], first["waited_ms"], first["message"]) == ("rejected", 0, "slow")
    assert first["usage"] == {"input": None, "output": None}
    assert (second["class"], second["waited_ms"]) == (None, 1000)
    assert second["usage"] == {"input": 5, "output": None}
    assert second["provenance"]["protocol"] == "chat-completions"
    assert (second["auth_kind"], second["billing_kind"]) == ("bearer", "metered")


def test_telling_the_end_of_nothing_is_refused():
    drive = alone([200])
    with pytest.raises(ValueError, match="begin"):
        drive.start().tell(ended(200), T0)
