"""A deployment's level: what its candidates' states add up to."""

from __future__ import annotations

import asyncio

import pytest

from routeradmin.adapters.state_memory import MemoryStore
from routeradmin.engine.objects import AdminState
from routeradmin.engine.state import CandidateKey
from routeradmin.services.metering.standing import DOWN, HEALTHY, PARTIAL, Standing, standings
from tests.engine.world import NOW, catalog, deployment


def stand(*cooling: str, **facts: object) -> Standing:
    """Of one deployment with the credentials k and l, of which some are cooling."""
    snapshot = catalog([deployment("d", keys=("k", "l"), **facts)])
    store = MemoryStore()
    store.bind(snapshot)
    for credential in cooling:
        asyncio.run(store.set_cooldown(CandidateKey("d", credential), 60, "user:a", "", NOW))
    return dict(standings(snapshot, store.states(), NOW))["d"]


@pytest.mark.parametrize(
    ("cooling", "level", "words"),
    [
        ((), HEALTHY, {"healthy"}),
        (("k",), PARTIAL, {"healthy", "cooling"}),
        (("k", "l"), DOWN, {"cooling"}),
    ],
)
def test_it_is_down_only_when_every_credential_is(
    cooling: tuple[str, ...], level: int, words: set[str]
) -> None:
    found = stand(*cooling)
    assert (found.level, found.states) == (level, words)


@pytest.mark.parametrize("wanted", [AdminState.DISABLED, AdminState.DRAINING])
def test_what_people_switched_off_takes_no_request(wanted: AdminState) -> None:
    assert stand(admin_state=wanted).level == DOWN


def test_a_limit_that_is_used_up_is_no_outage() -> None:
    assert stand(rpm_limit=0).level == PARTIAL


def test_a_deployment_without_candidates_serves_nothing() -> None:
    assert Standing().level == DOWN
