"""A page asks the database a fixed number of times, however long its list."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from routeradmin.journal.models import Attempt, AuditEntry, Event, Turn
from routeradmin.services.publishing import moment
from routeradmin.services.runtime import Runtime
from tests import factories as make
from tests.console.conftest import install

SIGNED_IN = 2  # the session and its user


@pytest.fixture
def wide(runtime: Runtime) -> Runtime:
    install(make.wide_catalog(deployments=300, routes=100))
    now = moment(runtime)
    Event.objects.bulk_create(
        Event(kind="healthy", at=now, deployment=f"d{n}", credential="acme-key") for n in range(120)
    )
    AuditEntry.objects.bulk_create(
        AuditEntry(at=now, actor="user:ada", action="update", kind="deployments", object_id=f"d{n}")
        for n in range(120)
    )
    turns = Turn.objects.bulk_create(
        Turn(uid=f"t{n}", route="r1", started_at=now, halt="succeeded") for n in range(120)
    )
    Attempt.objects.bulk_create(Attempt(turn=turn, n=1, deployment="d1") for turn in turns)
    return runtime


@pytest.mark.parametrize(
    ("name", "queries"),
    [
        ("live", 2),
        ("deployments", 0),
        ("routes", 1),
        ("providers", 0),
        ("credentials", 0),
        ("endpoints", 0),
        ("models", 0),
        ("aliases", 0),
        ("policies", 0),
        ("rules", 0),
        ("intents", 0),
        ("intents-feedback", 4),
        ("intents-try", 0),
        ("intents-settings", 1),
        ("intents-load", 0),
        ("defaults", 1),
        ("events", 2),
        ("audit", 1),
        ("turns", 3),
        ("revisions", 1),
        ("keys", 1),
        ("users", 1),
        ("alerts", 2),  # webhooks, and what is wrong now
        ("transfer", 0),
        ("explain", 0),
    ],
)
def test_a_list_stays_within_its_budget(
    wide: Runtime,
    as_admin: Client,
    django_assert_num_queries: Any,
    name: str,
    queries: int,
) -> None:
    with django_assert_num_queries(SIGNED_IN + queries):
        assert as_admin.get(reverse(name)).status_code == 200


def test_pages_follow_each_other_without_gap_or_repeat(wide: Runtime, as_admin: Client) -> None:
    seen: list[str] = []
    address: str | None = "/deployments?sort=-id"
    while address:
        answer = as_admin.get(address)
        found = answer.context["list"]
        seen += [uid for uid, _ in found.rows]
        address = f"/deployments{found.after}" if found.after else None
    assert len(seen) == len(set(seen)) == 300


def test_a_log_is_read_to_its_end_by_its_cursor(wide: Runtime, as_admin: Client) -> None:
    seen: list[int] = []
    address: str | None = "/events?kind=healthy"
    while address:
        page = as_admin.get(address).context["page"]
        seen += [row.pk for row in page.rows]
        address = f"/events{page.older}" if page.older else None
    assert len(seen) == len(set(seen)) == 120
    assert seen == sorted(seen, reverse=True)


def test_the_board_renders_a_bounded_number_of_rows(wide: Runtime, as_admin: Client) -> None:
    page = as_admin.get("/").content.decode()
    assert page.count("data-row=") <= 200
    assert page.count('class="group"') + page.count('class="group folded"') == 100
