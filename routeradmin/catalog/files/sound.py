"""The sound part of a file that is refused: what else is wrong with it can then be told as well.

Entries that are malformed are left out. A finding about the rest counts only where it would stand
whatever those entries were to say.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from routeradmin.catalog.document import KINDS, Document, key_of
from routeradmin.catalog.files.structure import build
from routeradmin.catalog.problems import Problem

# Of which other kinds a finding about an entry of this kind may come.
NEEDS: Mapping[str, frozenset[str]] = {
    kind: frozenset(needed.split())
    for kind, needed in {
        "providers": "",
        "accounts": "providers",
        "endpoints": "accounts",
        "models": "",
        "serving_models": "providers accounts endpoints models",
        "routes": "providers accounts endpoints models serving_models targets policies routes",
        "targets": "endpoints models serving_models routes targets",
        "aliases": "routes aliases",
        "policies": "routes",
        "rules": "routes serving_models",
        "intents": "routes",
    }.items()
}


@dataclass(frozen=True, slots=True)
class Part:
    """``places`` are the indexes in the file of the document's entries, by kind; ``lacking`` the
    kinds of which entries were left out."""

    document: Document
    places: Mapping[str, tuple[int, ...]]
    lacking: frozenset[str]

    def in_file(self, found: Iterable[Problem]) -> Iterator[Problem]:
        """What stands of these findings, at their places in the file."""
        for problem in found:
            _, kind, index, *rest = [*problem.pointer.split("/"), "", ""]
            if kind in KINDS and index.isdecimal() and not NEEDS[kind] & self.lacking:
                place = str(self.places[kind][int(index)])
                yield replace(problem, pointer="/".join(["", kind, place, *rest[:-2]]))


def sound_part(values: Mapping[str, Any], problems: Iterable[Problem]) -> Part | None:
    """The part of a file's values that none of the problems is about; None if there is no telling
    it apart."""
    bad = {tuple(problem.pointer.split("/")[1:3]) for problem in problems}
    lists: dict[str, list[Any]] = {}
    places: dict[str, tuple[int, ...]] = {}
    lacking: set[str] = set()
    for kind in KINDS:
        entries = values.get(kind, [])
        whole = isinstance(entries, list) and (kind,) not in bad
        good = [
            index for index in range(len(entries) if whole else 0) if (kind, str(index)) not in bad
        ]
        if not whole or len(good) < len(entries):
            lacking.add(kind)
        lists[kind], places[kind] = [entries[index] for index in good], tuple(good)
    document, others = build(lists)
    return None if document is None or others else Part(document, places, frozenset(lacking))


def whole(document: Document) -> Part:
    """All of it."""
    places = {kind: tuple(range(len(getattr(document, kind)))) for kind in KINDS}
    return Part(document, places, frozenset())


def without_repeated(part: Part) -> Part:
    """The first entry of each id alone."""
    kept: dict[str, tuple[Any, ...]] = {}
    places: dict[str, tuple[int, ...]] = {}
    lacking = set(part.lacking)
    for kind in KINDS:
        entries, first = getattr(part.document, kind), dict[str, int]()
        for index, entry in enumerate(entries):
            first.setdefault(key_of(entry), index)
        kept[kind] = tuple(entries[index] for index in first.values())
        places[kind] = tuple(part.places[kind][index] for index in first.values())
        if len(first) < len(entries):
            lacking.add(kind)
    return Part(part.document.model_copy(update=kept), places, frozenset(lacking))
