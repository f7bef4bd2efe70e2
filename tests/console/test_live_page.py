"""The live page without its socket: grouping, order, filters, and what a snapshot holds."""

from __future__ import annotations

import asyncio
import re
from types import SimpleNamespace
from typing import Any

import pytest
from django.test import Client

from routeradmin.console.board import dom_id
from routeradmin.engine.policy import DEFAULT_POLICY
from routeradmin.engine.state import CandidateKey, Dispatch, FailureClass, Grant, Outcome
from routeradmin.services.cooldowns import set_by_hand
from routeradmin.services.runtime import Runtime
from tests.console.conftest import BY


def rows(page: str) -> list[str]:
    return re.findall(r'data-row="([^"]+)"', page)


def test_candidates_are_grouped_by_route_and_the_failed_come_first(
    catalog: Runtime, as_viewer: Client
) -> None:
    set_by_hand("near/by", "open", 60, BY)
    page = as_viewer.get("/").content.decode()
    assert rows(page) == [
        dom_id("near/by", "open"),
        dom_id("acme-large", "acme-key"),
        dom_id("acme-large", "acme-two"),
        dom_id("spare", "acme-key"),
    ]
    assert page.index("chat</span>") < page.index("Not in any route")


def test_the_url_filters_and_the_figures_count_everything(
    catalog: Runtime, as_viewer: Client
) -> None:
    page = as_viewer.get("/?state=disabled").content.decode()
    assert rows(page) == [dom_id("spare", "acme-key")]
    assert re.search(r'data-cell="sum-healthy">3 <small>of 4', page)
    assert rows(as_viewer.get("/?provider=local").content.decode()) == [dom_id("near/by", "open")]
    assert rows(as_viewer.get("/?q=NEAR").content.decode()) == [dom_id("near/by", "open")]
    assert "Nothing matches" in as_viewer.get("/?q=nothing-like-it").content.decode()


def test_a_snapshot_is_the_board_alone_with_its_counters(
    catalog: Runtime, as_viewer: Client
) -> None:
    answer = as_viewer.get("/", headers={"HX-Request": "true"})
    board = answer.content.decode()
    assert board.lstrip().startswith('<div id="live-board"')
    assert f'data-process="{catalog.process_id}" data-epoch="{catalog.store.epoch}"' in board
    assert 'data-revision="1"' in board
    assert "HX-Request" in answer["Vary"]


def test_without_javascript_the_page_refreshes_itself(catalog: Runtime, as_viewer: Client) -> None:
    page = as_viewer.get("/").content.decode()
    assert '<noscript><meta http-equiv="refresh" content="10"></noscript>' in page


def test_an_empty_catalog_says_the_next_step(runtime: Runtime, as_viewer: Client) -> None:
    page = as_viewer.get("/").content.decode()
    assert "No deployments yet" in page
    assert "/transfer" in page


def test_a_store_that_is_away_is_told(catalog: Runtime, as_viewer: Client) -> None:
    catalog.degraded.add("store")
    assert "Figures may be old" in as_viewer.get("/").content.decode()


@pytest.fixture
def troubled(catalog: Runtime) -> Runtime:
    set_by_hand("near/by", "open", 60, BY)
    return catalog


def test_every_number_of_the_strip_shows_those_that_it_counts(
    troubled: Runtime, as_viewer: Client
) -> None:
    page = as_viewer.get("/?provider=local").content.decode()
    for state in ("healthy", "cooling", "draining", "needs-attention", "unhealthy"):
        assert f'href="?state={state}&amp;provider=local"' in page
    for state in ("active", "used", "failing"):
        assert f'href="?state={state}&amp;provider=local"' in page
    assert '<a class="figure" href="/revisions">' in page
    filtered = as_viewer.get("/?state=cooling&provider=local").content.decode()
    assert '<a class="figure" href="?provider=local" aria-current="true">' in filtered


def test_rows_are_sorted_and_grouped_as_the_address_says(
    troubled: Runtime, as_viewer: Client
) -> None:
    page = as_viewer.get("/?group=none&sort=name").content.decode()
    assert rows(page) == [
        dom_id("acme-large", "acme-key"),
        dom_id("acme-large", "acme-two"),
        dom_id("near/by", "open"),
        dom_id("spare", "acme-key"),
    ]
    assert page.count('class="group"') == 1
    by_provider = as_viewer.get("/?group=provider").content.decode()
    assert re.findall(r'class="title">([^<]+)<', by_provider) == ["local", "acme"]


def test_what_failed_within_a_minute_is_a_filter(
    catalog: Runtime, as_viewer: Client, clock: Any
) -> None:
    key = CandidateKey("near/by", "open")
    route = catalog.current.snapshot.routes["chat"]
    near = next(c for tier in route.tiers for c in tier.candidates if c.key == key)

    async def fail() -> None:
        lease = await catalog.store.reserve(Grant(near, "t", 60, 1, "chat"), catalog.clock())
        assert lease is not None
        outcome = Outcome(FailureClass.TRANSIENT, Dispatch.REJECTED, status=503)
        await catalog.store.settle(lease.id, outcome, DEFAULT_POLICY, catalog.clock())

    asyncio.run(fail())
    assert rows(as_viewer.get("/?state=failing").content.decode()) == [dom_id("near/by", "open")]
    clock.advance(61)
    assert rows(as_viewer.get("/?state=failing").content.decode()) == []


def test_a_process_that_is_behind_is_named(catalog: Runtime, as_viewer: Client) -> None:
    catalog.peers = SimpleNamespace(  # type: ignore[assignment]
        others={"late": {"revision": 0}},
        lag_ms=lambda revision, now: 0 if revision else 900,
        behind_ms=lambda process, revision, now: 0 if revision else 900,
        silence_ms=lambda process, now: 0,
    )
    page = as_viewer.get("/").content.decode()
    assert "<small>1/2</small>" in page
    assert "late is at r0" in page
    catalog.peers = None


def test_an_empty_page_offers_a_way_to_those_who_may_go_it(
    runtime: Runtime, as_admin: Client, as_operator: Client
) -> None:
    for headers in ({}, {"HX-Request": "true"}):
        assert b"/new/providers" in as_admin.get("/", headers=headers).content
        page = as_operator.get("/", headers=headers).content
        assert b"An admin can add them." in page
        assert b"/new/providers" not in page
    assert b"/new/keys" in as_admin.get("/keys").content
    assert b"/new/keys" not in as_operator.get("/keys").content
