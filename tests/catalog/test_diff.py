"""Differences are told by entry and field."""

from __future__ import annotations

from routeradmin.catalog.diff import diff
from routeradmin.catalog.files import read, write
from tests.catalog.documents import GONE, changed, document, example, small


def test_the_same_catalog_in_another_order_and_spelling_has_no_difference() -> None:
    first = document(small())
    second = document(
        changed(
            small(),
            providers=[*reversed(small()["providers"])],
            endpoints__0__base_url="HTTPS://A.example:443/v1/",
            serving_models__0__weight=1,
            serving_models__0__account_ids=["metered"],
        )
    )
    assert not diff(first, second)
    assert diff(first, second).as_text() == ""
    assert not diff(example(), read(write(example())))


def test_added_removed_and_changed_entries_are_told_with_their_fields() -> None:
    before = document(small())
    after = document(
        changed(
            small(),
            aliases__1=GONE,
            aliases__0__target="chat",
            models__2={"id": "new", "upstream_name": "n"},
            serving_models__0__weight=5,
            serving_models__0__capabilities__tools=False,
            defaults__strategy="ff",
            policies__0__retry={"max_attempts": 2},
        )
    )
    found = diff(before, after)

    assert found.as_json() == {
        "added": [{"kind": "models", "id": "new"}],
        "removed": [{"kind": "aliases", "id": "b"}],
        "changed": [
            {
                "kind": "serving_models",
                "id": "d-metered",
                "fields": {
                    "capabilities.tools": {"before": True, "after": False},
                    "weight": {"before": 1, "after": 5},
                },
            },
            {
                "kind": "aliases",
                "id": "a",
                "fields": {"target": {"before": "b", "after": "chat"}},
            },
            {
                "kind": "policies",
                "id": "pol",
                "fields": {"retry.max_attempts": {"before": 4, "after": 2}},
            },
            {
                "kind": "defaults",
                "id": "",
                "fields": {"strategy": {"before": None, "after": "fill_first"}},
            },
        ],
    }
    assert found.as_text().splitlines() == [
        "+ models new",
        "- aliases b",
        "~ serving_models d-metered: capabilities.tools true -> false",
        "~ serving_models d-metered: weight 1 -> 5",
        '~ aliases a: target "b" -> "chat"',
        "~ policies pol: retry.max_attempts 4 -> 2",
        '~ defaults: strategy null -> "fill_first"',
    ]
