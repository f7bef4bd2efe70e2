"""Lists: filter, search, sort, and pages that a cursor continues.

A cursor names the last item of its page by sort value and id, so that items which come and go
between two pages neither repeat nor hide others.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson
from django.http import HttpRequest, QueryDict

from routeradmin.api.problems import Problem, invalid

LIMIT = 100
MAX_LIMIT = 1000
MAX_TEXT = 1024

Item = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Query:
    """What a list request asks for. ``filters``: per field the accepted values, as text."""

    limit: int = LIMIT
    search: str = ""
    sort: str = "id"
    descending: bool = False
    after: tuple[Any, str] | None = None
    filters: dict[str, frozenset[str]] = field(default_factory=dict)


def parse(
    parameters: QueryDict, filterable: Sequence[str], *, key: str = "id", sortable: Sequence[str]
) -> Query:
    """The query of a URL. Raises Problem 422 naming every parameter that makes no sense."""
    errors: list[tuple[str, str]] = []
    filters: dict[str, frozenset[str]] = {}
    for name in parameters:
        values = parameters.getlist(name)
        if any(len(value) > MAX_TEXT or "\x00" in value for value in values):
            errors.append((f"?{name}", f"must be at most {MAX_TEXT} characters without NUL"))
        elif name in filterable:
            filters[name] = frozenset(values)
    if errors:
        raise invalid("The query was not accepted.", *errors)
    order = parameters.get("sort", key)
    descending, name = order.startswith("-"), order.removeprefix("-")
    if name not in sortable:
        raise invalid(
            "The query was not accepted.",
            ("?sort", f"must be one of {', '.join(sortable)}, with '-' before it for descending"),
        )
    return Query(
        limit=limit_of(parameters),
        search=parameters.get("search", "").strip().casefold(),
        sort=name,
        descending=descending,
        after=_read_cursor(parameters.get("cursor", ""), order),
        filters=filters,
    )


def limit_of(parameters: QueryDict) -> int:
    text = parameters.get("limit", str(LIMIT))
    if text.isascii() and text.isdigit() and len(text) < 6 and 1 <= int(text) <= MAX_LIMIT:
        return int(text)
    raise invalid("The query was not accepted.", ("?limit", f"must be 1 to {MAX_LIMIT}"))


def _read_cursor(text: str, order: str) -> tuple[Any, str] | None:
    if not text:
        return None
    try:
        made_for, value, last = orjson.loads(base64.urlsafe_b64decode(text.encode()))
    except (binascii.Error, ValueError, TypeError):
        raise bad_cursor() from None
    if made_for != order or not isinstance(last, str) or isinstance(value, (list, dict)):
        raise bad_cursor()
    return value, last


def _write_cursor(order: str, value: Any, last: str) -> str:
    return base64.urlsafe_b64encode(orjson.dumps([order, value, last])).decode()


def bad_cursor() -> Problem:
    return invalid(
        "The query was not accepted.",
        ("?cursor", "must be the next_cursor of a list with the same sort; start without one"),
    )


def page(items: Iterable[Item], query: Query, *, key: str = "id") -> dict[str, Any]:
    """The envelope: ``items`` of this page, ``next_cursor``, ``total`` of all that match."""
    matching = [item for item in items if matches(item, query)]
    position = _position(query.sort, key)
    matching.sort(key=position, reverse=query.descending)
    rest = matching
    if query.after is not None:
        mark = (_rank(query.after[0]), query.after[1])
        rest = [
            item
            for item in matching
            if (position(item) < mark if query.descending else position(item) > mark)
        ]
    shown = rest[: query.limit]
    cursor = None
    if len(rest) > len(shown):
        order = ("-" if query.descending else "") + query.sort
        cursor = _write_cursor(order, _sort_value(shown[-1], query.sort), str(shown[-1][key]))
    return {"items": shown, "next_cursor": cursor, "total": len(matching)}


def _position(sort: str, key: str) -> Callable[[Item], tuple[Any, str]]:
    return lambda item: (_rank(_sort_value(item, sort)), str(item[key]))


def _sort_value(item: Item, sort: str) -> Any:
    value = item.get(sort)
    return value if value is None or isinstance(value, (bool, int, float, str)) else str(value)


def _rank(value: Any) -> tuple[int, Any]:
    """Values of different types in one order: nothing, truth values and numbers, text."""
    if value is None:
        return 0, 0
    if isinstance(value, (bool, int, float)):
        return 1, value
    return 2, str(value)


def matches(item: Item, query: Query) -> bool:
    for name, accepted in query.filters.items():
        if not _texts(item.get(name)) & accepted:
            return False
    if not query.search:
        return True
    return any(query.search in text.casefold() for value in item.values() for text in _words(value))


def _texts(value: Any) -> set[str]:
    """How a filter spells a value; a list matches by any of its members."""
    if isinstance(value, (list, tuple)):
        return {text for member in value for text in _texts(member)}
    if value is None:
        return {"", "null"}
    if isinstance(value, bool):
        return {"true" if value else "false"}
    return {str(value)}


def _words(value: Any) -> Iterable[str]:
    """The text that search looks at: texts and lists of texts, at the top level."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, (list, tuple)):
        yield from (member for member in value if isinstance(member, str))


def documented(fields: Sequence[str], key: str = "id") -> list[dict[str, Any]]:
    """The OpenAPI parameters of a list whose items have these fields."""
    text = {"type": "string"}
    return [
        parameter("cursor", text, "The next_cursor of the page before."),
        parameter("limit", {"type": "integer", "minimum": 1, "maximum": MAX_LIMIT}, "Page size."),
        parameter("search", text, "Text that any field holds, upper or lower case."),
        parameter("sort", text, f"A field, descending with '-' before it; {key} by default."),
        *(parameter(name, text, f"Only items with this {name}.") for name in fields),
    ]


def parameter(name: str, schema: dict[str, Any], description: str) -> dict[str, Any]:
    return {
        "name": name,
        "in": "query",
        "required": False,
        "schema": schema,
        "description": description,
    }


def of_request(
    request: HttpRequest, items: Iterable[Item], fields: Sequence[str], *, key: str = "id"
) -> dict[str, Any]:
    """The page of ``items`` that the request asks for; every one of ``fields`` filters, sorts."""
    query = parse(request.GET, fields, key=key, sortable=(key, *(f for f in fields if f != key)))
    return page(items, query, key=key)
