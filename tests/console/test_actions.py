"""Actions: done at once, with the way back and the API call; a missing right is named."""

from __future__ import annotations

import html
from typing import Any

from django.test import Client

from routeradmin.engine.state import CandidateKey
from routeradmin.journal.models import AuditEntry
from routeradmin.services.runtime import Runtime
from tests.console.conftest import QUOTE

NEAR = {"deployment": "near/by", "credential": "open"}
HTMX = {"HX-Request": "true"}


def act(browser: Client, action: str, **more: str) -> Any:
    return browser.post("/act", {**NEAR, "action": action, **more}, headers=HTMX)


def wanted(runtime: Runtime) -> str:
    return str(runtime.current.snapshot.deployments["near/by"].admin_state)


def test_draining_can_be_undone_and_shows_the_call(catalog: Runtime, as_operator: Client) -> None:
    answer = act(as_operator, "drain", reason="maintenance")
    page = html.unescape(answer.content.decode())
    assert answer.status_code == 200
    assert wanted(catalog) == "draining"
    assert 'name="action" value="enable">Undo' in page
    assert "/api/v1/deployments/near/by/drain" in page
    assert AuditEntry.objects.filter(reason="maintenance", actor="user:otto").exists()
    act(as_operator, "enable")
    assert wanted(catalog) == "enabled"


def test_a_cooldown_is_set_shown_and_cleared(catalog: Runtime, as_operator: Client) -> None:
    act(as_operator, "cool", seconds="600", reason=QUOTE)
    key = CandidateKey("near/by", "open")
    state = next(one for one in catalog.store.states() if one.key == key)
    assert state.cooldown is not None
    assert state.cooldown.until == catalog.clock() + 600
    page = as_operator.get("/").content.decode()
    assert "10:00" in page
    assert "user:otto" in page
    assert f"'{QUOTE}" not in page
    act(as_operator, "clear")
    state = next(one for one in catalog.store.states() if one.key == key)
    assert state.cooldown is None


def test_a_cleared_cooldown_is_taken_back_for_what_was_left_of_it(
    catalog: Runtime, as_operator: Client, clock: Any
) -> None:
    act(as_operator, "cool", seconds="600")
    clock.advance(60)
    page = act(as_operator, "clear").content.decode()
    undo = 'value="540"><button class="tight" data-undo name="action" value="cool"'
    assert undo in page
    assert "data-undo" not in act(as_operator, "clear").content.decode()


def test_what_makes_no_sense_is_refused_with_a_reason(
    catalog: Runtime, as_operator: Client
) -> None:
    for seconds in ("", "nan", "-1", "inf", "x", "9999999999"):
        answer = act(as_operator, "cool", seconds=seconds)
        assert answer.status_code == 422, seconds
        assert b"Not done." in answer.content
    assert act(as_operator, "explode").status_code == 422
    gone = {"deployment": "gone", "action": "drain"}
    assert as_operator.post("/act", gone, headers=HTMX).status_code == 422
    assert as_operator.post("/act", {**gone, "action": "clear"}).status_code == 422


def test_without_javascript_an_action_leads_back_to_the_page(
    catalog: Runtime, as_operator: Client
) -> None:
    came_from = {"Referer": "http://testserver/deployments/near/by"}
    answer = as_operator.post("/act", {**NEAR, "action": "disable"}, headers=came_from)
    assert answer.status_code == 303
    assert answer["Location"] == came_from["Referer"]
    assert "is disabled" in as_operator.get("/deployments/near/by").content.decode()
    elsewhere = {"Referer": "https://evil.example/"}
    answer = as_operator.post("/act", {**NEAR, "action": "enable"}, headers=elsewhere)
    assert answer["Location"] == "/"


def test_a_viewer_may_not_act(catalog: Runtime, as_viewer: Client) -> None:
    answer = as_viewer.post("/act", {**NEAR, "action": "drain"})
    assert answer.status_code == 403
    assert b"<b>Operator</b>" in answer.content
    assert wanted(catalog) == "enabled"


def test_many_are_acted_on_at_once_and_each_says_how_it_came_out(
    catalog: Runtime, as_operator: Client
) -> None:
    given = {"uid": ["near/by", "gone", "acme-large"], "action": "disable"}
    answer = as_operator.post("/bulk/deployments", given)
    page = html.unescape(answer.content.decode())
    assert answer.status_code == 422
    assert "2 of 3 deployments disabled" in page
    assert "there is no 'gone'" in page
    assert wanted(catalog) == "disabled"
    assert as_operator.post("/bulk/deployments", {"action": "explode"}).status_code == 404
    assert (
        b"Nothing was ticked" in as_operator.post("/bulk/deployments", {"action": "enable"}).content
    )


def test_a_viewer_sees_no_boxes_to_tick(catalog: Runtime, as_viewer: Client) -> None:
    assert b'class="tick"' not in as_viewer.get("/deployments").content
    assert as_viewer.post("/bulk/deployments", {"action": "enable"}).status_code == 403


def test_many_are_taken_back_at_once_each_to_where_it_was(
    catalog: Runtime, as_operator: Client
) -> None:
    given = {"uid": ["acme-large", "spare"], "action": "drain"}
    page = as_operator.post("/bulk/deployments", given).content.decode()
    assert "Undo: enable 1" in page
    assert "Undo: disable 1" in page
    assert "for id in acme-large spare; do" in page
    assert "/api/v1/deployments/$id/drain" in page


def test_a_route_that_nobody_serves_any_more_is_told_with_the_result(
    catalog: Runtime, as_operator: Client
) -> None:
    given = {"uid": ["acme-large"], "action": "disable"}
    assert "Worth a look" not in as_operator.post("/bulk/deployments", given).content.decode()
    page = as_operator.post("/bulk/deployments", {**given, "uid": ["near/by"]}).content.decode()
    assert "chat has no enabled target" in page
    back = {"uid": ["near/by"], "action": "enable"}
    assert "Worth a look" not in as_operator.post("/bulk/deployments", back).content.decode()


def test_tags_are_taken_back_only_where_that_restores_what_was(
    catalog: Runtime, as_admin: Client
) -> None:
    given = {"uid": ["spare"], "action": "tag", "tags": "eu"}
    page = html.unescape(as_admin.post("/bulk/deployments", given).content.decode())
    assert "Undo: untag 1" in page
    assert page.count("curl -X PATCH") == page.count('"tags": [') == len(given["uid"])
    assert "Undo:" not in as_admin.post("/bulk/deployments", given).content.decode()


def test_a_tag_that_holds_a_comma_is_given_and_taken_in_quotes(
    catalog: Runtime, as_admin: Client
) -> None:
    given = {"uid": ["spare"], "action": "tag", "tags": '"eu, west", cheap'}
    page = html.unescape(as_admin.post("/bulk/deployments", given).content.decode())
    assert 'name="tags" value=""eu, west", cheap"' in page, "Undo takes back what was given"
    saved = {one.id: one.tags for one in catalog.current.document.serving_models}
    assert saved["spare"] == ("eu, west", "cheap")
    answer = as_admin.post("/bulk/deployments", given | {"action": "untag", "tags": '"eu, west'})
    assert answer.status_code == 422
    assert "Close the quotes" in answer.content.decode()
    as_admin.post("/bulk/deployments", given | {"action": "untag", "tags": '"eu, west"'})
    saved = {one.id: one.tags for one in catalog.current.document.serving_models}
    assert saved["spare"] == ("cheap",)
