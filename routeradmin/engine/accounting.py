"""Slots, windows and latency of one candidate: what a grant takes and what a report gives back."""

from __future__ import annotations

from routeradmin.engine.objects import Deployment
from routeradmin.engine.state import CandidateState, Health, Lease, Outcome
from routeradmin.engine.windows import roll

LATENCY_ALPHA = 0.2
SAMPLES_KEPT = 128  # for percentiles


def take(state: CandidateState, tokens: int, now: float, current: int) -> None:
    """Charge one granted lease: a slot, a request, and the estimated tokens.

    ``current`` is the window of ``now``.
    """
    if state.window != current:
        roll(state, now)
    state.active += 1
    state.rpm_used += 1
    state.tpm_used += tokens


def free_slot(state: CandidateState) -> None:
    """Give the slot of one lease back; the caller sees to it that this happens once."""
    state.active = max(0, state.active - 1)


def settle_tokens(state: CandidateState, lease: Lease, tokens: int) -> None:
    """Replace the lease's estimate by what was used, if its window is still the counted one."""
    if state.window == lease.window:
        state.tpm_used = max(0, state.tpm_used - lease.held_tokens + tokens)


def tokens_used(outcome: Outcome, held: int) -> int:
    """What an outcome charges: 0 for a failure that showed nothing, the report, or the estimate."""
    if outcome.failure is not None and not outcome.visible_output:
        return 0
    if outcome.input_tokens is None and outcome.output_tokens is None:
        return held
    return (outcome.input_tokens or 0) + (outcome.output_tokens or 0)


def sample(state: CandidateState, outcome: Outcome) -> None:
    """Fold a success's times into the mean (the first as it is, then alpha 0.2) and the samples."""
    if outcome.latency_ms is not None:
        mean = state.latency_ema_ms
        step = 0.0 if mean is None else LATENCY_ALPHA * (outcome.latency_ms - mean)
        state.latency_ema_ms = outcome.latency_ms if mean is None else mean + step
        _keep(state.latencies_ms, outcome.latency_ms)
    if outcome.ttft_ms is not None:
        _keep(state.ttfts_ms, outcome.ttft_ms)


def _keep(samples: list[float], value: float) -> None:
    samples.append(value)
    if len(samples) > SAMPLES_KEPT:
        del samples[0]


def suspicious(deployment: Deployment, state: CandidateState, now: float) -> bool:
    """Whether any rule could refuse the candidate before its state changes again.

    The tpm limit counts from half of it on: ``Table.safe_tokens`` is the other half.
    """
    if state.cooldown_until > now or state.probe_unhealthy or state.health is Health.UNHEALTHY:
        return True
    parallel, rpm, tpm = (
        deployment.max_parallel_requests,
        deployment.rpm_limit,
        deployment.tpm_limit,
    )
    return (
        (parallel is not None and state.active >= parallel)
        or (rpm is not None and state.rpm_used >= rpm)
        or (tpm is not None and (state.tpm_used > tpm // 2 or tpm == 0))
    )
