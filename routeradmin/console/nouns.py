"""What a kind of catalog object looks like on its pages: columns, filters, facts, form."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any, NamedTuple

from django.urls import reverse

from routeradmin.catalog.document import Document
from routeradmin.console import board, catalog, standing
from routeradmin.console.catalog import Index
from routeradmin.console.drafts import Draft


class Cell(NamedTuple):
    """One value of a list or a fact sheet; ``url`` makes it a link, ``state`` a badge, ``links``
    several.

    ``live`` is the cell's name in the socket's frames.
    """

    text: str
    url: str = ""
    state: str = ""
    sub: str = ""
    tags: Sequence[str] = ()
    links: Sequence[Cell] = ()
    live: str = ""


Entry = Any  # a table of the catalog document
Read = Callable[[Entry, Index], Cell | str | int | float | None]


class Column(NamedTuple):
    """A column of the list; ``sort`` makes it sortable under that name."""

    title: str
    read: Read
    sort: str = ""
    number: bool = False


class Choice(NamedTuple):
    """A filter of the list: the query's name, what it offers (values, or values with what they are
    called), what an entry has."""

    name: str
    title: str
    offered: Callable[[Index], Sequence[str | tuple[str, str]]]
    of: Callable[[Entry, Index], str | Sequence[str]]


@dataclass(frozen=True, slots=True)
class Noun:
    """``slug`` is the API's word (``deployments``), ``kind`` the document's list."""

    slug: str
    kind: str
    one: str
    title: str
    meaning: str
    form: type[Draft]
    columns: Sequence[Column]
    choices: Sequence[Choice] = ()
    facts: Sequence[Column] = ()
    new_form: type[Draft] | None = None
    form_template: str = "console/catalog/form.html"
    detail_template: str = "console/catalog/detail.html"
    list_links: str = ""  # a template with links to pages about all of them
    filled: Sequence[str] = ()  # fields that a link to the form may fill in
    preview: Callable[[Mapping[str, Any]], Mapping[str, Any]] | None = None
    publishes: bool = True  # a save makes a revision
    has_bulk: bool = False  # rows can be ticked and acted on together
    called: Callable[[Entry], str] | None = None  # its name for people, where that is not the key
    more: Callable[[Entry, Index], Mapping[str, Any]] = field(default=lambda entry, index: {})

    @property
    def preview_first(self) -> bool:
        """The form opens with what the object does now; templates would call ``preview``."""
        return self.preview is not None

    @property
    def key(self) -> str:
        return "name" if self.slug == "aliases" else "id"

    def entries(self, index: Index) -> Sequence[Entry]:
        return self.entries_of(index.document)

    def entries_of(self, document: Document) -> Sequence[Entry]:
        found: Sequence[Entry] = getattr(document, self.kind)
        return found

    def name_of(self, entry: Entry) -> str:
        return self.called(entry) if self.called else str(getattr(entry, self.key))

    def find(self, index: Index, uid: str) -> Entry | None:
        return next((one for one in self.entries(index) if getattr(one, self.key) == uid), None)

    def url(self, uid: str = "", verb: str = "") -> str:
        """``verb``: empty for the page itself, ``new``, ``edit``, ``delete``."""
        if verb == "new":
            return reverse(f"{self.slug}-new")
        if not uid:
            return reverse(self.slug)
        return reverse(f"{self.slug}-{verb}" if verb else f"{self.slug}-one", args=[uid])


def as_cell(value: Cell | str | int | float | None) -> Cell:
    if isinstance(value, Cell):
        return value
    if value is None or value == "":
        return Cell("–")
    return Cell(f"{value:g}" if isinstance(value, float) else str(value))


def link(slug: str, uid: str, sub: str = "") -> Cell:
    """A link to another object's page."""
    return Cell(uid, url=reverse(f"{slug}-one", args=[uid]), sub=sub) if uid else Cell("–")


def route_of(index: Index, uid: str) -> Cell:
    """A route by its alias, with its id where that differs; one that is not in the catalog, such
    as ``provider:model``, by its id."""
    route = index.routes.get(uid)
    if route is None:
        return Cell(uid or "–")
    url = reverse("routes-one", args=[uid])
    return Cell(route.alias, url=url, sub=uid if uid != route.alias else "")


def routes_of(index: Index, uids: Iterable[str]) -> Cell:
    """Several routes; a dash for none."""
    found = [route_of(index, uid) for uid in uids]
    return Cell("" if found else "–", links=found)


def routes_by_alias(index: Index) -> list[tuple[str, str]]:
    """Ids and aliases, for a filter."""
    return sorted(((route.id, route.alias) for route in index.document.routes), key=itemgetter(1))


def further_name(entry: Entry) -> str:
    """Its name where that says more than the id."""
    name = getattr(entry, "name", None)
    return str(name) if name and name != entry.id else ""


def providers_by_name(index: Index) -> list[tuple[str, str]]:
    """Ids and names, for a filter."""
    return catalog.Choices("providers")()


def named(slug: str) -> Read:
    """The first column: the id as a link, the name below it where it says more."""

    def read(entry: Entry, index: Index) -> Cell:
        return link(slug, entry.id, further_name(entry))

    return read


def state_of(entry: Entry, index: Index) -> Cell:
    return Cell(entry.admin_state, state=entry.admin_state)


def tags_of(entry: Entry, index: Index) -> Cell:
    return Cell("" if entry.tags else "–", tags=entry.tags)


def health_of(kind: str) -> Column:
    """How many of the candidates of each object of a kind are healthy now."""

    def read(entry: Entry, index: Index) -> Cell:
        healthy, total = standing.health_of(kind).get(entry.id, (0, 0))
        if not total:
            return Cell("–")
        live = f"{board.group_id(kind, entry.id)}-health"
        return Cell(f"{healthy} of {total} healthy", live=live)

    return Column("Now", read)


STATE_CHOICE = Choice(
    "state",
    "Wanted state",
    lambda index: ("enabled", "draining", "disabled"),
    lambda entry, index: str(entry.admin_state),
)
