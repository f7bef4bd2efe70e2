"""Lists: whatever the sort, filter and page size, every item comes once and in order."""

from __future__ import annotations

from typing import Any

import pytest
from django.http import QueryDict
from hypothesis import given
from hypothesis import strategies as st

from routeradmin.api import listing
from routeradmin.api.problems import Problem

FIELDS = ("id", "name", "weight", "tags")
texts = st.text(st.characters(codec="utf-8"), max_size=6)
items = st.lists(
    st.fixed_dictionaries(
        {
            "id": texts,
            "name": st.one_of(st.none(), texts),
            "weight": st.one_of(st.none(), st.integers(-3, 3), st.booleans()),
            "tags": st.lists(texts, max_size=2),
        }
    ),
    unique_by=lambda item: item["id"],
    max_size=30,
)


def query(**parameters: Any) -> listing.Query:
    data = QueryDict(mutable=True)
    for name, value in parameters.items():
        data.setlist(name, value if isinstance(value, list) else [str(value)])
    return listing.parse(data, FIELDS, sortable=FIELDS)


def walk(entries: list[dict[str, Any]], limit: int, sort: str) -> list[str]:
    """The ids of all pages, one after the other."""
    seen: list[str] = []
    cursor = ""
    for _ in range(len(entries) + 1):
        found = listing.page(entries, query(limit=limit, sort=sort, cursor=cursor))
        seen += [item["id"] for item in found["items"]]
        assert found["total"] == len(entries)
        if found["next_cursor"] is None:
            return seen
        cursor = found["next_cursor"]
    raise AssertionError("the pages do not end")


@given(items, st.integers(1, 7), st.sampled_from(["id", "-id", "name", "-name", "-weight"]))
def test_pages_hold_every_item_once_in_the_order_of_the_whole(
    entries: list[dict[str, Any]], limit: int, sort: str
) -> None:
    whole = listing.page(entries, query(limit=1000, sort=sort))
    assert walk(entries, limit, sort) == [item["id"] for item in whole["items"]]
    assert sorted(item["id"] for item in whole["items"]) == sorted(e["id"] for e in entries)


@given(items, st.integers(1, 5), st.data())
def test_an_item_that_goes_between_two_pages_hides_no_other(
    entries: list[dict[str, Any]], limit: int, data: st.DataObject
) -> None:
    first = listing.page(entries, query(limit=limit))
    if first["next_cursor"] is None:
        return
    gone = data.draw(st.sampled_from([item["id"] for item in first["items"]]))
    left = [item for item in entries if item["id"] != gone]
    rest = listing.page(left, query(limit=1000, cursor=first["next_cursor"]))
    seen = {item["id"] for item in first["items"]} | {item["id"] for item in rest["items"]}
    assert seen == {item["id"] for item in entries}


def test_a_filter_accepts_any_of_its_values_and_any_member_of_a_list() -> None:
    entries = [
        {"id": "a", "name": "x", "weight": 1, "tags": ["eu", "fast"]},
        {"id": "b", "name": "y", "weight": 2, "tags": []},
        {"id": "c", "name": None, "weight": True, "tags": ["us"]},
    ]

    def ids(**parameters: Any) -> list[str]:
        return [item["id"] for item in listing.page(entries, query(**parameters))["items"]]

    assert ids(name=["x", "y"]) == ["a", "b"]
    assert ids(tags="eu") == ["a"]
    assert ids(weight="true") == ["c"]
    assert ids(name="null") == ["c"]
    assert ids(search="FAST") == ["a"]
    assert ids(search="y", tags="eu") == []


@pytest.mark.parametrize(
    ("parameters", "place"),
    [
        ({"limit": "0"}, "?limit"),
        ({"limit": "1001"}, "?limit"),
        ({"limit": "-1"}, "?limit"),
        ({"limit": "²"}, "?limit"),
        ({"limit": "many"}, "?limit"),
        ({"sort": "secret"}, "?sort"),
        ({"sort": "--id"}, "?sort"),
        ({"search": "a\x00b"}, "?search"),
        ({"name": "x" * 1025}, "?name"),
        ({"cursor": "%%%"}, "?cursor"),
        ({"cursor": "e30="}, "?cursor"),
        ({"cursor": "WyJpZCIsW10sImEiXQ=="}, "?cursor"),
        ({"cursor": "WyItaWQiLCJhIiwiYSJd"}, "?cursor"),
        ({"cursor": "ü"}, "?cursor"),
    ],
)
def test_a_parameter_that_makes_no_sense_is_named(parameters: dict[str, str], place: str) -> None:
    with pytest.raises(Problem) as refused:
        query(**parameters)
    assert refused.value.status == 422
    assert [pointer for pointer, _ in refused.value.errors] == [place]
