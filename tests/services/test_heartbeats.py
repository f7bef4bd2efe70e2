"""Fifteen minutes of history in sixty letters."""

from __future__ import annotations

from routeradmin.engine.state import CandidateKey, CandidateState, LastError
from routeradmin.services.heartbeats import TICKS, Heartbeats

KEY = CandidateKey("d", "c")


def test_a_candidate_never_seen_was_quiet() -> None:
    assert Heartbeats().of(KEY) == "." * TICKS


def test_a_tick_says_the_worst_that_happened_in_it() -> None:
    beats, state = Heartbeats(), CandidateState(KEY)
    beats.take([state], 0)
    state.successes = 3
    beats.take([state], 15)
    state.successes, state.failures = 4, 1
    state.last_error = LastError("transient", 503, "", 20)
    beats.take([state], 30)
    state.failures = 2
    state.last_error = LastError("rate-limited", 429, "", 40)
    beats.take([state], 45)
    state.cooldown_until = 100
    beats.take([state], 60)
    beats.take([state], 120)
    assert beats.of(KEY).endswith(".oelc.")
    assert len(beats.of(KEY)) == TICKS


def test_old_ticks_and_departed_candidates_are_forgotten() -> None:
    beats, state = Heartbeats(), CandidateState(KEY)
    for n in range(TICKS + 5):
        state.successes += 1
        beats.take([state], n * 15)
    assert beats.of(KEY) == "o" * TICKS
    assert beats.latest == {KEY: "o"}
    beats.take([], 0)
    assert beats.of(KEY) == "." * TICKS
    assert beats.number == TICKS + 6
