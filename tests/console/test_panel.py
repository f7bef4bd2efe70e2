"""The panel beside the live list: a candidate's evidence, its past, why it is not used."""

from __future__ import annotations

import re

import pytest
from django.test import Client

from routeradmin.journal.models import Attempt, Event, Turn
from routeradmin.services import changes
from routeradmin.services.cooldowns import set_by_hand
from routeradmin.services.publishing import moment
from routeradmin.services.runtime import Runtime
from tests.console.conftest import BY, SCRIPT

NEAR = "near/by/open"


def panel(browser: Client, uid: str = NEAR) -> str:
    return browser.get("/panel", {"panel": uid}, headers={"HX-Request": "true"}).content.decode()


@pytest.fixture
def past(catalog: Runtime) -> None:
    at = moment(catalog)
    turn = Turn.objects.create(uid="turn-1", route="chat", halt="succeeded", started_at=at)
    Attempt.objects.create(
        turn=turn,
        n=1,
        deployment="near/by",
        credential="open",
        failure_class="transient",
        status=503,
        message=SCRIPT,
    )
    Attempt.objects.create(turn=turn, n=2, deployment="acme-large", credential="acme-key")
    for deployment in ("near/by", "spare"):
        Event.objects.create(kind="degraded", at=at, deployment=deployment, credential="open")


def test_the_panel_has_state_limits_evidence_and_the_past_of_its_candidate_alone(
    catalog: Runtime, past: None, as_viewer: Client
) -> None:
    set_by_hand("near/by", "open", 60, BY, SCRIPT)
    found = panel(as_viewer)
    assert found.lstrip().startswith('<aside class="panel" id="panel"')
    for words in ("s-cooling", "data-until", "Requests / min", "Last 15 minutes", "transient 503"):
        assert words in found
    assert found.count('href="/turns/turn-1"') == 2  # as an error and as a turn
    assert found.count("<b>degraded</b>") == 1
    assert SCRIPT not in found


def test_the_panel_says_why_its_candidate_would_not_be_used(
    catalog: Runtime, as_viewer: Client
) -> None:
    assert re.search(
        r"chat</a> It may be used, but an earlier tier has acme-large/", panel(as_viewer)
    )
    assert "No route has it" in panel(as_viewer, "spare/acme-key")
    set_by_hand("near/by", "open", 60, BY)
    assert "cooling-down" in panel(as_viewer)


def test_an_operator_acts_from_the_panel_and_a_viewer_does_not(
    catalog: Runtime, as_viewer: Client, as_operator: Client
) -> None:
    assert 'value="drain"' in panel(as_operator)
    assert "<form" not in panel(as_viewer)


def test_the_address_holds_the_panel_and_the_filters_beside_it(
    catalog: Runtime, as_viewer: Client
) -> None:
    page = as_viewer.get("/", {"state": "healthy", "panel": NEAR}).content.decode()
    assert 'id="panel"' in page
    assert 'href="/?state=healthy" data-close-panel' in page
    answer = as_viewer.get("/panel", {"state": "healthy", "panel": NEAR})
    assert answer["Location"] == "/?state=healthy&panel=near%2Fby%2Fopen"


def test_a_candidate_that_left_the_catalog_is_told_of(catalog: Runtime, as_viewer: Client) -> None:
    changes.delete("deployments", "spare", BY, if_match="*")
    assert "There is no such candidate any more" in panel(as_viewer, "spare/acme-key")


def test_the_rows_lead_to_the_deployment_without_a_script(
    catalog: Runtime, as_viewer: Client
) -> None:
    page = as_viewer.get("/").content.decode()
    assert '<a class="id" href="/deployments/near/by" data-open>' in page


def test_the_panel_asks_the_database_a_fixed_number_of_times(
    catalog: Runtime, past: None, as_viewer: Client, django_assert_num_queries: object
) -> None:
    signed_in, attempts, events = 2, 1, 1
    with django_assert_num_queries(signed_in + attempts + events):  # type: ignore[operator]
        panel(as_viewer)
