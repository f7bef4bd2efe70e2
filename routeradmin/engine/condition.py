"""What a candidate's state means at a moment: pure readings that write nothing.

Expiry is computed here, when read; no timer has to fire.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from routeradmin.engine.objects import AdminState
from routeradmin.engine.state import CandidateState, Cooldown, Health
from routeradmin.engine.windows import used

if TYPE_CHECKING:
    from routeradmin.engine.snapshot import Candidate

EffectiveState = Literal[
    "disabled",
    "draining",
    "needs-attention",
    "unhealthy",
    "cooling",
    "at-limit",
    "recovering",
    "degraded",
    "healthy",
]


def cooling(state: CandidateState, now: float) -> bool:
    return now < state.cooldown_until


def remaining_s(cooldown: Cooldown | None, now: float) -> float:
    """Seconds left, never above what was set; to the microsecond, which is what moments this far
    from the epoch can tell, so that rounding up to whole seconds adds none."""
    if cooldown is None:
        return 0.0
    left_s = min(cooldown.until - now, cooldown.until - cooldown.since)
    return max(0.0, round(left_s, 6))


def recovering(state: CandidateState, now: float) -> bool:
    """Selectable again after a cooldown, and not yet proven by successes."""
    return not cooling(state, now) and (state.recovering or state.cooldown is not None)


def unhealthy(state: CandidateState, now: float) -> bool:
    """Probes say so, and no running cooldown holds their verdict back."""
    return state.health is Health.UNHEALTHY or (state.probe_unhealthy and not cooling(state, now))


def health_at(state: CandidateState, now: float) -> Health:
    """The health to show: what the next write would settle."""
    if unhealthy(state, now):
        return Health.UNHEALTHY
    return Health.DEGRADED if recovering(state, now) else state.health


def admin_state_at(candidate: Candidate, now: float) -> AdminState:
    """What people want of the candidate; a drain past its limit reads disabled."""
    if candidate.assumed_admin is not None:
        return candidate.assumed_admin
    deployment = candidate.deployment
    wanted = {
        deployment.admin_state,
        deployment.provider.admin_state,
        candidate.credential.admin_state,
    }
    if AdminState.DISABLED in wanted:
        return AdminState.DISABLED
    if AdminState.DRAINING not in wanted:
        return AdminState.ENABLED
    limit = deployment.drain_until if deployment.admin_state is AdminState.DRAINING else None
    return AdminState.DRAINING if limit is None or now < limit else AdminState.DISABLED


def at_limit(candidate: Candidate, state: CandidateState, now: float) -> bool:
    """No slot, request or token is left; a past window's use counts as 0."""
    deployment = candidate.deployment
    rpm, tpm = used(state, now)
    taken_and_limit = (
        (state.active, deployment.max_parallel_requests),
        (rpm, deployment.rpm_limit),
        (tpm, deployment.tpm_limit),
    )
    return any(limit is not None and taken >= limit for taken, limit in taken_and_limit)


def effective_state(candidate: Candidate, state: CandidateState, now: float) -> EffectiveState:
    """The one word shown everywhere: the first that applies."""
    wanted = admin_state_at(candidate, now)
    if wanted is AdminState.DISABLED:
        return "disabled"
    if wanted is AdminState.DRAINING:
        return "draining"
    if state.needs_attention:
        return "needs-attention"
    if unhealthy(state, now):
        return "unhealthy"
    if cooling(state, now):
        return "cooling"
    if at_limit(candidate, state, now):
        return "at-limit"
    if recovering(state, now):
        return "recovering"
    return "degraded" if state.health is Health.DEGRADED else "healthy"
