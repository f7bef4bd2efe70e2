"""A pasted error is judged by the rules that judge attempts."""

from __future__ import annotations

import pytest
from django.test import Client

from routeradmin.services.runtime import Runtime


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ("status=429&retry_after=20", ["rate-limited", "cools for 20 s", "goes on"]),
        ("status=429", ["rate-limited", "cools for 1 s"]),
        ("status=401", ["unauthorized", "cools for 30 min", "The turn ends"]),
        ("status=402", ["quota", "next candidate"]),
        ("status=503", ["transient", "after 3 of these in a row"]),
        ("status=400", ["caller", "starts no cooldown"]),
        ('status=400&body={"error":{"code":"context_length_exceeded"}}', ["context-window"]),
    ],
)
def test_the_class_and_what_follows_are_told(
    catalog: Runtime, as_viewer: Client, query: str, told: list[str]
) -> None:
    page = as_viewer.get(f"/judge?{query}").content.decode()
    for words in told:
        assert words in page


def test_nonsense_is_refused_and_pasted_text_is_text(catalog: Runtime, as_viewer: Client) -> None:
    assert as_viewer.get("/judge?status=9").status_code == 422
    page = as_viewer.get("/judge?status=500&body=<script>alert(1)</script>").content.decode()
    assert "<script>alert" not in page
