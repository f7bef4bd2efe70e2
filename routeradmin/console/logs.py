"""Lists of what happened, newest first: filters and cursor in the URL, one query a page."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from django.db.models import Model, Q, QuerySet
from django.http import QueryDict

PAGE = 50


class Sought(NamedTuple):
    """A filter: its name in the URL, its title, its lookup, and what a select offers (values, or
    values with what they are called).

    ``meant`` turns what was typed into the value that is looked up.
    """

    name: str
    title: str
    lookup: str
    options: Sequence[str | tuple[str, str]] = ()
    meant: Callable[[str], str] = str


@dataclass(frozen=True, slots=True)
class Log:
    """How a table of the journal is searched."""

    filters: Sequence[Sought] = ()
    searched: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Page:
    rows: Sequence[Any]
    older: str
    newest: str
    text: str
    offers: Sequence[Mapping[str, Any]] = field(default_factory=tuple)
    filtered: bool = False


def called(options: Iterable[str | tuple[str, str]]) -> list[tuple[str, str]]:
    """Values with what they are called, which is what they are where nothing else is said."""
    return [(one, one) if isinstance(one, str) else one for one in options]


def page(log: Log, rows: QuerySet[Any, Any], query: QueryDict) -> Page:
    """The page that the URL asks for; ``before`` is the id of the last row seen."""
    rows = _matching(log, rows, query)
    before = query.get("before", "")
    if before.isascii() and before.isdigit() and len(before) < 19:
        rows = rows.filter(pk__lt=int(before))
    found: list[Model] = list(rows.order_by("-pk")[: PAGE + 1])
    shown = found[:PAGE]
    asked = [name for name in ("q", *(one.name for one in log.filters)) if query.get(name)]
    return Page(
        rows=shown,
        older=_with(query, str(shown[-1].pk)) if len(found) > PAGE else "",
        newest=_with(query, "") if before else "",
        text=query.get("q", ""),
        offers=[
            {
                **one._asdict(),
                "options": called(one.options),
                "chosen": query.get(one.name, ""),
            }
            for one in log.filters
        ],
        filtered=bool(asked),
    )


def _matching(log: Log, rows: QuerySet[Any, Any], query: QueryDict) -> QuerySet[Any, Any]:
    text = query.get("q", "").strip().replace("\0", "")
    if text and log.searched:
        condition = Q()
        for name in log.searched:
            condition |= Q(**{f"{name}__icontains": text})
        rows = rows.filter(condition)
    for one in log.filters:
        value = query.get(one.name, "").replace("\0", "")
        if value:
            rows = rows.filter(**{one.lookup: one.meant(value)})
    # A filter on attempts joins one row per attempt; grouping by id is cheaper than DISTINCT.
    if any("__" in one.lookup and query.get(one.name) for one in log.filters):
        rows = rows.model._default_manager.filter(pk__in=rows.order_by().values("pk"))
    return rows


def _with(query: QueryDict, before: str) -> str:
    changed = query.copy()
    changed.pop("before", None)
    if before:
        changed["before"] = before
    return "?" + changed.urlencode()
