"""Lists of what was written down (events, turns, audit, revisions): newest first, by cursor."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.db.models import Model, Q, QuerySet
from django.http import HttpRequest, HttpResponse, QueryDict
from django.utils.dateparse import parse_datetime

from routeradmin.api.answers import answer
from routeradmin.api.listing import MAX_TEXT, bad_cursor, limit_of, parameter
from routeradmin.api.problems import invalid

MAX_INT = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Log:
    """A table that only grows. ``texts`` and ``numbers``: parameter -> lookup.

    ``cursor`` is the column that orders it, a whole number that grows; ``moment`` the column that
    ``since`` (included) and ``until`` (not included) compare. ``joins``: some lookup asks for
    rows of another table, of which several may fit.
    """

    rows: Callable[[], QuerySet[Any]]
    item: Callable[[Any], dict[str, Any]]
    moment: str
    joins: bool = False
    texts: Mapping[str, str] = field(default_factory=dict)
    numbers: Mapping[str, str] = field(default_factory=dict)
    searched: Sequence[str] = ()
    cursor: str = "pk"

    def filters(self) -> list[dict[str, Any]]:
        """``documented`` without what belongs to pages."""
        return [one for one in self.documented() if one["name"] not in ("cursor", "limit")]

    def documented(self) -> list[dict[str, Any]]:
        number = {"type": "integer", "minimum": 0, "maximum": MAX_INT}
        text = {"type": "string"}
        moment = {"type": "string", "format": "date-time"}
        return [
            parameter("cursor", text, "The next_cursor of the page before."),
            parameter("limit", {"type": "integer", "minimum": 1, "maximum": 1000}, "Page size."),
            parameter("search", text, "Text that one of the item's texts holds."),
            parameter("since", moment, "Not older than this."),
            parameter("until", moment, "Older than this."),
            parameter(
                "after", number, "Only newer ones than this id, oldest first: for following."
            ),
            *(parameter(name, text, f"Only items with this {name}.") for name in self.texts),
            *(parameter(name, number, f"Only items with this {name}.") for name in self.numbers),
        ]


def matching(parameters: QueryDict, log: Log) -> QuerySet[Any]:
    """The rows that the filters let through, in no order. Raises Problem 422 for parameters that
    make no sense."""
    _refuse_odd_text(parameters)
    found = log.rows().filter(_condition(parameters, log))
    return found.distinct() if log.joins else found


def listed(request: HttpRequest, log: Log) -> HttpResponse:
    """The page that the request asks for. Raises Problem 422 for parameters that make no sense."""
    parameters = request.GET
    found = matching(parameters, log)
    total = found.count()
    follows = "after" in parameters
    column = log.cursor if follows else f"-{log.cursor}"
    mark = _number(parameters, "cursor", bad=bad_cursor())
    if mark is not None:
        found = found.filter(**{f"{log.cursor}__{'gt' if follows else 'lt'}": mark})
    limit = limit_of(parameters)
    rows = list(found.order_by(column)[: limit + 1])
    more = len(rows) > limit
    shown: list[Model] = rows[:limit]
    cursor = str(getattr(shown[-1], log.cursor)) if more else None
    content = {"items": [log.item(row) for row in shown], "next_cursor": cursor, "total": total}
    return answer(request, content)


def _refuse_odd_text(parameters: QueryDict) -> None:
    errors = [
        (f"?{name}", f"must be at most {MAX_TEXT} characters without NUL")
        for name in parameters
        if any(len(value) > MAX_TEXT or "\x00" in value for value in parameters.getlist(name))
    ]
    if errors:
        raise invalid("The query was not accepted.", *errors)


def _condition(parameters: QueryDict, log: Log) -> Q:
    condition = Q()
    for name, lookup in log.texts.items():
        if name in parameters:
            condition &= Q(**{f"{lookup}__in": parameters.getlist(name)})
    for name, lookup in log.numbers.items():
        if name in parameters:
            condition &= Q(**{lookup: _number(parameters, name)})
    for name, comparison in (("since", "gte"), ("until", "lt")):
        if name in parameters:
            condition &= Q(**{f"{log.moment}__{comparison}": _moment(parameters, name)})
    if "after" in parameters:
        condition &= Q(**{f"{log.cursor}__gt": _number(parameters, "after")})
    search = parameters.get("search", "").strip()
    if search:
        matching = Q()
        for lookup in log.searched:
            matching |= Q(**{f"{lookup}__icontains": search})
        condition &= matching
    return condition


def _number(parameters: QueryDict, name: str, bad: Exception | None = None) -> int | None:
    text = parameters.get(name)
    if text is None or (text == "" and name == "cursor"):
        return None
    if text.isascii() and text.isdigit() and len(text) <= 10 and int(text) <= MAX_INT:
        return int(text)
    raise bad or invalid(
        "The query was not accepted.", (f"?{name}", f"must be a whole number from 0 to {MAX_INT}")
    )


def _moment(parameters: QueryDict, name: str) -> datetime:
    # A '+' of an offset that was not escaped arrives as a space.
    text = str(parameters[name])
    text = text.replace(" ", "+") if "T" in text else text
    try:
        moment = parse_datetime(text)
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is None:
        raise invalid(
            "The query was not accepted.",
            (f"?{name}", "must be a time with its offset, such as 2026-01-01T00:00:00Z"),
        )
    return moment
