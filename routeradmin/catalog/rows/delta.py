"""What differs between two documents, kind by kind."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from routeradmin.catalog.canonical import by_key, defaults_form, entry_form, table_form
from routeradmin.catalog.document import KINDS, Document, Route, ServingModel, key_of
from routeradmin.catalog.table import Table


@dataclass(slots=True)
class KindDelta:
    """Entries that are new, entries that changed (as they are now), keys that are gone."""

    added: list[Any] = field(default_factory=list)
    changed: list[Any] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)

    @property
    def written(self) -> list[Any]:
        return self.added + self.changed

    def __bool__(self) -> bool:
        return bool(self.added or self.changed or self.removed)


@dataclass(slots=True)
class Delta:
    kinds: dict[str, KindDelta]
    defaults_changed: bool

    def __getitem__(self, kind: str) -> KindDelta:
        return self.kinds[kind]

    def __bool__(self) -> bool:
        return self.defaults_changed or any(self.kinds.values())


def delta(before: Document, after: Document) -> Delta:
    """A route whose targets changed counts as changed: it carries their version."""
    implied = _Implied(before, after)
    found = {kind: _between(getattr(before, kind), getattr(after, kind), implied) for kind in KINDS}
    _touch_routes(before, after, found)
    return Delta(found, defaults_form(before) != defaults_form(after))


def same(one: Table, other: Table) -> bool:
    return one is other or one == other or table_form(one) == table_form(other)


class _Implied:
    """Entries that differ only by stating what holds anyway, by another entry, before and after."""

    def __init__(self, before: Document, after: Document) -> None:
        self._before, self._after = before, after
        self._old, self._new = by_key(before.endpoints), by_key(after.endpoints)
        old, new = defaults_form(before), defaults_form(after)
        self._same_strategy = old.get("strategy") == new.get("strategy")

    def same(self, one: Table, other: Table) -> bool:
        if same(one, other):
            return True
        if isinstance(one, ServingModel) and isinstance(other, ServingModel):
            old, new = self._old.get(one.endpoint_id), self._new.get(other.endpoint_id)
            stands = old and new and (old.account_id, old.probe) == (new.account_id, new.probe)
        elif isinstance(one, Route):
            stands = self._same_strategy
        else:
            return False
        return bool(stands) and (
            entry_form(self._before, one, self._old) == entry_form(self._after, other, self._new)
        )


def _between(before: Sequence[Table], after: Sequence[Table], implied: _Implied) -> KindDelta:
    old = {key_of(entry): entry for entry in before}
    result = KindDelta()
    for entry in after:
        known = old.pop(key_of(entry), None)
        if known is None:
            result.added.append(entry)
        elif not implied.same(known, entry):
            result.changed.append(entry)
    result.removed = list(old)
    return result


def _touch_routes(before: Document, after: Document, found: dict[str, KindDelta]) -> None:
    if not found["targets"]:
        return
    old, new = _targets_by_route(before), _targets_by_route(after)
    noted = {route.id for route in found["routes"].written}
    for route in after.routes:
        if route.id not in noted and old[route.id] != new[route.id]:
            found["routes"].changed.append(route)


def _targets_by_route(document: Document) -> defaultdict[str, set[tuple[str, str, int]]]:
    grouped: defaultdict[str, set[tuple[str, str, int]]] = defaultdict(set)
    for target in document.targets:
        grouped[target.route_id].add((target.id, target.serving_model_id, target.position))
    return grouped
