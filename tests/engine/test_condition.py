"""The one word shown for a candidate: the first that applies, computed when read."""

from __future__ import annotations

from dataclasses import replace

import pytest

from routeradmin.engine.condition import effective_state, remaining_s
from routeradmin.engine.objects import AdminState
from routeradmin.engine.state import CandidateState, Cooldown, Health
from tests.engine.turn_world import T0, catalog, deployment, route

WINDOW = int(T0 // 60)
COOLING = {"cooldown": Cooldown("quota", T0, T0 + 9, 0, "result"), "cooldown_until": T0 + 9}


def shown(state: dict, at: float = T0, **facts) -> str:
    told = deployment("A", rpm_limit=2, max_parallel_requests=3, tpm_limit=100)
    (candidate,) = catalog([replace(told, **facts)], route(["A"])).routes["r"].candidates
    return effective_state(candidate, CandidateState(candidate.key, window=WINDOW, **state), at)


@pytest.mark.parametrize(
    ("state", "word"),
    [
        ({}, "healthy"),
        ({"health": Health.UNKNOWN}, "healthy"),
        ({"health": Health.DEGRADED}, "degraded"),
        ({"recovering": True, "health": Health.DEGRADED}, "recovering"),
        ({"recovering": True, "rpm_used": 2}, "at-limit"),
        ({"active": 3}, "at-limit"),
        ({"tpm_used": 100}, "at-limit"),
        ({"rpm_used": 1, "active": 2, "tpm_used": 99}, "healthy"),
        ({**COOLING, "rpm_used": 2}, "cooling"),
        ({**COOLING, "health": Health.UNHEALTHY}, "unhealthy"),
        ({**COOLING, "probe_unhealthy": True}, "cooling"),
        ({**COOLING, "health": Health.UNHEALTHY, "needs_attention": True}, "needs-attention"),
    ],
)
def test_the_first_word_that_applies_is_shown(state, word):
    assert shown(state) == word


def test_time_alone_ends_cooldowns_limits_and_holds_of_verdicts():
    assert shown(dict(COOLING), T0 + 9) == "recovering"
    assert shown({**COOLING, "probe_unhealthy": True}, T0 + 9) == "unhealthy"
    assert shown({"rpm_used": 2}, T0 + 60) == "healthy"


@pytest.mark.parametrize(
    ("wanted", "drain_until", "word"),
    [
        (AdminState.DISABLED, None, "disabled"),
        (AdminState.DRAINING, None, "draining"),
        (AdminState.DRAINING, T0 + 1, "draining"),
        (AdminState.DRAINING, T0, "disabled"),
        (AdminState.ENABLED, T0 - 1, "needs-attention"),
    ],
)
def test_what_people_want_comes_first_and_a_drain_past_its_limit_reads_disabled(
    wanted, drain_until, word
):
    facts = {"admin_state": wanted, "drain_until": drain_until}
    assert shown({"needs_attention": True}, **facts) == word


def test_what_remains_is_never_above_what_was_set_nor_below_nothing():
    cooldown = Cooldown("quota", T0, T0 + 9, 0, "result")
    assert [remaining_s(cooldown, T0 + at) for at in (-500, 0, 4, 9, 50)] == [9, 9, 5, 0, 0]
    assert remaining_s(None, T0) == 0
