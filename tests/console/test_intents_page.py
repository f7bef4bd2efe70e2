"""A text is tried in place: the decision is shown, the text is in no address."""

from __future__ import annotations

from django.test import Client

from routeradmin.services.runtime import Runtime


def test_a_text_is_tried_and_changes_nothing(catalog: Runtime, as_viewer: Client) -> None:
    revision = catalog.current.revision
    answer = as_viewer.post("/try/intents", {"text": "<b>please translate this</b>"})
    page = answer.content.decode()
    assert answer.status_code == 200
    assert answer.context["decision"]["tier"]
    assert "&lt;b&gt;please translate this" in page
    assert catalog.current.revision == revision


def test_an_empty_page_says_what_to_do(catalog: Runtime, as_viewer: Client) -> None:
    assert "Write a prompt" in as_viewer.get("/try/intents").content.decode()


def test_an_admin_says_what_was_right_and_makes_an_example(
    catalog: Runtime, as_admin: Client, as_viewer: Client
) -> None:
    said = {"text": "good morning", "decided": "none", "right": "talk", "add_example": "1"}
    assert as_viewer.post("/try/intents", said).status_code == 403
    page = as_admin.post("/try/intents", said).content.decode()
    assert "Noted" in page
    assert "good morning" in catalog.current.document.intents[0].examples
