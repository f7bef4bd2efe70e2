"""Setting and lifting a candidate's cooldown: one running end, evidence of who set it."""

from __future__ import annotations

from routeradmin.engine import backoff
from routeradmin.engine.condition import cooling
from routeradmin.engine.policy import CooldownPolicy
from routeradmin.engine.state import (
    MANUAL,
    CandidateState,
    Change,
    Cooldown,
    FailureClass,
    Outcome,
)


def rate_limited(
    state: CandidateState, outcome: Outcome, policy: CooldownPolicy, now: float, set_by: str
) -> list[Change]:
    """At once. Inside its own open window an answer moves nothing but, by a hint, the end."""
    if now < state.rate_limited_until:
        level = state.rate_level
        length_s = backoff.capped_hint_s(outcome.hint_s, policy) or 0.0
    else:
        length_s, level = backoff.rate_limited(policy, state.rate_level, outcome.hint_s)
    if length_s <= 0:
        return []
    state.rate_level = level
    state.rate_limited_until = max(state.rate_limited_until, now + length_s)
    return impose(state, _cooldown(outcome, now, length_s, level, set_by))


def transient(
    state: CandidateState, outcome: Outcome, policy: CooldownPolicy, now: float, set_by: str
) -> list[Change]:
    """The caller has found the threshold passed, or the window open."""
    if now < state.transient_until:
        level = state.transient_level
        length_s = backoff.capped_hint_s(outcome.hint_s, policy) or 0.0
    else:
        length_s, level = backoff.transient(policy, state.transient_level, outcome.hint_s)
    if length_s <= 0:
        return []
    state.transient_level = level
    state.transient_until = max(state.transient_until, now + length_s)
    return impose(state, _cooldown(outcome, now, length_s, level, set_by))


def fixed(
    state: CandidateState, outcome: Outcome, policy: CooldownPolicy, now: float, set_by: str
) -> list[Change]:
    """Quota, unauthorized, not-found: a length of their own. Other classes set nothing."""
    length_s = {
        FailureClass.QUOTA: policy.quota_s,
        FailureClass.UNAUTHORIZED: policy.unauthorized_s,
        FailureClass.NOT_FOUND: policy.not_found_s,
    }.get(outcome.failure or FailureClass.CALLER, 0.0)
    if length_s <= 0:
        return []
    return impose(state, _cooldown(outcome, now, length_s, 0, set_by))


def impose(state: CandidateState, cooldown: Cooldown) -> list[Change]:
    """The later end wins; the one that wins starts the counts again."""
    now = cooldown.since
    if cooldown.until <= state.cooldown_until:
        return []
    kind = "cooldown-extended" if cooling(state, now) else "cooldown-set"
    state.cooldown, state.cooldown_until = cooldown, cooldown.until
    state.marked_at = now
    state.recovering = False
    state.consecutive_failures = state.consecutive_successes = 0
    state.minute_successes = state.minute_failures = 0
    return [in_force(state, kind, now)]


def lift(state: CandidateState, now: float) -> list[Change]:
    """A success takes back the levels and what results had set, never a person's cooldown."""
    state.rate_level = state.transient_level = 0
    if state.cooldown is None or (state.cooldown.cls == MANUAL and cooling(state, now)):
        return []
    ended_early = cooling(state, now)
    forget(state)
    state.recovering = True
    return [Change("cooldown-cleared", state.key, now, "result")] if ended_early else []


def forget(state: CandidateState) -> None:
    state.cooldown, state.cooldown_until = None, 0.0
    state.rate_limited_until = state.transient_until = 0.0


def in_force(state: CandidateState, kind: str, now: float) -> Change:
    """A change that tells of the cooldown the state now holds."""
    held = state.cooldown
    assert held is not None, "told of a cooldown that is not there"  # noqa: S101
    return Change(
        kind,
        state.key,
        now,
        held.set_by,
        held.cls,
        held.status,
        held.message,
        held.until,
        held.level,
    )


def _cooldown(outcome: Outcome, now: float, length_s: float, level: int, set_by: str) -> Cooldown:
    return Cooldown(
        str(outcome.failure), now, now + length_s, level, set_by, outcome.status, outcome.message
    )
