"""Aliases."""

from __future__ import annotations

from routeradmin.console.catalog import Index
from routeradmin.console.forms.aliases import AliasDraft
from routeradmin.console.nouns import Cell, Column, Entry, Noun, link


def _name(entry: Entry, index: Index) -> Cell:
    return link("aliases", entry.name)


def _target(entry: Entry, index: Index) -> Cell:
    route = next((one for one in index.document.routes if one.alias == entry.target), None)
    if route is not None:
        return Cell(entry.target, url=link("routes", route.id).url, sub="route")
    return link("aliases", entry.target, "alias")


NOUN = Noun(
    slug="aliases",
    kind="aliases",
    one="alias",
    title="Aliases",
    meaning="An alias is another name for a route, or for another alias.",
    form=AliasDraft,
    columns=(Column("Name", _name, "name"), Column("Stands for", _target, "target")),
)
