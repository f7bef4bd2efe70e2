"""Search, filter, sort and page of a list, all of it in the URL."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.http import QueryDict

from routeradmin.console.catalog import Index
from routeradmin.console.logs import called
from routeradmin.console.nouns import Cell, Entry, Noun, as_cell

PAGE = 50


@dataclass(frozen=True, slots=True)
class Head:
    """A column's head: ``url`` sorts by it, ``order`` says how it is sorted now."""

    title: str
    url: str
    order: str
    number: bool


@dataclass(frozen=True, slots=True)
class Offer:
    """A filter with what it offers and what is chosen."""

    name: str
    title: str
    options: Sequence[tuple[str, str]]
    chosen: str


@dataclass(frozen=True, slots=True)
class Listing:
    heads: Sequence[Head]
    rows: Sequence[tuple[str, Sequence[tuple[str, bool, Cell]]]]  # id, (head, number, cell)
    offers: Sequence[Offer]
    text: str
    total: int
    first: int
    before: str
    after: str
    filtered: bool

    @property
    def last(self) -> int:
        return self.first + len(self.rows) - 1


def listing(noun: Noun, index: Index, query: QueryDict) -> Listing:
    """The page of the list that ``query`` asks for."""
    found = _sorted(noun, index, _matching(noun, index, query), query.get("sort", ""))
    keys = [str(getattr(entry, noun.key)) for entry in found]
    start = _start(keys, query)
    page = found[start : start + PAGE]
    more = start + PAGE < len(found)
    return Listing(
        heads=_heads(noun, query),
        rows=[_row(noun, index, entry) for entry in page],
        offers=[
            Offer(one.name, one.title, called(one.offered(index)), query.get(one.name, ""))
            for one in noun.choices
        ],
        text=query.get("q", ""),
        total=len(found),
        first=start + 1 if page else 0,
        before=_with(query, before=keys[start]) if start else "",
        after=_with(query, after=keys[start + PAGE - 1]) if more else "",
        filtered=any(query.get(name) for name in ("q", *(one.name for one in noun.choices))),
    )


def _matching(noun: Noun, index: Index, query: QueryDict) -> list[Entry]:
    text = query.get("q", "").strip().casefold()
    wanted = [(one, str(query[one.name])) for one in noun.choices if query.get(one.name)]

    def matches(entry: Entry) -> bool:
        if text and text not in _searched(noun, index, entry):
            return False
        return all(_has(one.of(entry, index), value) for one, value in wanted)

    return [entry for entry in noun.entries(index) if matches(entry)]


def _has(value: str | Sequence[str], wanted: str) -> bool:
    return value == wanted if isinstance(value, str) else wanted in value


def _searched(noun: Noun, index: Index, entry: Entry) -> str:
    parts = [str(getattr(entry, noun.key))]
    for column in noun.columns:
        cell = as_cell(column.read(entry, index))
        parts += [cell.text, cell.sub, *cell.tags]
        parts += [text for link in cell.links for text in (link.text, link.sub)]
    return "\n".join(parts).casefold()


def _sorted(noun: Noun, index: Index, entries: list[Entry], sort: str) -> list[Entry]:
    """By the column that ``sort`` names (``-`` in front: downwards), then by id."""
    entries.sort(key=lambda entry: str(getattr(entry, noun.key)))
    column = next((one for one in noun.columns if one.sort and one.sort == sort.lstrip("-")), None)
    if column is None:
        return entries

    def place(entry: Entry) -> tuple[bool, float, str]:
        value = column.read(entry, index)
        if isinstance(value, int | float):
            return False, float(value), ""
        text = as_cell(value).text
        return text == "–", 0.0, text.casefold()

    entries.sort(key=place, reverse=sort.startswith("-"))
    return entries


def _start(keys: Sequence[str], query: QueryDict) -> int:
    """The cursor is the id of the last row seen, so that changes elsewhere do not shift pages."""
    place = {key: number for number, key in enumerate(keys)}
    after, before = str(query.get("after", "")), str(query.get("before", ""))
    if after in place:
        return place[after] + 1
    return max(0, place[before] - PAGE) if before in place else 0


def _with(query: QueryDict, **changes: str) -> str:
    changed = query.copy()
    for name in ("after", "before"):
        changed.pop(name, None)
    for name, value in changes.items():
        changed[name] = value
    return "?" + changed.urlencode()


def _heads(noun: Noun, query: QueryDict) -> list[Head]:
    sort = query.get("sort", "")
    heads = []
    for column in noun.columns:
        mine = bool(column.sort) and sort.lstrip("-") == column.sort
        order = ("descending" if sort.startswith("-") else "ascending") if mine else ""
        towards = f"-{column.sort}" if order == "ascending" else column.sort
        url = _with(query, sort=towards) if column.sort else ""
        heads.append(Head(column.title, url, order, column.number))
    return heads


def _row(noun: Noun, index: Index, entry: Entry) -> tuple[str, Sequence[tuple[str, bool, Cell]]]:
    cells = [
        (column.title, column.number, as_cell(column.read(entry, index))) for column in noun.columns
    ]
    return str(getattr(entry, noun.key)), cells
