"""What results, probes and people do to a candidate's health and cooldown.

Every function changes the state it is given and returns the changes worth a journal entry. Slots,
usage and latency samples are the store's; the counts of results, health, cooldown, levels and the
last error are changed here. An elapsed cooldown stays in the state, with its evidence, until a
success that started after it, a probe's success, a newer cooldown or a person takes its place.
"""

from __future__ import annotations

import math
from dataclasses import replace

from routeradmin.engine import cooldowns
from routeradmin.engine.condition import cooling, health_at, recovering, unhealthy
from routeradmin.engine.policy import CooldownPolicy, Policy
from routeradmin.engine.state import (
    MANUAL,
    CandidateState,
    Change,
    Cooldown,
    FailureClass,
    Health,
    LastError,
    Outcome,
)
from routeradmin.engine.windows import roll

NOT_THE_DEPLOYMENTS = frozenset({FailureClass.CANCELLED, FailureClass.DEADLINE})
# What the caller asked for or the answer's address says nothing of the candidate's health.
HARMLESS = frozenset(
    {
        FailureClass.CALLER,
        FailureClass.CONTENT_POLICY,
        FailureClass.CONTEXT_WINDOW,
        FailureClass.REFUSED,
    }
)
# A probe that meets one of these has learned something of the credential, not of the endpoint.
_TOLD_BY_PROBES = frozenset(
    {FailureClass.RATE_LIMITED, FailureClass.QUOTA, FailureClass.UNAUTHORIZED}
)


def settle_elapsed(state: CandidateState, now: float) -> tuple[Change, ...]:
    """Write down what an elapsed cooldown left: recovering, or the probes' verdict."""
    if state.cooldown is None or cooling(state, now) or state.recovering:
        return ()
    ended_at, set_by = state.cooldown.until, state.cooldown.set_by
    state.recovering = True
    state.consecutive_successes = 0
    state.health = health_at(state, now)
    if state.health is Health.UNHEALTHY:
        return (Change("unhealthy", state.key, ended_at, "probe"),)
    return (Change("recovering", state.key, ended_at, set_by),)


def succeeded(
    state: CandidateState, outcome: Outcome, policy: Policy, started_at: float, now: float
) -> tuple[Change, ...]:
    """Count a success. Only one whose request started after the newest cooldown or
    needs-attention mark was set lifts that mark and counts towards recovery."""
    changes = list(settle_elapsed(state, now))
    roll(state, now)
    was = state.health
    state.successes += 1
    state.minute_successes += 1
    state.consecutive_failures = 0
    if started_at > state.marked_at:
        state.needs_attention = False
        state.consecutive_successes += 1
        changes += cooldowns.lift(state, now)
        if state.consecutive_successes >= policy.cooldown.success_threshold:
            state.recovering = False
    _settle_health(state, now)
    if was is not Health.HEALTHY and state.health is Health.HEALTHY:
        changes.append(Change("healthy", state.key, now, "result", status=outcome.status))
    return tuple(changes)


def failed(
    state: CandidateState, outcome: Outcome, policy: Policy, now: float, set_by: str = "result"
) -> tuple[Change, ...]:
    """Count a failure and set the cooldown its class asks for.

    ``cancelled`` and ``deadline`` say nothing of the deployment and change nothing.
    """
    if outcome.failure is None or outcome.failure in NOT_THE_DEPLOYMENTS:
        return ()
    changes = settle_elapsed(state, now)
    state.failures += 1
    return changes + _judge(state, outcome, policy.cooldown, now, set_by)


def probed(
    state: CandidateState, ok: bool, threshold: int, policy: Policy, outcome: Outcome, now: float
) -> tuple[Change, ...]:
    """Count a probe. Failures in a row below ``threshold`` degrade, from it on they make
    unhealthy; one success makes healthy. A running cooldown goes on either way."""
    changes = settle_elapsed(state, now)
    was = health_at(state, now)
    if ok:
        _probe_success(state, now)
    else:
        state.probe_failures += 1
        state.probe_unhealthy = state.probe_unhealthy or state.probe_failures >= threshold
        if outcome.failure in _TOLD_BY_PROBES:
            changes += _judge(state, outcome, policy.cooldown, now, "probe")
        _settle_health(state, now)
    if state.health is not was:
        changes += (_told(state.health, state, outcome, now, "probe"),)
    return changes


def set_manual(
    state: CandidateState, seconds: float, set_by: str, message: str, now: float
) -> Change:
    """A cooldown by hand, ``set_by`` being ``user:NAME``; a running one that ends later stays,
    and the change tells of that one.

    Raises ValueError unless ``seconds`` is a finite number above 0.
    """
    if not (math.isfinite(seconds) and seconds > 0):
        raise ValueError(f"a cooldown needs a number of seconds above 0, not {seconds}")
    settle_elapsed(state, now)
    cooldown = Cooldown(MANUAL, now, now + seconds, 0, set_by, None, message)
    made = cooldowns.impose(state, cooldown)
    _settle_health(state, now)
    return made[0] if made else cooldowns.in_force(state, "cooldown-extended", now)


def clear(state: CandidateState, set_by: str, now: float) -> Change | None:
    """Both levels and all counts 0, health healthy, no cooldown; None if that changed nothing.

    Totals since the start are statistics, not counts that decide anything: they stay.
    """
    before = replace(state)
    state.rate_level = state.transient_level = 0
    state.consecutive_failures = state.consecutive_successes = state.probe_failures = 0
    state.minute_successes = state.minute_failures = 0
    state.recovering = state.needs_attention = state.probe_unhealthy = False
    state.health = Health.HEALTHY
    state.marked_at = 0.0
    cooldowns.forget(state)
    return None if state == before else Change("cooldown-cleared", state.key, now, set_by)


def renew_secret(state: CandidateState, secret_version: int, now: float) -> Change | None:
    """A new secret: what the old one earned is forgotten."""
    state.secret_version = secret_version
    return clear(state, "result", now)


def _judge(
    state: CandidateState, outcome: Outcome, policy: CooldownPolicy, now: float, set_by: str
) -> tuple[Change, ...]:
    failure, was = outcome.failure, state.health
    assert failure is not None, "a success was judged as a failure"  # noqa: S101
    state.last_error = LastError(failure, outcome.status, outcome.message, now)
    if failure in HARMLESS:
        return ()
    changes: list[Change] = []
    state.consecutive_successes = 0
    if failure is FailureClass.UNAUTHORIZED:
        changes += _ask_for_attention(state, outcome, now, set_by)
    if failure is FailureClass.TRANSIENT:
        changes += _transient(state, outcome, policy, now, set_by)
    elif policy.enabled and failure is FailureClass.RATE_LIMITED:
        changes += cooldowns.rate_limited(state, outcome, policy, now, set_by)
    elif policy.enabled:
        changes += cooldowns.fixed(state, outcome, policy, now, set_by)
    _settle_health(state, now)
    if was is Health.HEALTHY and state.health is Health.DEGRADED:
        changes.append(_told(Health.DEGRADED, state, outcome, now, set_by))
    return tuple(changes)


def _transient(
    state: CandidateState, outcome: Outcome, policy: CooldownPolicy, now: float, set_by: str
) -> list[Change]:
    """In the open window nothing is counted; recovering re-opens at the first failure."""
    if now >= state.transient_until:
        roll(state, now)
        state.consecutive_failures += 1
        state.minute_failures += 1
        if not (recovering(state, now) or _over_threshold(state, policy)):
            return []
    return cooldowns.transient(state, outcome, policy, now, set_by) if policy.enabled else []


def _over_threshold(state: CandidateState, policy: CooldownPolicy) -> bool:
    """Enough failures in a row, or more than half of enough requests in this minute."""
    total = state.minute_successes + state.minute_failures
    return state.consecutive_failures >= policy.allowed_fails or (
        total >= policy.min_requests and state.minute_failures * 2 > total
    )


def _ask_for_attention(
    state: CandidateState, outcome: Outcome, now: float, set_by: str
) -> list[Change]:
    state.marked_at = now
    if state.needs_attention:
        return []
    state.needs_attention = True
    return [_told("needs-attention", state, outcome, now, set_by)]


def _probe_success(state: CandidateState, now: float) -> None:
    state.probe_failures = 0
    state.probe_unhealthy = False
    if cooling(state, now):
        state.health = Health.DEGRADED
        return
    state.recovering = False
    cooldowns.forget(state)
    state.health = Health.HEALTHY


def _settle_health(state: CandidateState, now: float) -> None:
    if unhealthy(state, now):
        state.health = Health.UNHEALTHY
    elif (
        state.cooldown is not None
        or state.recovering
        or state.consecutive_failures
        or state.probe_failures
    ):
        state.health = Health.DEGRADED
    else:
        state.health = Health.HEALTHY


def _told(kind: str, state: CandidateState, outcome: Outcome, now: float, set_by: str) -> Change:
    cls = None if outcome.failure is None else str(outcome.failure)
    return Change(str(kind), state.key, now, set_by, cls, outcome.status, outcome.message)
