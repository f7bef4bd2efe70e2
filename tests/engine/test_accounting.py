"""What leases charge, what outcomes give back, and what survives a restart."""

from __future__ import annotations

import pytest

from routeradmin.engine import accounting, durable
from routeradmin.engine.objects import Deployment
from routeradmin.engine.state import CandidateKey, CandidateState, Dispatch, Health, Outcome
from routeradmin.engine.windows import ends, roll, used, window
from tests.engine.world import NOW, deployment

KEY = CandidateKey("d", "k")


def success(**facts: float) -> Outcome:
    return Outcome(None, Dispatch.ACCEPTED, 200, **facts)  # type: ignore[arg-type]


def test_the_mean_starts_at_the_first_sample_and_moves_by_a_fifth() -> None:
    state = CandidateState(KEY)
    for latency_ms in (100.0, 200.0, 200.0):
        accounting.sample(state, success(latency_ms=latency_ms))
    assert state.latency_ema_ms == pytest.approx(136.0)


def test_a_success_without_times_leaves_none() -> None:
    state = CandidateState(KEY)
    accounting.sample(state, success())
    assert (state.latency_ema_ms, state.latencies_ms, state.ttfts_ms) == (None, [], [])


def test_only_the_last_samples_are_kept() -> None:
    state = CandidateState(KEY)
    for number in range(accounting.SAMPLES_KEPT + 5):
        accounting.sample(state, success(latency_ms=float(number), ttft_ms=1.0))
    assert len(state.latencies_ms) == len(state.ttfts_ms) == accounting.SAMPLES_KEPT
    assert state.latencies_ms[0] == 5.0


def test_a_slot_is_never_owed() -> None:
    state = CandidateState(KEY)
    accounting.free_slot(state)
    assert state.active == 0


@pytest.mark.parametrize(
    ("limits", "facts", "suspect"),
    [
        ({}, {}, False),
        ({}, {"cooldown_until": NOW + 1}, True),
        ({}, {"cooldown_until": NOW}, False),
        ({}, {"health": Health.UNHEALTHY}, True),
        ({}, {"probe_unhealthy": True}, True),
        ({"max_parallel_requests": 2}, {"active": 1}, False),
        ({"max_parallel_requests": 2}, {"active": 2}, True),
        ({"rpm_limit": 2}, {"rpm_used": 1}, False),
        ({"rpm_limit": 2}, {"rpm_used": 2}, True),
        ({"tpm_limit": 9}, {"tpm_used": 4}, False),
        ({"tpm_limit": 9}, {"tpm_used": 5}, True),
        ({"tpm_limit": 0}, {}, True),
    ],
)
def test_whatever_a_rule_could_refuse_is_suspect(
    limits: dict[str, int], facts: dict[str, object], suspect: bool
) -> None:
    declared: Deployment = deployment("d", **limits)
    state = CandidateState(KEY)
    for name, value in facts.items():
        setattr(state, name, value)
    assert accounting.suspicious(declared, state, NOW) is suspect


def test_windows_are_minutes_of_absolute_time() -> None:
    assert (window(59.999), window(60.0), ends(0)) == (0, 1, 60.0)
    state = CandidateState(KEY, window=window(NOW), rpm_used=3, tpm_used=7)
    assert used(state, NOW + 59.9) == (3, 7)
    assert used(state, NOW + 60) == (0, 0)
    assert state.rpm_used == 3
    roll(state, NOW + 60)
    assert (state.rpm_used, state.tpm_used, state.window) == (0, 0, window(NOW) + 1)


def test_a_fresh_state_leaves_no_record_and_an_old_record_restores_what_it_has() -> None:
    state = CandidateState(KEY, active=3, rpm_used=5, successes=9)
    assert durable.record(state) is None
    durable.restore(state, {"deployment": "d", "credential": "k", "rate_level": 4}, NOW)
    assert (state.rate_level, state.health, state.cooldown) == (4, Health.HEALTHY, None)
    kept = durable.record(state)
    assert kept is not None
    assert durable.key_of(kept) == KEY
