"""What results, probes and people do to one candidate."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from routeradmin.engine import condition, health
from routeradmin.engine.outcome import class_of_status
from routeradmin.engine.policy import DEFAULT_POLICY, CooldownPolicy, Policy
from routeradmin.engine.state import (
    CandidateKey,
    CandidateState,
    Dispatch,
    FailureClass,
    Health,
    Outcome,
)

OK = Outcome(None, Dispatch.ACCEPTED, 200)
T0 = 6000.0


def failure(cls: FailureClass, hint_s: float | None = None, status: int | None = None) -> Outcome:
    return Outcome(cls, Dispatch.REJECTED, status, hint_s, message="said so")


TRANSIENT = failure(FailureClass.TRANSIENT, status=500)
RATE_LIMITED = failure(FailureClass.RATE_LIMITED, status=429)


class Story:
    """One candidate under one policy, told step by step at moments after T0."""

    def __init__(self, policy: Policy = DEFAULT_POLICY) -> None:
        self.state = CandidateState(CandidateKey("d", "c"))
        self.policy = policy
        self.kinds: list[str] = []

    def fail(self, outcome: Outcome, at: float = 0.0) -> Story:
        self._note(health.failed(self.state, outcome, self.policy, T0 + at))
        return self

    def succeed(self, at: float = 0.0, started: float | None = None) -> Story:
        started = at if started is None else started
        self._note(health.succeeded(self.state, OK, self.policy, T0 + started, T0 + at))
        return self

    def probe(self, ok: bool, at: float = 0.0, outcome: Outcome = TRANSIENT) -> Story:
        told = OK if ok else outcome
        self._note(health.probed(self.state, ok, 5, self.policy, told, T0 + at))
        return self

    def remaining(self, at: float = 0.0) -> float:
        return condition.remaining_s(self.state.cooldown, T0 + at)

    def cooling(self, at: float = 0.0) -> bool:
        return condition.cooling(self.state, T0 + at)

    def _note(self, changes) -> None:
        self.kinds += [change.kind for change in changes]


@pytest.mark.parametrize(
    ("cls", "length_s"),
    [
        (FailureClass.RATE_LIMITED, 1),
        (FailureClass.QUOTA, 1800),
        (FailureClass.UNAUTHORIZED, 1800),
        (FailureClass.NOT_FOUND, 1800),
        (FailureClass.TRANSIENT, 0),
        (FailureClass.CONTENT_POLICY, 0),
        (FailureClass.CONTEXT_WINDOW, 0),
        (FailureClass.CALLER, 0),
        (FailureClass.REFUSED, 0),
        (FailureClass.CANCELLED, 0),
        (FailureClass.DEADLINE, 0),
    ],
)
def test_one_failure_of_a_class_cools_at_once_or_never(cls, length_s):
    assert Story().fail(failure(cls)).remaining() == length_s


def test_three_transient_failures_in_a_row_cool_and_not_two():
    story = Story().fail(TRANSIENT).fail(TRANSIENT)
    assert not story.cooling()
    assert story.state.health is Health.DEGRADED
    assert story.fail(TRANSIENT).remaining() == 5
    assert story.state.consecutive_failures == 0
    assert story.kinds == ["degraded", "cooldown-set"]


def test_three_successes_then_three_failures_in_one_minute_cool():
    story = Story().succeed().succeed().succeed()
    assert story.fail(TRANSIENT).fail(TRANSIENT).fail(TRANSIENT).cooling()


def test_more_than_half_of_ten_requests_in_the_minute_cool():
    story = Story()
    for _ in range(4):
        story.fail(TRANSIENT).succeed()
    assert not story.fail(TRANSIENT).cooling()
    assert story.fail(TRANSIENT).cooling()


def test_half_of_ten_requests_is_not_more_than_half():
    story = Story()
    for _ in range(5):
        story.succeed().fail(TRANSIENT)
    assert not story.cooling()


def test_the_share_of_an_old_minute_is_forgotten():
    story = Story()
    for _ in range(4):
        story.fail(TRANSIENT).succeed()
    assert not story.fail(TRANSIENT, 60).fail(TRANSIENT, 60).cooling(60)


def test_a_callers_fault_neither_breaks_nor_lengthens_the_row():
    story = Story().fail(TRANSIENT).fail(failure(FailureClass.CALLER)).fail(TRANSIENT)
    assert story.state.consecutive_failures == 2
    assert story.state.last_error.cls == "transient"


def test_hang_ups_are_not_failures_of_the_deployment():
    story = Story()
    for _ in range(5):
        story.fail(failure(FailureClass.CANCELLED))
    state = story.state
    assert (state.failures, state.rate_level, state.last_error, story.kinds) == (0, 0, None, [])


def test_rate_limits_without_a_hint_cool_for_one_two_and_four_seconds():
    story, at, lengths = Story(), 0.0, []
    for _ in range(3):
        story.fail(RATE_LIMITED, at)
        lengths.append(story.remaining(at))
        at += lengths[-1]
    assert (lengths, story.state.rate_level) == ([1, 2, 4], 3)
    story.fail(failure(FailureClass.RATE_LIMITED, 10), at)
    assert (story.remaining(at), story.state.rate_level) == (10, 3)
    assert story.succeed(at + 10).state.rate_level == 0


def test_level_eleven_and_level_five_thousand_cool_half_an_hour():
    for level in (11, 5000):
        story = Story()
        story.state.rate_level = level
        assert story.fail(RATE_LIMITED).remaining() == 1800
        assert story.state.rate_level == level


def test_a_rate_limit_in_the_open_window_changes_neither_level_nor_end():
    story = Story().fail(RATE_LIMITED)
    before = story.state.cooldown
    story.fail(RATE_LIMITED, 0.5)
    assert (story.state.cooldown, story.state.rate_level) == (before, 1)


@pytest.mark.parametrize(("hint_s", "until"), [(0.2, 1), (20, 20.5), (9e9, 1800.5)])
def test_a_hint_in_the_open_window_counts_only_if_it_ends_later(hint_s, until):
    story = Story().fail(RATE_LIMITED).fail(failure(FailureClass.RATE_LIMITED, hint_s), 0.5)
    assert story.state.cooldown_until == T0 + until
    assert story.state.cooldown.until == T0 + until
    assert story.state.rate_level == 1


def test_a_second_longer_cooldown_is_not_cut_short_by_the_first():
    story = Story().fail(failure(FailureClass.RATE_LIMITED, 1), 0.1)
    story.fail(failure(FailureClass.RATE_LIMITED, 20), 0.2)
    assert 18 <= story.remaining(2) <= 19
    assert story.kinds == ["cooldown-set", "degraded", "cooldown-extended"]


def test_a_day_long_hint_is_capped_at_half_an_hour():
    story = Story().fail(failure(FailureClass.RATE_LIMITED, 568157))
    assert story.remaining() == 1800
    assert story.cooling(1799)
    assert not story.cooling(1801)


def test_a_transient_failure_in_its_open_window_changes_nothing_but_by_a_later_hint():
    story = Story().fail(TRANSIENT).fail(TRANSIENT).fail(TRANSIENT)
    story.fail(TRANSIENT, 1).fail(TRANSIENT, 1).fail(TRANSIENT, 1)
    assert (story.state.cooldown_until, story.state.transient_level) == (T0 + 5, 1)
    story.fail(failure(FailureClass.TRANSIENT, 30), 2)
    assert (story.state.cooldown_until, story.state.transient_level) == (T0 + 32, 1)


def test_a_hint_alone_starts_no_transient_cooldown():
    assert not Story().fail(failure(FailureClass.TRANSIENT, 30)).cooling()


def test_the_levels_of_the_two_classes_are_their_own():
    story = Story().fail(RATE_LIMITED).fail(RATE_LIMITED, 1)
    for _ in range(3):
        story.fail(TRANSIENT, 3)
    assert (story.state.rate_level, story.state.transient_level) == (2, 1)


def test_a_failure_while_recovering_opens_again_at_once_and_longer():
    story = Story().fail(TRANSIENT).fail(TRANSIENT).fail(TRANSIENT)
    assert condition.recovering(story.state, T0 + 5)
    assert story.fail(TRANSIENT, 5).remaining(5) == 10
    assert story.fail(TRANSIENT, 15).remaining(15) == 20


def test_three_successes_in_a_row_make_a_recovering_candidate_healthy():
    story = Story().fail(RATE_LIMITED).succeed(2).succeed(2)
    assert condition.recovering(story.state, T0 + 2)
    assert story.state.health is Health.DEGRADED
    story.succeed(2)
    assert not condition.recovering(story.state, T0 + 2)
    assert (story.state.health, story.kinds[-1]) == (Health.HEALTHY, "healthy")


def test_a_failure_after_two_successes_restarts_the_count():
    story = Story().fail(RATE_LIMITED).succeed(2).succeed(2).fail(TRANSIENT, 2)
    assert story.cooling(2)
    story.succeed(8).succeed(8)
    assert story.state.health is Health.DEGRADED
    assert story.succeed(8).state.health is Health.HEALTHY


@pytest.mark.parametrize(("started", "cleared"), [(-1, False), (0, False), (0.5, True)])
def test_a_success_clears_only_what_was_set_before_its_request_started(started, cleared):
    story = Story().fail(failure(FailureClass.RATE_LIMITED, 20)).succeed(1, started)
    assert story.cooling(1) is not cleared


def test_a_late_success_does_not_take_back_levels_after_the_cooldown_elapsed():
    story = Story().fail(RATE_LIMITED).succeed(3, started=-1)
    assert story.state.rate_level == 1
    assert story.state.consecutive_successes == 0


def test_a_rejected_key_needs_attention_until_a_later_success():
    story = Story().fail(failure(FailureClass.UNAUTHORIZED, status=401))
    assert story.state.needs_attention
    assert story.succeed(1, started=-1).state.needs_attention
    assert not story.cooling(1801)
    assert not story.succeed(1801).state.needs_attention


def test_with_cooldowns_off_nothing_cools_and_a_rejected_key_still_shows():
    story = Story(Policy(cooldown=CooldownPolicy(enabled=False)))
    for _ in range(5):
        story.fail(TRANSIENT).fail(RATE_LIMITED)
    story.fail(failure(FailureClass.UNAUTHORIZED))
    assert not story.cooling()
    assert story.state.needs_attention
    assert story.state.health is Health.DEGRADED


def test_probe_failures_degrade_then_make_unhealthy_and_one_success_heals():
    story = Story()
    for _ in range(4):
        story.probe(False)
    assert story.state.health is Health.DEGRADED
    assert story.probe(False).state.health is Health.UNHEALTHY
    assert story.succeed(1).state.health is Health.UNHEALTHY
    assert story.probe(True, 2).state.health is Health.HEALTHY
    assert story.kinds == ["degraded", "unhealthy", "healthy"]


def test_a_probes_verdict_waits_for_the_end_of_a_running_cooldown():
    story = Story().fail(RATE_LIMITED)
    for _ in range(5):
        story.probe(False, 0.5)
    assert not condition.unhealthy(story.state, T0 + 0.5)
    assert story.cooling(0.5)
    assert condition.unhealthy(story.state, T0 + 1)
    assert condition.health_at(story.state, T0 + 1) is Health.UNHEALTHY
    health.settle_elapsed(story.state, T0 + 1)
    assert story.state.health is Health.UNHEALTHY


def test_a_probes_success_leaves_a_running_cooldown_and_ends_recovery():
    story = Story().fail(RATE_LIMITED).probe(True, 0.5)
    assert story.cooling(0.5)
    assert condition.recovering(story.state, T0 + 1)
    story.probe(True, 1)
    assert not condition.recovering(story.state, T0 + 1)
    assert story.state.health is Health.HEALTHY


def test_a_probe_that_meets_a_rejected_key_cools_it_in_its_own_name():
    story = Story().probe(False, outcome=failure(FailureClass.UNAUTHORIZED, status=401))
    assert story.state.needs_attention
    assert story.state.cooldown.set_by == "probe"
    assert story.state.failures == 0


def test_a_cooldown_by_hand_has_its_own_class_and_the_later_end_wins():
    story = Story()
    change = health.set_manual(story.state, 60, "user:ann", "maintenance", T0)
    assert (change.kind, change.cls, change.until) == ("cooldown-set", "manual", T0 + 60)
    change = health.set_manual(story.state, 30, "user:bob", "shorter", T0)
    assert (change.until, change.set_by) == (T0 + 60, "user:ann")
    change = health.set_manual(story.state, 90, "user:bob", "longer", T0)
    assert (change.kind, change.until) == ("cooldown-extended", T0 + 90)


@pytest.mark.parametrize("seconds", [0, -1, math.nan, math.inf])
def test_a_cooldown_by_hand_needs_a_length(seconds):
    with pytest.raises(ValueError, match="above 0"):
        health.set_manual(Story().state, seconds, "user:ann", "", T0)


def test_a_success_does_not_end_a_persons_cooldown():
    story = Story()
    health.set_manual(story.state, 60, "user:ann", "", T0)
    assert story.succeed(1).cooling(1)


def test_clear_takes_back_everything_and_says_when_there_was_nothing():
    story = Story().fail(failure(FailureClass.UNAUTHORIZED)).probe(False).fail(RATE_LIMITED)
    change = health.clear(story.state, "user:ann", T0 + 1)
    assert (change.kind, change.set_by) == ("cooldown-cleared", "user:ann")
    assert not story.cooling(1)
    assert not story.state.needs_attention
    assert (story.state.rate_level, story.state.health) == (0, Health.HEALTHY)
    assert health.clear(story.state, "user:ann", T0 + 1) is None


def test_a_new_secret_forgets_what_the_old_one_earned():
    story = Story().fail(failure(FailureClass.UNAUTHORIZED))
    health.renew_secret(story.state, 2, T0)
    assert (story.cooling(), story.state.secret_version) == (False, 2)


steps = st.lists(
    st.tuples(
        st.sampled_from(list(FailureClass)),
        st.one_of(st.none(), st.floats(0, 1e6)),
        st.floats(0, 100),
    ),
    max_size=40,
)


@given(steps)
def test_overlapping_cooldowns_end_at_the_latest_end_in_any_order(told):
    story, at, latest = Story(), 0.0, 0.0
    for cls, hint_s, pause_s in told:
        at += pause_s
        before = story.state.cooldown_until
        changes = health.failed(story.state, failure(cls, hint_s), DEFAULT_POLICY, T0 + at)
        ends = [change.until for change in changes if change.kind.startswith("cooldown")]
        latest = max([latest, *ends])
        assert story.state.cooldown_until == latest >= before
        assert story.remaining(at) <= 1800
        assert story.remaining(-1e6) <= 1800  # not even on a clock that steps back


@pytest.mark.parametrize("status", [402, 401, 404])
def test_a_class_whose_length_is_0_sets_no_cooldown(status: int) -> None:
    lengths = CooldownPolicy(quota_s=0, unauthorized_s=0, not_found_s=0)
    state = CandidateState(CandidateKey("d", "k"))
    outcome = Outcome(class_of_status(status), Dispatch.REJECTED, status)
    health.failed(state, outcome, Policy(cooldown=lengths), T0)
    assert (state.cooldown, state.cooldown_until) == (None, 0.0)
