"""Who reads the board again at the same time gets one rendering of it, and none that is too old."""

from __future__ import annotations

import gzip
import re
from typing import Any

import pytest
from django.test import Client

from routeradmin.console import shared_boards
from routeradmin.services import changes, live
from routeradmin.services.cooldowns import set_by_hand
from routeradmin.services.runtime import Runtime
from tests.console.conftest import BY


@pytest.fixture(autouse=True)
def none_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_boards, "_boards", {})


def board(browser: Client, after: str = "", query: str = "") -> str:
    headers = {"HX-Request": "true", "Routeradmin-After": after}
    return browser.get(f"/{query}", headers=headers).content.decode()


def now(runtime: Runtime) -> str:
    return f"{runtime.process_id}:{live.seq_of(runtime)}"


def made_at(page: str) -> str:
    return re.findall(r'data-now="([^"]+)"', page)[0]


def test_who_asks_for_what_was_just_made_gets_that(
    catalog: Runtime, as_viewer: Client, as_operator: Client, clock: Any
) -> None:
    first = board(as_viewer, now(catalog))
    clock.advance(0.5)
    assert board(as_viewer, now(catalog)) == first
    assert made_at(board(as_operator, now(catalog))) != made_at(first)
    assert made_at(board(as_viewer, now(catalog), "?state=healthy")) != made_at(first)


def test_nobody_gets_a_board_that_has_not_seen_what_the_page_was_told(
    catalog: Runtime, as_viewer: Client, clock: Any
) -> None:
    before = board(as_viewer, now(catalog))
    clock.advance(0.1)
    set_by_hand("near/by", "open", 60, BY)
    assert "s-cooling" not in before
    assert "s-cooling" in board(as_viewer, now(catalog))
    changes.update("routes", "chat", {"strategy": "round_robin"}, BY, if_match="*")
    assert "round_robin" in board(as_viewer, f"{catalog.process_id}:0")


@pytest.mark.parametrize("after", ["", "other:0", "x", ":", "{own}:-1", "{own}:²"])
def test_a_place_that_tells_nothing_gets_a_new_board(
    catalog: Runtime, as_viewer: Client, clock: Any, after: str
) -> None:
    first = board(as_viewer, now(catalog))
    clock.advance(0.1)
    again = board(as_viewer, after.format(own=catalog.process_id))
    assert made_at(again) != made_at(first)


def test_a_board_gets_old_within_a_second(catalog: Runtime, as_viewer: Client, clock: Any) -> None:
    first = board(as_viewer, now(catalog))
    clock.advance(1.5)
    assert made_at(board(as_viewer, now(catalog))) != made_at(first)


def test_what_is_shared_holds_nobody_s_token_and_comes_compressed(
    catalog: Runtime, as_operator: Client
) -> None:
    headers = {"HX-Request": "true", "Accept-Encoding": "gzip"}
    answer = as_operator.get("/", headers=headers)
    assert answer["Content-Encoding"] == "gzip"
    assert "HX-Request" in answer["Vary"]
    page = gzip.decompress(answer.content).decode()
    assert 'value="drain"' in page
    assert "csrfmiddlewaretoken" not in page
