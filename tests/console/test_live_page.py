"""The live page without its socket: grouping, order, filters, and what a snapshot holds."""

from __future__ import annotations

import re

from django.test import Client

from routeradmin.console.board import dom_id
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
