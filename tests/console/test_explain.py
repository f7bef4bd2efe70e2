"""Explain with assumptions: what would happen if a candidate were down, or busy."""

from __future__ import annotations

from django.test import Client

from routeradmin.services.runtime import Runtime


def ask(browser: Client, **more: str) -> str:
    query = {"model": "acme:acme-large", "draws": "50", **more}
    return browser.get("/explain", query).content.decode()


def test_a_candidate_that_is_full_by_assumption_is_refused(
    catalog: Runtime, as_viewer: Client
) -> None:
    key = "acme-large/acme-key"
    assert "parallel" not in ask(as_viewer)
    page = ask(as_viewer, load=f"{key}=8")
    assert '<span class="tag bad">parallel-limit</span>' in page
    assert "/api/v1/simulate" in page
    assert "&quot;active&quot;: 8" in page


def test_a_load_that_is_no_number_is_told_beside_its_field(
    catalog: Runtime, as_viewer: Client
) -> None:
    answer = as_viewer.get("/explain", {"model": "chat", "load": "acme-large/acme-key"})
    assert answer.status_code == 422
    assert "Write acme-large/acme-key as deployment/credential=8." in answer.content.decode()
